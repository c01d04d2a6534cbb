#include "ptx/flow/uniformity.hpp"

#include <algorithm>

#include "ptx/flow/numbers.hpp"
#include "ptx/isa/spaces.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::flow {
namespace {

using ir::Special;
using isa::Opcode;
using Kind = ir::Argument::Kind;

ThreadSet warp_mask(int warp) {
  static const ThreadSet first(0xFFFFFFFFu);
  return first << std::size_t(warp * isa::threads_per_warp);
}

std::uint32_t warps_of(const ThreadSet& threads) {
  std::uint32_t mask = 0;
  for (int w = 0; w < max_warps; ++w)
    if ((threads & warp_mask(w)).any()) mask |= 1u << w;
  return mask;
}

bool at_most_one_per_warp(const ThreadSet& threads) {
  for (int w = 0; w < max_warps; ++w)
    if ((threads & warp_mask(w)).count() > 1) return false;
  return true;
}

bool differs_between_threads(Special s) {
  switch (s) {
    case Special::ntid_x:
    case Special::nwarpid: return false;
    default: return tells_time(s) || s < Special::ctaid_x || (s >= Special::lanemask_eq && s <= Special::lanemask_gt);
  }
}

constexpr int deepest = 64;  // operations between the thread index and a condition

}  // namespace

Uniformity::Uniformity(const ir::Code& code, const Cfg& cfg, const Definitions& definitions, const KnownBits& known)
    : code_(code), cfg_(cfg), definitions_(definitions), known_(known) {
  measure();
  for (int t = 0; t < threads_; ++t) all_.set(std::size_t(t));
  spread(cfg);
  find_diverging();
  find_inexact();
}

void Uniformity::measure() {
  const ir::Performance* required = code_.function->find("reqntid");
  const ir::Performance* most = required ? required : code_.function->find("maxntid");
  if (most && !most->values.empty()) {
    std::uint64_t extents[3] = {1, 1, 1}, volume = 1;
    for (std::size_t i = 0; i < 3 && i < most->values.size(); ++i) {
      extents[i] = std::uint64_t(std::clamp<std::int64_t>(most->values[i], 1, max_threads));
      volume *= extents[i];
    }
    threads_ = int(std::min<std::uint64_t>(volume, max_threads));
    extent_x_ = extents[0];
    extent_y_ = extents[1];
    is_bounded_ = true;
    // A smaller launch of a flat CTA numbers its threads the same; one of a two-dimensional CTA does not.
    shape_is_known_ = required || (extents[1] == 1 && extents[2] == 1);
    return;
  }
  const auto reads_other_index = [](const ir::Argument& a) {
    return a.kind == Kind::special && (Special(a.id) == Special::tid_y || Special(a.id) == Special::tid_z);
  };
  for (const ir::Operation& op : code_.operations)
    if (std::any_of(op.arguments.begin(), op.arguments.end(), reads_other_index)) shape_is_known_ = false;
}

void Uniformity::spread(const Cfg& cfg) {
  reach_.assign(cfg.blocks.size(), {});
  single_.assign(cfg.blocks.size(), false);
  reach_[0] = all_;
  for (bool changed = true; changed;) {
    changed = false;
    for (BlockId b : cfg.reverse_post_order)
      for (std::uint32_t e : cfg.blocks[b].out) {
        const Edge& edge = cfg.edges[e];
        ThreadSet arriving = reach_[b];
        if (edge.condition) arriving &= truth(edge.condition->predicate).may_be(edge.condition->value);
        const ThreadSet joined = reach_[edge.to] | arriving;
        if (joined == reach_[edge.to]) continue;
        reach_[edge.to] = joined;
        changed = true;
      }
  }
  for (BlockId b : cfg.reverse_post_order) {
    if (cfg.dominator(b) != no_block) single_[b] = single_[cfg.dominator(b)];
    if (cfg.blocks[b].in.size() != 1) continue;
    const auto& condition = cfg.edges[cfg.blocks[b].in[0]].condition;
    if (condition && truth(condition->predicate).one(condition->value)) single_[b] = true;
  }
}

