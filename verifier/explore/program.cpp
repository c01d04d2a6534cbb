#include "verifier/explore/program.hpp"

#include <algorithm>

#include "ptx/isa/access_bytes.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/isa/spaces.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/ops/operations.hpp"
#include "verifier/cluster_use.hpp"
#include "verifier/explore/lasting.hpp"
#include "verifier/explore/protocol.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::Opcode;

// Whether an operand may differ from thread to thread, when these registers do.
bool is_varied(const ir::Code& code, const ir::Argument& a, const std::vector<bool>& varies) {
  if (a.kind == ir::Argument::Kind::special) return true;
  if (a.kind == ir::Argument::Kind::address)
    for (const ir::Argument& part : code.components(a))
      if (is_varied(code, part, varies)) return true;
  return a.kind == ir::Argument::Kind::reg && varies[a.id];
}

// Registers whose words may differ from thread to thread.
std::vector<bool> varying(const Facts& facts) {
  std::vector<bool> varies(facts.code.registers.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
      const ir::Operation& op = facts.code.operations[i];
      // A word that all threads have is the same word in every lane that it comes from.
      const bool exchanges = op.opcode == Opcode::shfl && facts.definitions.written(i).size() == 1;
      bool varied = isa::unit(op.opcode) != isa::Unit::alu && op.opcode != Opcode::mapa && !exchanges &&
                    !(op.opcode == Opcode::ld && isa::is_parameter(op.modifiers.space()));
      if (exchanges)
        varied = is_varied(facts.code, ops::roles<ops::WarpExchange>(op).a, varies);
      else if (!op.arguments.empty())
        for (const ir::Argument& a : std::span(op.arguments).subspan(1))
          varied = varied || is_varied(facts.code, a, varies);
      for (const ir::RegisterId r : facts.definitions.written(i))
        if (varied && !varies[r]) changed = varies[r] = true;
    }
  }
  return varies;
}

// It does not come from the launch: the explorer knows its value.
bool is_fixed(ir::Special s) {
  switch (s) {
    case ir::Special::tid_x:
    case ir::Special::tid_y:
    case ir::Special::tid_z:
    case ir::Special::laneid:
    case ir::Special::cluster_ctarank:
    case ir::Special::cluster_nctarank: return true;
    default: return false;
  }
}

// What a load or store of threads reads or writes, and where.
struct Moved {
  const ir::Argument* address = nullptr;
  const ir::Argument* value = nullptr;
};

Moved moved(const ir::Operation& op) {
  if (op.opcode == Opcode::st_async) {
    const auto store = ops::roles<ops::AsyncStore>(op);
    return {store.address.pointer(), store.value.pointer()};
  }
  const auto access = ops::roles<ops::MemoryAccess>(op);
  return {access.address.pointer(), access.value.pointer()};
}

// By operation: whether it may store words of the protocol. A number may be one, and what is stored at an address that
// all threads share, or in another CTA; a register that goes to an address of each thread's own is data.
std::vector<bool> stores_of_words(const Facts& facts) {
  const std::vector<bool> varies = varying(facts);
  std::vector<bool> out(facts.code.operations.size());
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const ir::Operation& op = facts.code.operations[i];
    if (!is_shared_access(op) || isa::is_floating(op.modifiers.type())) continue;
    if (op.opcode == Opcode::st)
      out[i] =
          moved(op).value->kind == ir::Argument::Kind::immediate || !is_varied(facts.code, *moved(op).address, varies);
    else
      out[i] = op.opcode == Opcode::st_async;
  }
  return out;
}

