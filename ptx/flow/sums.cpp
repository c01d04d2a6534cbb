#include "ptx/flow/sums.hpp"

#include <algorithm>

#include "ptx/flow/numbers.hpp"
#include "ptx/isa/spaces.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::flow {
namespace {

using ir::RegisterId;
using ir::Special;
using isa::HalfSelect;
using isa::Opcode;
using Kind = ir::Argument::Kind;

constexpr std::size_t most_blocks = 64;  // through which a sum is followed
constexpr int most_climbed = 8;          // blocks between a quotient and a sum

bool changes(Special s) {
  return tells_time(s) || s == Special::warpid || s == Special::smid || s == Special::pm;
}

}  // namespace

void Sums::Form::add(RegisterId r, std::uint64_t factor) {
  std::uint64_t& now = parts[r];
  now = (now + factor) & low_mask(width);
  if (now == 0) parts.erase(r);
}

// A thread finds the same word in the register after each of its writes.
bool Sums::is_fixed(RegisterId r) {
  const auto [found, is_new] = fixed_.try_emplace(r, false);
  if (!is_new) return found->second;
  const ir::Operation* op = definitions_->only_writer(r);
  if (!op || op->guard || op->modifiers.carry) return false;
  const bool loads = op->opcode == Opcode::ld && isa::is_parameter(op->modifiers.space());
  if (isa::unit(op->opcode) != isa::Unit::alu && !loads) return false;
  const auto is_source = [&](const ir::Argument& a, const auto& self) -> bool {
    switch (a.kind) {
      case Kind::reg: return is_fixed(a.id);
      case Kind::special: return !changes(Special(a.id));
      case Kind::immediate:
      case Kind::symbol: return true;
      case Kind::vector:
      case Kind::address: {
        const auto parts = code_->components(a);
        return std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& part) { return self(part, self); });
      }
      default: return false;
    }
  };
  for (const ir::Argument& a : std::span(op->arguments).subspan(1))
    if (!is_source(a, is_source)) return false;
  return fixed_[r] = true;
}

bool Sums::are_fixed(const Form& f) {
  return std::all_of(f.parts.begin(), f.parts.end(), [&](const auto& part) { return is_fixed(part.first); });
}

// Puts what an operation makes in place of its register.
bool Sums::replace(Form& f, const ir::Operation& op, std::uint64_t factor) const {
  const isa::Modifiers& m = op.modifiers;
  if (isa::is_floating(m.type()) || isa::bits(m.type()) < f.width || m.sat || m.carry || m.half == HalfSelect::hi ||
      m.half == HalfSelect::wide)
    return false;
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  const auto add = [&](const ir::Argument& a, std::uint64_t times) {
    if (const auto n = known_->constant(a, f.width)) return f.add(*n * times), true;
    if (a.kind != Kind::reg || a.value != 0 || a.negated) return false;
    return f.add(a.id, times), true;
  };
  const auto product = [&](const ir::Argument& a, const ir::Argument& b) {
    if (const auto n = known_->constant(b, f.width)) return add(a, factor * *n);
    const auto n = known_->constant(a, f.width);
    return n && add(b, factor * *n);
  };
  switch (op.opcode) {
    case Opcode::mov: return alu.d->kind == Kind::reg && alu.a->kind != Kind::vector && add(alu.a, factor);
    case Opcode::cvt:
      return m.types.count == 2 && isa::is_integer(m.types[1]) && isa::bits(m.types[1]) >= f.width &&
             add(alu.a, factor);
    case Opcode::add: return add(alu.a, factor) && add(alu.b, factor);
    case Opcode::sub: return add(alu.a, factor) && add(alu.b, 0 - factor);
    case Opcode::neg: return add(alu.a, 0 - factor);
    case Opcode::mul: return product(alu.a, alu.b);
    case Opcode::mad: return product(alu.a, alu.b) && add(alu.c, factor);
    case Opcode::shl: {
      const auto n = known_->constant(alu.b, 32);
      return n && *n < 64 && add(alu.a, factor << *n);
    }
    default: return false;
  }
}

// All that a quotient is made of is written between two operations, and the dividend is not: they see one dividend.
bool Sums::is_made_here(const ir::Operation& op, RegisterId dividend, std::uint32_t first, std::uint32_t last) const {
  for (const RegisterId r : code_->read(op)) {
    if (r == dividend || known_->of(r).value()) continue;
    const auto writers = definitions_->writers(r);
    if (writers.size() != 1 || writers[0] < first || writers[0] >= last) return false;
    if (!is_made_here(code_->operations[writers[0]], dividend, first, writers[0])) return false;
  }
  const auto writers = definitions_->writers(dividend);
  return std::none_of(writers.begin(), writers.end(), [&](std::uint32_t w) { return w >= first && w < last; });
}