// What is computed from parameters, constants and the CTA's place alone is the same for all threads. A wait for an
// mbarrier ends for all.
void Uniformity::find_diverging() {
  diverges_.assign(code_.registers.size(), false);
  const auto reads_thread = [&](const ir::Argument& a, const auto& self) -> bool {
    const auto parts = code_.components(a);
    if (a.kind == Kind::special) return differs_between_threads(Special(a.id));
    return std::any_of(parts.begin(), parts.end(), [&](const ir::Argument& c) { return self(c, self); });
  };
  const auto is_source = [&](const ir::Operation& op) {
    const bool load = op.opcode == Opcode::ld && !isa::is_parameter(op.modifiers.space()) &&
                      op.modifiers.space() != isa::Space::constant;
    const isa::Unit unit = isa::unit(op.opcode);
    return load || op.opcode == Opcode::atom || op.opcode == Opcode::ldmatrix || op.opcode == Opcode::call ||
           unit == isa::Unit::warp || unit == isa::Unit::matrix || unit == isa::Unit::tcgen05 ||
           unit == isa::Unit::unknown || std::any_of(op.arguments.begin(), op.arguments.end(), [&](const auto& a) {
             return reads_thread(a, reads_thread);
           });
  };
  std::vector<std::uint32_t> work;
  const auto mark = [&](std::uint32_t operation) {
    for (ir::RegisterId r : definitions_.written(operation)) {
      if (diverges_[r]) continue;
      diverges_[r] = true;
      const auto readers = definitions_.readers(r);
      work.insert(work.end(), readers.begin(), readers.end());
    }
  };
  for (std::uint32_t i = 0; i < code_.operations.size(); ++i)
    if (is_source(code_.operations[i])) mark(i);
  while (!work.empty()) {
    const std::uint32_t i = work.back();
    work.pop_back();
    const Opcode op = code_.operations[i].opcode;
    if (op != Opcode::mbarrier_try_wait && op != Opcode::mbarrier_test_wait) mark(i);
  }
}

bool Uniformity::is_followed(const Condition& c) const {
  const Truth& t = truth(c.predicate);
  return (t.may_be_true & t.may_be_false).none() || !diverges_[c.predicate];
}

// Control dependence: what lies between a branch and its post-dominator is executed by those whom the branch selects.
void Uniformity::find_inexact() {
  inexact_.assign(cfg_.blocks.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Edge& e : cfg_.edges) {
      if (!e.condition || (is_followed(*e.condition) && !inexact_[e.from])) continue;
      for (BlockId b = e.to; b != no_block && b != cfg_.post_dominator(e.from); b = cfg_.post_dominator(b)) {
        changed |= !inexact_[b];
        inexact_[b] = true;
      }
    }
  }
}

bool Uniformity::is_exact(std::uint32_t operation) const {
  const ir::Operation& op = code_.operations[operation];
  return !inexact_[cfg_.block_of(operation)] && (!op.guard || is_followed({*op.guard, true}));
}

ThreadSet Uniformity::threads_at(std::uint32_t operation) const {
  const ir::Operation& op = code_.operations[operation];
  ThreadSet threads = reach_[cfg_.block_of(operation)];
  if (op.guard) threads &= truth(*op.guard).may_be(!op.guard_negated);
  return threads;
}

std::uint32_t Uniformity::warps_at(std::uint32_t operation) const { return warps_of(threads_at(operation)); }

Who Uniformity::who(std::uint32_t operation) const {
  const ir::Operation& op = code_.operations[operation];
  const ThreadSet threads = threads_at(operation);
  if (threads.none()) return Who::nobody;
  const bool single = single_[cfg_.block_of(operation)] || at_most_one_per_warp(threads) ||
                      (op.guard && truth(*op.guard).one(!op.guard_negated));
  const bool one_warp = std::has_single_bit(warps_of(threads));
  if (single) return one_warp ? Who::one_thread : Who::one_per_warp;
  if (one_warp) return Who::one_warp;
  return threads == all_ ? Who::whole : Who::several;
}

bool Uniformity::may_take(const Edge& edge, int warp) const {
  return !edge.condition || (truth(edge.condition->predicate).may_be(edge.condition->value) & warp_mask(warp)).any();
}

bool Uniformity::may_execute(const ir::Operation& op, int warp) const {
  return !op.guard || (truth(*op.guard).may_be(!op.guard_negated) & warp_mask(warp)).any();
}

const Truth& Uniformity::truth(ir::RegisterId predicate) const {
  if (const auto found = truths_.find(predicate); found != truths_.end()) return found->second;
  truths_.emplace(predicate, unknown());  // what a predicate that depends on itself, or on too much, gets
  ++depth_;
  if (depth_ <= deepest) truths_[predicate] = decide(predicate);
  --depth_;
  return truths_[predicate];
}

// Values and predicates that are functions of the thread index, for every thread.

bool Uniformity::special(Special s, Values& out) const {
  if (!shape_is_known_) return false;
  for (std::size_t t = 0; t < out.size(); ++t) {
    switch (s) {
      case Special::tid_x: out[t] = t % extent_x_; break;
      case Special::tid_y: out[t] = t / extent_x_ % extent_y_; break;
      case Special::tid_z: out[t] = t / extent_x_ / extent_y_; break;
      case Special::laneid: out[t] = t % isa::threads_per_warp; break;
      default: return false;
    }
  }
  return true;
}