// The bytes that an element of a vector may be, counted within the 16 bytes to which the longest vector is aligned.
std::uint32_t places_of(const Facts& facts, const ir::Operation& op, std::size_t element) {
  constexpr std::uint32_t block = 16;
  const std::uint32_t bytes = isa::element_bytes(op.modifiers), all = isa::access_bytes(op.modifiers);
  const flow::Bits at = facts.known.of(*moved(op).address, 64);
  std::uint32_t out = 0;
  for (std::uint32_t first = 0; first < block; first += all) {
    const bool may_begin = ((first & at.zero) | (~first & at.one & (block - 1))) == 0;
    if (may_begin) out |= ((1u << bytes) - 1) << (first + bytes * std::uint32_t(element));
  }
  return out;
}

}  // namespace

Program::Program(const Facts& f, const Shape& given)
    : facts(f),
      code(f.code),
      stores_words_(stores_of_words(f)),
      demands(demanded()),
      shape(given),
      made_map(explore::made_map(f.code)),
      matters_(f.code.operations.size()),
      lasting_(lasting_loads(f)) {
  measure();
  place_shared();
  // The predicate of a branch that matters belongs to the slice, and a word that it loads. Other branches may matter
  // then.
  find_merge_points();
  for (std::size_t known = 0; find_words() || known != deciding_.size();) {
    known = deciding_.size();
    demands = demanded();
    find_merge_points();
  }
  number_registers();
  find_questions();
  find_local_ways();
  find_next();
  find_live();
  find_families();
  find_parameters();
}

// What the protocol and the branches that are known to matter depend on.
flow::Demands Program::demanded() const {
  return {code, facts.cfg, facts.definitions, facts.known, [this](const ir::Operation& op, flow::Demands::Wanted& out) {
            add_roots(op, words(code.index(op)), out);
            // Elsewhere it would tell states apart that are alike.
            if (const ir::Argument* map = shape.place ? chosen_map(facts, op) : nullptr) out.arguments.push_back(map);
            if (deciding_.contains(code.index(op))) out.registers.push_back(*op.guard);
          }};
}

// Threads of the CTA and CTAs of the cluster, as the launch or the kernel's directives say; else as many threads as the
// kernel allows, or its text suggests, and the fewest CTAs that its instructions make sense in.
void Program::measure() {
  const auto product = [](const ir::Performance& p, std::uint32_t* extents) {
    std::uint64_t n = 1;
    for (std::size_t k = 0; k < p.values.size() && k < 3; ++k) n *= extents[k] = std::uint32_t(p.values[k]);
    return n;
  };
  if (const ir::Performance* exact = code.function->find("reqntid")) {
    threads = int(product(*exact, cta));
  } else if (const ir::Performance* most = code.function->find("maxntid"); most && shape.cta[0] == 0) {
    threads = int(product(*most, cta));
    cta[0] = std::uint32_t(threads), cta[1] = cta[2] = 1;  // the shape is not said
    if (const int warps = (threads + isa::threads_per_warp - 1) / isa::threads_per_warp; warps > 1)
      premises.push_back({Premise::Fact::block,
                          cta[0],
                          {std::uint32_t((warps - 1) * isa::threads_per_warp),
                           std::uint32_t((warps + 1) / 2 * isa::threads_per_warp)}});
  }
  if (const ir::Performance* p = code.function->find("reqnctapercluster"))
    ctas = std::uint32_t(product(*p, cluster));
  else if (const ClusterUse use = shape.cluster[0] == 0 ? cluster_use(facts) : ClusterUse{}; use.meant) {
    const std::uint32_t fewest = std::max(use.fewest, shape.fewest_ctas);
    const ir::Performance* limit = code.function->find("maxclusterrank");
    const std::uint32_t most = limit && !limit->values.empty() ? std::uint32_t(limit->values[0]) : isa::max_cluster;
    ctas = cluster[0] = std::min(std::max(use.meant, fewest), most);
    std::vector<std::uint32_t> others;
    if (fewest < ctas) others.push_back(fewest);
    if (2 * ctas <= most) others.push_back(2 * ctas);
    if (!others.empty()) premises.push_back({Premise::Fact::cluster, ctas, std::move(others)});
  }
  const auto given = [](const std::array<std::uint32_t, 3>& from, std::uint32_t* extents) {
    if (from[0] == 0) return std::uint32_t{0};
    std::uint32_t n = 1;
    for (std::size_t k = 0; k < 3; ++k) n *= extents[k] = std::max(1u, from[k]);
    return n;
  };
  if (const std::uint32_t n = given(shape.cta, cta)) threads = int(n);
  if (const std::uint32_t n = given(shape.cluster, cluster)) ctas = n;
  if (threads > 0 || !synchronises()) return;
  cta[0] = suggested_threads(facts);
  if (cta[0] == 0) return void(cta[0] = 1);
  threads = int(cta[0]);
  premises.insert(premises.begin(), {Premise::Fact::block, cta[0], {}, true});
}