// factor * (x / d) = factor / d * (x - x % d)
bool Sums::divide(Form& f, const ir::Operation& op, std::uint64_t factor, Walk& walk) const {
  const auto division = quotient(*code_, *definitions_, *known_, op);
  if (!division || division->divisor > low_mask(31)) return false;
  const std::int64_t times = as_signed(factor, f.width), d = std::int64_t(division->divisor);
  const std::uint32_t at = code_->index(op), first = cfg_->blocks[cfg_->block_of(at)].first;
  const RegisterId x = division->dividend->id;
  if (times % d != 0 || isa::bits(code_->registers[x].type) < f.width || !is_made_here(op, x, first, at)) return false;
  if (walk.has_passed(definitions_->writers(x))) return false;
  f.add(x, std::uint64_t(times / d));
  walk.rests.push_back(*division);
  return true;
}

bool Sums::Walk::has_passed(std::span<const std::uint32_t> operations) const {
  return std::any_of(operations.begin(), operations.end(), [&](std::uint32_t o) {
    return std::any_of(passed.begin(), passed.end(), [&](const auto& p) { return o >= p.first && o < p.second; });
  });
}

// From what a sum is after an operation to what it is before it.
bool Sums::step_back(Form& f, std::uint32_t operation, Walk* walk) {
  const ir::Operation& op = code_->operations[operation];
  for (const RegisterId r : definitions_->written(operation)) {
    const auto part = f.parts.find(r);
    if (part == f.parts.end() || is_fixed(r)) continue;
    const std::uint64_t factor = part->second;
    if (op.guard || definitions_->written(operation).size() != 1) return false;
    f.parts.erase(part);
    Form replaced = f;
    if (replace(replaced, op, factor))
      f = std::move(replaced);
    else if (!walk || !divide(f, op, factor, *walk))
      return false;
  }
  return true;
}

bool Sums::walk_back(Form& f, std::uint32_t end, std::uint32_t begin, Walk* walk) {
  while (end-- > begin) {
    if (!step_back(f, end, walk)) return false;
    if (walk) walk->passed.emplace_back(end, end + 1);
  }
  return true;
}

// The immediate dominator of a block, if nothing between the two writes a register of the sum.
std::optional<BlockId> Sums::climb(const Form& f, BlockId block, Walk& walk) const {
  const BlockId to = cfg_->dominator(block);
  if (to == no_block) return std::nullopt;
  std::vector<bool> seen(cfg_->blocks.size());
  std::vector<BlockId> work{block};
  Walk between;
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    for (const std::uint32_t e : cfg_->blocks[b].in) {
      const BlockId from = cfg_->edges[e].from;
      if (from == to || seen[from]) continue;
      seen[from] = true, work.push_back(from);
      between.passed.emplace_back(cfg_->blocks[from].first, cfg_->blocks[from].last);
    }
  }
  for (const auto& [r, factor] : f.parts)
    if (between.has_passed(definitions_->writers(r))) return std::nullopt;
  walk.passed.insert(walk.passed.end(), between.passed.begin(), between.passed.end());
  return to;
}

// A sum at the beginning of a block is the same fixed one, whichever way leads there.
bool Sums::stays(BlockId block, const Form& form) {
  std::map<BlockId, Form> seen;
  std::vector<BlockId> work;
  std::optional<Form> fixed;
  const auto reach = [&](BlockId b, const Form& f) {
    if (are_fixed(f)) return fixed ? *fixed == f : (fixed = f, true);
    const auto [found, is_new] = seen.try_emplace(b, f);
    if (is_new) work.push_back(b);
    return found->second == f && seen.size() <= most_blocks;
  };
  if (!reach(block, form)) return false;
  while (!work.empty()) {
    const BlockId b = work.back();
    work.pop_back();
    if (cfg_->blocks[b].in.empty()) return false;
    for (const std::uint32_t e : cfg_->blocks[b].in) {
      const BlockId from = cfg_->edges[e].from;
      Form f = seen.at(b);
      if (!walk_back(f, cfg_->blocks[from].last, cfg_->blocks[from].first, nullptr) || !reach(from, f)) return false;
    }
  }
  return fixed.has_value();
}

std::vector<Division> Sums::rests(const ir::Operation& op) {
  const std::uint32_t at = code_->index(op);
  const auto written = definitions_->written(at);
  const bool adds = op.opcode == Opcode::add || op.opcode == Opcode::sub || op.opcode == Opcode::mad;
  if (!adds || written.size() != 1 || op.guard) return {};
  BlockId block = cfg_->block_of(at);
  Form f;
  f.width = isa::bits(op.modifiers.type()) == 64 ? 64 : 32;
  f.add(written[0], 1);
  Walk walk;
  std::uint32_t end = at + 1;
  for (int climbed = 0;; ++climbed) {
    if (!walk_back(f, end, cfg_->blocks[block].first, &walk)) return {};
    if (!walk.rests.empty() || are_fixed(f)) break;
    const auto above = climbed < most_climbed ? climb(f, block, walk) : std::nullopt;
    if (!above) return {};
    block = *above, end = cfg_->blocks[block].last;
  }
  return !walk.rests.empty() && stays(block, f) ? walk.rests : std::vector<Division>{};
}

}  // namespace kiln::flow