// The values of an operand; false when they depend on more than the thread.
bool Uniformity::operand(const ir::Argument& a, int width, int depth, Values& out) const {
  out.assign(std::size_t(threads_), 0);
  if (const auto constant = known_.constant(a, width)) {
    std::fill(out.begin(), out.end(), *constant);
    return true;
  }
  if (a.kind == Kind::special) return special(Special(a.id), out);
  if (a.kind != Kind::reg) return false;
  const Values* v = values(a.id, depth + 1);
  if (!v) return false;
  for (std::size_t t = 0; t < out.size(); ++t) out[t] = ((*v)[t] ^ a.negated) & low_mask(width);
  return true;
}

std::optional<Uniformity::Values> Uniformity::by_thread(const ir::Argument& a, int width) const {
  Values values;
  return operand(a, width, 0, values) ? std::optional(std::move(values)) : std::nullopt;
}

std::optional<bool> Uniformity::varies_in_warp(const ir::Argument& a) const {
  const auto values = by_thread(a, 64);
  if (!values) return std::nullopt;
  for (std::size_t t = 0; t < values->size(); ++t)
    if ((*values)[t] != (*values)[t / isa::threads_per_warp * isa::threads_per_warp]) return true;
  return false;
}

std::optional<Uniformity::Values> Uniformity::relative(const ir::Argument& a) const { return relative(a, 0); }

std::optional<Uniformity::Values> Uniformity::relative(const ir::Argument& a, int depth) const {
  Values out(std::size_t(threads_), 0);
  if (a.kind == Kind::symbol || a.kind == Kind::immediate) return out;
  if (a.kind == Kind::address) return a.count == 1 ? relative(code_.components(a)[0], depth) : std::nullopt;
  if (operand(a, 64, depth, out)) return out;
  if (a.kind != Kind::reg || a.negated || depth > deepest) return std::nullopt;
  if (!diverges_[a.id]) return Values(std::size_t(threads_), 0);
  const ir::Operation* writer = definitions_.only_writer(a.id);
  if (!writer || writer->guard || isa::is_floating(writer->modifiers.type())) return std::nullopt;
  const Opcode op = writer->opcode;
  const ops::Alu sum = ops::roles<ops::Alu>(*writer);
  if (op == Opcode::mov || op == Opcode::cvt || op == Opcode::cvta) return relative(sum.a, depth + 1);
  if (op != Opcode::add && op != Opcode::sub) return std::nullopt;
  auto first = relative(sum.a, depth + 1);
  const auto second = relative(sum.b, depth + 1);
  if (!first || !second) return std::nullopt;
  for (std::size_t t = 0; t < first->size(); ++t) (*first)[t] += op == Opcode::add ? (*second)[t] : -(*second)[t];
  return first;
}

std::unique_ptr<Uniformity::Values> Uniformity::evaluate(const ir::Operation& op, int depth) const {
  if (op.modifiers.type() == isa::ScalarType::pred || isa::is_floating(op.modifiers.type())) return nullptr;
  if (op.opcode == Opcode::shfl) {
    const auto x = ops::roles<ops::WarpExchange>(op);
    const auto lane = known_.constant(x.lane, 32), clamp = known_.constant(x.clamp, 32);
    if (op.modifiers.shuffle != isa::ShuffleMode::idx || !lane || !clamp || *clamp != 31) return nullptr;
    Values from;
    if (!operand(x.a, 32, depth, from)) return nullptr;
    auto out = std::make_unique<Values>(from.size());
    for (std::size_t t = 0; t < out->size(); ++t) {
      const std::size_t source = (t & ~std::size_t{31}) + (*lane & 31);
      if (source >= from.size()) return nullptr;  // no thread
      (*out)[t] = from[source];
    }
    return out;
  }
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  if (alu.d->kind != Kind::reg || isa::unit(op.opcode) != isa::Unit::alu) return nullptr;
  const ops::Operand sources[] = {alu.a, alu.b, alu.c, alu.e};
  const std::array<int, 4> widths = source_widths(op);
  Values in[4];
  for (std::size_t i = 0; i < widths.size(); ++i)
    if (!sources[i])
      in[i].assign(std::size_t(threads_), 0);
    else if (!operand(sources[i], widths[i], depth, in[i]))
      return nullptr;
  const int result = std::min(64, isa::bits(code_.registers[alu.d->id].type));
  auto out = std::make_unique<Values>(in[0].size());
  for (std::size_t t = 0; t < out->size(); ++t) {
    const auto v = result_of(op, {in[0][t], in[1][t], in[2][t], in[3][t]});
    if (!v) return nullptr;
    (*out)[t] = *v & low_mask(result);
  }
  return out;
}