void Program::place_shared() {
  addresses_.assign(code.symbols.size(), 0);
  std::uint64_t end = 0;
  const auto place = [&](bool dynamic) {
    for (std::size_t k = 0; k < code.symbols.size(); ++k) {
      const ir::Variable& v = *code.symbols[k].variable;
      if (!isa::is_shared(v.space) || (v.linkage == ir::Linkage::external) != dynamic) continue;
      end = (end + v.alignment() - 1) / v.alignment() * v.alignment();
      addresses_[k] = std::uint32_t(end);
      if (!dynamic) end += v.bytes();  // dynamic variables share one place
    }
  };
  place(false);
  place(true);
  const auto is_dynamic = [](const ir::Symbol& s) {
    return isa::is_shared(s.variable->space) && s.variable->linkage == ir::Linkage::external;
  };
  if (std::none_of(code.symbols.begin(), code.symbols.end(), is_dynamic))
    shared_bytes_ = std::uint32_t(end) + shape.dynamic_shared.value_or(0);
  else if (shape.dynamic_shared)
    shared_bytes_ = std::uint32_t(end) + *shape.dynamic_shared;
}

// A call of a function that the module has: it may synchronise. System calls do not.
bool Program::may_synchronise(const ir::Operation& op) const {
  const auto call = ops::as<ops::Call>(op);
  if (!call) return false;
  if (!call->callee || call->callee->kind != ir::Argument::Kind::function) return true;
  return std::any_of(code.module->items.begin(), code.module->items.end(), [&](const ir::Item& item) {
    const auto* f = std::get_if<ir::Function>(&item);
    return f && f->body && f->name == call->callee->operand->text;
  });
}

std::span<const ir::Argument> Program::elements(const ir::Operation& op) const {
  const ir::Argument& value = *moved(op).value;
  return value.kind == ir::Argument::Kind::vector ? code.components(value) : std::span(&value, 1);
}

// What a thread stores alone may be a word of the protocol; an element of a vector, and what it stores in another CTA,
// if the slice loads its bytes from a vector or alone. True if there are more words than before.
bool Program::find_words() {
  std::uint32_t loaded = 0;
  for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
    if (code.operations[i].opcode != Opcode::ld || !is_shared_access(code.operations[i])) continue;
    const std::span<const ir::Argument> all = elements(code.operations[i]);
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k].kind == ir::Argument::Kind::reg && demands.of(all[k].id).any())
        loaded |= places_of(facts, code.operations[i], k);
  }
  bool any = false;
  for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
    if (!stores_words_[i]) continue;
    const std::span<const ir::Argument> all = elements(code.operations[i]);
    const bool is_one = all.size() == 1 && code.operations[i].opcode == Opcode::st;
    std::vector<const ir::Argument*> found;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (is_one || (places_of(facts, code.operations[i], k) & loaded)) found.push_back(&all[k]);
    any |= found.size() != words(i).size();
    if (!found.empty()) words_[i] = std::move(found);
  }
  return any;
}

std::span<const ir::Argument* const> Program::words(std::uint32_t operation) const {
  const auto found = words_.find(operation);
  return found == words_.end() ? std::span<const ir::Argument* const>{} : found->second;
}