const Uniformity::Values* Uniformity::values(ir::RegisterId r, int depth) const {
  if (const auto found = values_.find(r); found != values_.end()) return found->second.get();
  values_.emplace(r, nullptr);
  const ir::Operation* writer = definitions_.only_writer(r);
  if (!writer || writer->guard || depth > deepest) return nullptr;
  if (isa::writes(writer->opcode) != isa::Writes::first || writer->opcode == Opcode::ld) return nullptr;
  return (values_[r] = evaluate(*writer, depth)).get();
}

Truth Uniformity::argument_truth(const ir::Argument& a) const {
  if (a.kind != Kind::reg) return unknown();
  return a.negated ? opposite(truth(a.id)) : truth(a.id);
}

// Whether a number is not zero, where it is a predicate in disguise: selp r, 1, 0, p, or r = 0; @p r = 1, which is how
// elect.sync leaves inline assembly.
Truth Uniformity::of_number(const ir::Argument& a, int depth) const {
  if (a.kind != Kind::reg || depth > deepest) return unknown();
  Truth out{{}, all_, true, false};
  int ones = 0;
  for (std::uint32_t w : definitions_.writers(a.id)) {
    const ir::Operation& op = code_.operations[w];
    const ops::Alu alu = ops::roles<ops::Alu>(op);
    if (op.opcode == Opcode::selp && definitions_.writers(a.id).size() == 1 && !op.guard) {
      const auto yes = known_.constant(alu.a, 32), no = known_.constant(alu.b, 32);
      const Truth t = argument_truth(alu.c);
      if (yes && no && *yes != 0 && *no == 0) return t;
      if (yes && no && *yes == 0 && *no != 0) return opposite(t);
      return unknown();
    }
    if (op.opcode != Opcode::mov) return unknown();
    const auto value = known_.constant(alu.a, 32);
    if (!value && definitions_.writers(a.id).size() == 1 && !op.guard) return of_number(alu.a, depth + 1);
    if (!value) return unknown();
    if (*value == 0) continue;
    const Truth guard = op.guard ? truth(*op.guard) : unknown();
    out.may_be_true |= guard.may_be(!op.guard_negated);
    out.one_true &= op.guard && guard.one(!op.guard_negated);
    ++ones;
  }
  out.one_true &= ones == 1;
  return ones ? out : unknown();
}

Truth Uniformity::compared(const ir::Operation& op) const {
  const isa::ScalarType type = op.modifiers.type();
  if (isa::is_floating(type)) return unknown();
  const int width = std::clamp(isa::bits(type), 1, 64);
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  Values a, b;
  if (operand(alu.a, width, 0, a) && operand(alu.b, width, 0, b)) {
    Truth out;
    for (std::size_t t = 0; t < a.size(); ++t) {
      const auto holds = compare(op.modifiers, type, a[t], b[t]);
      if (!holds) return unknown();
      (*holds ? out.may_be_true : out.may_be_false).set(t);
    }
    return out;
  }
  const auto zero = known_.constant(alu.b, width);
  if (!zero || *zero != 0) return unknown();
  const Truth number = of_number(alu.a, 0);
  if (op.modifiers.compare == isa::Compare::ne) return number;
  return op.modifiers.compare == isa::Compare::eq ? opposite(number) : unknown();
}

Truth Uniformity::combined(isa::Combine how, const Truth& a, const Truth& b) const {
  if (how == isa::Combine::and_) return both(a, b);
  return how == isa::Combine::or_ ? either(a, b) : unknown();
}

Truth Uniformity::decide(ir::RegisterId predicate) const {
  const ir::Operation* op = definitions_.only_writer(predicate);
  if (!op || op->guard) return unknown();
  const ops::Alu alu = ops::roles<ops::Alu>(*op);
  if (op->opcode == Opcode::elect_sync) {
    Truth elected = unknown();
    elected.one_true = true;
    return elected;
  }
  if (alu.d->kind != Kind::reg) return unknown();
  switch (op->opcode) {
    case Opcode::setp:
      if (!alu.c) return compared(*op);
      return combined(op->modifiers.combine, compared(*op), argument_truth(alu.c));
    case Opcode::mov: return argument_truth(alu.a);
    case Opcode::not_: return opposite(argument_truth(alu.a));
    case Opcode::and_: return both(argument_truth(alu.a), argument_truth(alu.b));
    case Opcode::or_: return either(argument_truth(alu.a), argument_truth(alu.b));
    default: return unknown();
  }
}

}  // namespace kiln::flow