// The blocks that threads may execute from a branch at the end of one on, until they come to where its ways meet.
std::vector<bool> Program::between(flow::BlockId from, flow::BlockId meet) const {
  std::vector<bool> out =
      facts.cfg.reached_from(from, [&](std::uint32_t e) { return facts.cfg.edges[e].from != meet; });
  out[meet] = false;
  return out;
}

// A branch matters when something of the protocol, or a value of the slice, may happen before its ways meet again.
void Program::find_merge_points() {
  const flow::Cfg& cfg = facts.cfg;
  std::vector<bool> busy(cfg.blocks.size());
  for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
    matters_[i] = is_protocol(code.operations[i]) || demands.matters(i);
    if (matters_[i] || may_synchronise(code.operations[i])) busy[cfg.block_of(i)] = true;
  }
  merge_points_.assign(code.operations.size(), no_slot);
  deciding_.clear();
  for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
    if (code.operations[i].opcode != Opcode::bra || !code.operations[i].guard) continue;
    const flow::BlockId from = cfg.block_of(i), meet = cfg.post_dominator(from);
    bool quiet = meet != flow::no_block;
    const std::vector<bool> inside = quiet ? between(from, meet) : std::vector<bool>(cfg.blocks.size());
    for (flow::BlockId b = 0; b < cfg.blocks.size(); ++b) quiet &= !inside[b] || !busy[b];
    if (quiet)
      merge_points_[i] = cfg.blocks[meet].first;
    else
      deciding_.insert(i);
  }
}

// Loops are no such ways: their branch comes again before its ways meet.
void Program::find_local_ways() {
  const flow::Cfg& cfg = facts.cfg;
  std::vector<bool> is_quiet(cfg.blocks.size(), true), is_together(cfg.blocks.size());
  for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
    const ir::Operation& op = code.operations[i];
    if (!is_local(op)) is_quiet[cfg.block_of(i)] = false;
    if (matters_[i] && is_of_warp(op)) is_together[cfg.block_of(i)] = true;
  }
  for (const std::uint32_t i : deciding_) {
    const flow::BlockId from = cfg.block_of(i), meet = cfg.post_dominator(from);
    if (meet == flow::no_block) continue;
    const std::vector<bool> inside = between(from, meet);
    bool local = !inside[from];
    Ways ways{cfg.blocks[meet].first};
    for (flow::BlockId b = 0; b < cfg.blocks.size(); ++b) {
      local &= !inside[b] || is_quiet[b];
      ways.together |= inside[b] && is_together[b];
    }
    if (local) local_ways_.emplace(i, ways);
  }
}

std::optional<Program::Ways> Program::local_ways(std::uint32_t branch) const {
  const auto found = local_ways_.find(branch);
  return found == local_ways_.end() ? std::nullopt : std::optional(found->second);
}

void Program::find_next() {
  std::vector<bool> is_loaded(code.registers.size());
  for (std::uint32_t i = 0; i < code.operations.size(); ++i)
    if (isa::is_tensor_load(code.operations[i].opcode))
      for (const ir::RegisterId r : facts.definitions.written(i)) is_loaded[r] = true;
  const auto end = std::uint32_t(code.operations.size());
  next_[false].assign(end + 1, end), next_[true].assign(end + 1, end);
  for (std::uint32_t i = end; i-- > 0;) {
    const auto read = facts.definitions.read(i);
    const bool matters = matters_[i] || leads_elsewhere(code.operations[i].opcode);
    const bool reads = std::any_of(read.begin(), read.end(), [&](ir::RegisterId r) { return is_loaded[r]; });
    next_[false][i] = matters ? i : next_[false][i + 1];
    next_[true][i] = matters || reads ? i : next_[true][i + 1];
  }
}

bool Program::synchronises() const {
  return std::any_of(code.operations.begin(), code.operations.end(), [](const ir::Operation& op) {
    if (op.opcode == Opcode::exit || op.opcode == Opcode::ret) return false;
    return is_protocol(op) && !(is_shared_access(op) && op.modifiers.space() == isa::Space::generic);
  });
}

std::optional<std::uint32_t> Program::merge_point(std::uint32_t branch) const {
  return merge_points_[branch] == no_slot ? std::nullopt : std::optional(merge_points_[branch]);
}

// From what is live after an operation to what is live before it. An operation that does not matter reads nothing.
void Program::step_back(std::uint32_t i, std::vector<bool>& live) const {
  const ir::Operation& op = code.operations[i];
  if (!op.guard)
    for (const ir::RegisterId r : facts.definitions.written(i))
      if (slot_[r] != no_slot) live[slot_[r]] = false;
  const bool decides = op.opcode == Opcode::bra && merge_points_[i] == no_slot;
  if (!matters_[i] && !decides) return;
  for (const ir::RegisterId r : facts.definitions.read(i))
    if (slot_[r] != no_slot) live[slot_[r]] = true;
  for (const ir::RegisterId r : demands.kept(i)) live[slot_[r]] = true;
}

void Program::find_live() {
  const flow::Cfg& cfg = facts.cfg;
  live_out_.assign(cfg.blocks.size(), std::vector<bool>(slots_));
  std::vector<std::vector<bool>> in(cfg.blocks.size(), std::vector<bool>(slots_));
  for (bool changed = true; changed;) {
    changed = false;
    for (auto b = flow::BlockId(cfg.blocks.size()); b-- > 0;) {
      std::vector<bool>& out = live_out_[b];
      for (const std::uint32_t e : cfg.blocks[b].out)
        for (std::uint32_t k = 0; k < slots_; ++k)
          if (in[cfg.edges[e].to][k]) out[k] = true;
      std::vector<bool> live = out;
      for (std::uint32_t i = cfg.blocks[b].last; i-- > cfg.blocks[b].first;) step_back(i, live);
      if (live == in[b]) continue;
      in[b] = std::move(live);
      changed = true;
    }
  }
}

const std::vector<ir::RegisterId>& Program::live(std::uint32_t operation) const {
  const auto [known, is_new] = live_.try_emplace(operation);
  if (!is_new || operation >= code.operations.size()) return known->second;
  const flow::BasicBlock& block = facts.cfg.blocks[facts.cfg.block_of(operation)];
  std::vector<bool> live = live_out_[facts.cfg.block_of(operation)];
  for (std::uint32_t i = block.last; i-- > operation;) step_back(i, live);
  for (ir::RegisterId r = 0; r < slot_.size(); ++r)
    if (slot_[r] != no_slot && live[slot_[r]]) known->second.push_back(r);
  return known->second;
}

void Program::find_questions() {
  questions_.resize(code.operations.size());
  for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
    const ir::Operation& op = code.operations[i];
    flow::Demands::Wanted wanted;
    add_roots(op, words(i), wanted);
    wanted.arguments.insert(wanted.arguments.end(), wanted.parities.begin(), wanted.parities.end());
    wanted.arguments.insert(wanted.arguments.end(), wanted.rough.begin(), wanted.rough.end());
    const auto ask = [&](const ir::Argument& a) {
      if (a.kind == ir::Argument::Kind::reg && !demands.is_rough(a.id)) questions_[i].push_back(a.id);
    };
    for (const ir::Argument* a : wanted.arguments) {
      ask(*a);
      if (a->kind == ir::Argument::Kind::address || a->kind == ir::Argument::Kind::vector)
        for (const ir::Argument& part : code.components(*a)) ask(part);
    }
  }
}

void Program::find_families() {
  std::vector<int> writes(code.registers.size());
  for (std::uint32_t i = 0; i < code.operations.size(); ++i)
    for (const ir::RegisterId r : facts.definitions.written(i))
      writes[r] += facts.cfg.repeats(facts.cfg.block_of(i)) ? 2 : 1;
  for (const int n : writes) is_written_once_.push_back(n < 2);
  families_.assign(code.registers.size(), no_slot);
  for (ir::RegisterId r = 0; r < families_.size(); ++r)
    if (demands.of(r).compared && code.registers[r].type != isa::ScalarType::pred) families_[r] = r;
  const auto first = [&](ir::RegisterId r) {
    while (families_[r] != r) r = families_[r];
    return r;
  };
  const auto unite = [&](const ir::Operation& op, std::optional<ir::RegisterId> with) {
    for (const ir::RegisterId r : facts.definitions.read(code.index(op))) {
      if (families_[r] == no_slot) continue;
      if (with) families_[first(r)] = first(*with);
      with = r;
    }
  };
  for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
    const ir::Operation& op = code.operations[i];
    const auto written = facts.definitions.written(i);
    const bool adds = op.opcode == Opcode::mov || op.opcode == Opcode::add || op.opcode == Opcode::sub ||
                      op.opcode == Opcode::selp || op.opcode == Opcode::cvt;
    if (op.opcode == Opcode::setp) unite(op, std::nullopt);
    if (adds && written.size() == 1 && families_[written[0]] != no_slot) unite(op, written[0]);
  }
  for (ir::RegisterId r = 0; r < families_.size(); ++r)
    if (families_[r] != no_slot) kin_[families_[r] = first(r)];
  for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
    const ir::Operation& op = code.operations[i];
    const auto written = facts.definitions.written(i);
    const bool adds = (op.opcode == Opcode::add || op.opcode == Opcode::sub) && written.size() == 1;
    if (!adds || families_[written[0]] == no_slot || kin_[families_[written[0]]].counts) continue;
    const auto alu = ops::roles<ops::Alu>(op);
    kin_[families_[written[0]]].counts =
        (alu.a->kind == ir::Argument::Kind::immediate || alu.b->kind == ir::Argument::Kind::immediate) &&
        facts.cfg.repeats(facts.cfg.block_of(i));
  }
  for (const ir::Operation& op : code.operations) {
    if (op.opcode != Opcode::setp) continue;
    const auto alu = ops::roles<ops::Alu>(op);
    const ir::Argument &a = alu.a, &b = alu.b;
    const auto is_kin = [&](const ir::Argument& x) {
      return x.kind == ir::Argument::Kind::reg && families_[x.id] != no_slot;
    };
    if (is_kin(a) && is_kin(b)) kin_[families_[a.id]].bounded = true;
    for (const auto& [x, y] : {std::pair(&a, &b), std::pair(&b, &a)})
      if (is_kin(*x) && y->kind == ir::Argument::Kind::immediate)
        kin_[families_[x->id]].most = std::max(kin_[families_[x->id]].most, y->value);
  }
}

void Program::find_parameters() {
  for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
    const ir::Operation& op = code.operations[i];
    const bool loads = op.opcode == Opcode::ld && !isa::is_shared(op.modifiers.space());
    const bool reads = std::any_of(op.arguments.begin(), op.arguments.end(), [](const ir::Argument& a) {
      return a.kind == ir::Argument::Kind::special && !is_fixed(ir::Special(a.id));
    });
    if (matters_[i] && (loads || reads)) after_parameters_ = i + 1;
  }
  for (const flow::Edge& e : facts.cfg.edges) {
    const bool comes_back =
        facts.cfg.blocks[e.from].last > after_parameters_ && facts.cfg.blocks[e.to].first < after_parameters_;
    if (comes_back) after_parameters_ = std::uint32_t(code.operations.size());
  }
}

void Program::number_registers() {
  slot_.assign(code.registers.size(), no_slot);
  for (ir::RegisterId r = 0; r < code.registers.size(); ++r)
    if (demands.of(r).any()) slot_[r] = slots_++;
}

}  // namespace kiln::verifier::explore
