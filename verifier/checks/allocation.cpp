#include "verifier/checks/allocation.hpp"

#include <algorithm>
#include <bit>

#include "ptx/flow/forward.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "verifier/finding.hpp"
#include "verifier/footprint.hpp"

namespace kiln::verifier {
namespace {

using flow::BlockId;
using isa::AllocEvent;
using isa::AllocState;
using isa::Opcode;

// The states that a warp may be in at a point: a short list, or no knowledge.
struct States {
  static constexpr std::size_t most = 16;
  std::vector<AllocState> list{};
  bool any = false;  // it may be in every state

  bool insert(const AllocState& s) {
    if (any || std::find(list.begin(), list.end(), s) != list.end()) return false;
    list.push_back(s);
    if (list.size() > most) give_up();
    return true;
  }
  bool join(const States& o) {
    if (any) return false;
    if (o.any) return give_up(), true;
    bool changed = false;
    for (const AllocState& s : o.list) changed |= insert(s);
    return changed;
  }
  void give_up() {
    any = true;
    list.clear();
  }
};

bool frees_anything(const std::vector<AllocSite>& sites) {
  return std::any_of(sites.begin(), sites.end(), [](const AllocSite& s) { return s.event == AllocEvent::dealloc; });
}

// Walks the paths of one warp through the graph.
class WarpWalk {
 public:
  WarpWalk(const Facts& facts, const std::vector<AllocSite>& sites, int warp)
      : facts_(facts),
        cfg_(facts.cfg),
        sites_(sites),
        warp_(warp),
        in_(cfg_.blocks.size()),
        sites_of_(cfg_.blocks.size()) {
    for (std::size_t i = 0; i < sites.size(); ++i) sites_of_[cfg_.block_of(sites[i].operation)].push_back(i);
    feasible_.reserve(cfg_.edges.size());
    for (const flow::Edge& e : cfg_.edges) feasible_.push_back(facts.uniformity.may_take(e, warp));
  }

  void run() {
    solve();
    for (std::size_t i = 0; i < sites_.size(); ++i) judge_site(i);
    judge_uses();
    if (!frees_anything(sites_)) return;
    for (const AllocSite& s : sites_)
      if (s.event == AllocEvent::alloc) judge_leak(s);
  }

 private:
  const ir::Operation& op(const AllocSite& s) const { return facts_.code.operations[s.operation]; }

  // A guard that the warp's threads may fail, or that may hold for none of them.
  bool is_conditional(const AllocSite& s) const {
    const ir::Operation& o = op(s);
    if (!o.guard) return false;
    return facts_.uniformity.may_take({0, 0, flow::Condition{*o.guard, o.guard_negated}}, warp_);
  }

  States after(const AllocSite& s, const States& before) const {
    States out;
    if (!facts_.uniformity.may_execute(op(s), warp_)) return before;
    if (before.any || (!s.columns && s.event != AllocEvent::relinquish)) out.give_up();
    // A state in which the event is wrong goes no further: it has been reported, or no path leads to it.
    for (const AllocState& state : before.list) {
      const rules::AllocStep step = rules::step(state, s.event, s.columns.value_or(0));
      if (step.verdict.ok()) out.insert(step.next);
    }
    if (is_conditional(s)) out.join(before);
    return out;
  }

  void solve() {
    in_[0].insert({});
    const auto transfer = [&](BlockId b, States states) {
      for (std::size_t i : sites_of_[b]) states = after(sites_[i], states);
      return states;
    };
    const auto join_into = [](States& into, const States& from) { return into.join(from); };
    flow::propagate(cfg_, in_, transfer, join_into, [&](std::uint32_t e) { return feasible_[e]; });
  }

  States before(std::uint32_t operation) const {
    const BlockId b = cfg_.block_of(operation);
    States states = in_[b];
    for (std::size_t i : sites_of_[b])
      if (sites_[i].operation < operation) states = after(sites_[i], states);
    return states;
  }

  // The first use for which every state that the warp may be in has nothing allocated. Only where it is certain that
  // this warp comes there: the others use what it has allocated, in an order that is not seen here.
  void judge_uses() {
    for (std::uint32_t i = 0; i < facts_.code.operations.size(); ++i) {
      const ir::Operation& use = facts_.code.operations[i];
      if (isa::unit(use.opcode) != isa::Unit::tcgen05 || !facts_.is_formed(use)) continue;
      const std::vector<Footprint> parts = footprints(facts_, use);
      if (parts.empty() || !facts_.uniformity.may_execute(use, warp_) || !facts_.uniformity.is_exact(i)) continue;
      const States states = before(i);
      if (states.any || states.list.empty()) continue;
      const auto is_broken = [](const AllocState& s) { return !rules::step(s, AllocEvent::use).verdict.ok(); };
      if (!std::all_of(states.list.begin(), states.list.end(), is_broken)) continue;
      judge(facts_.sink, rules::step({}, AllocEvent::use).verdict, {facts_.code, use, parts[0].address->operand},
            "a use by warp " + std::to_string(warp_) + ", which holds no columns here");
      return;
    }
  }

  // Broken for every state that the warp may be in: the least broken state speaks for all.
  void judge_site(std::size_t index) {
    const AllocSite& site = sites_[index];
    const States states = before(site.operation);
    if (states.any || states.list.empty() || (!site.columns && site.event != AllocEvent::relinquish)) return;
    rules::Verdict verdict;
    for (const AllocState& s : states.list) {
      verdict = rules::step(s, site.event, site.columns.value_or(0)).verdict;
      if (!verdict.broken()) return;
    }
    const bool empty = verdict.rule == rules::Rule::dealloc_size && verdict.nearest == 0;
    verdict.has_nearest = false;  // the nearest legal state is not the nearest legal literal
    const ir::Operand* operand = ops::roles<ops::TmemAllocation>(op(site)).columns->operand;
    broken(facts_.sink, verdict,
           {facts_.code, op(site), verdict.rule == rules::Rule::alloc_relinquished ? nullptr : operand},
           empty ? std::to_string(verdict.given) + " columns where none is allocated" : std::string());
  }

  bool frees(BlockId b) const {
    return std::any_of(sites_of_[b].begin(), sites_of_[b].end(),
                       [&](std::size_t i) { return sites_[i].event == AllocEvent::dealloc; });
  }

  // Blocks that the warp may reach from the end of `from`, `wall` and, when `stop_at_frees`, blocks that free not
  // crossed.
  std::vector<bool> reach(BlockId from, bool stop_at_frees, BlockId wall = flow::no_block) const {
    return cfg_.reached_from(from, [&](std::uint32_t e) {
      const BlockId b = cfg_.edges[e].from;
      return feasible_[e] && b != wall && !(stop_at_frees && b != from && frees(b));
    });
  }

  // A leak is certain only if every path from the allocation meets one branch, every dealloc comes after that branch,
  // and one way from it to the end has no dealloc. Other conditions may depend on each other in ways that are not seen
  // here.
  void judge_leak(const AllocSite& site) {
    const BlockId home = cfg_.block_of(site.operation);
    if (!facts_.uniformity.may_execute(op(site), warp_) || is_conditional(site) || in_[home].list.empty()) return;
    for (std::size_t i : sites_of_[home])
      if (sites_[i].operation > site.operation && sites_[i].event == AllocEvent::dealloc) return;
    const std::vector<bool> leaking = reach(home, true);
    if (!leaking[cfg_.end()]) return;
    const std::vector<bool> reachable = reach(home, false);
    std::vector<BlockId> deallocs;
    for (BlockId b = 0; b < cfg_.blocks.size(); ++b)
      if (reachable[b] && frees(b)) deallocs.push_back(b);
    if (deallocs.empty()) return report_leak(site, no_gate);
    const std::vector<bool> around = home == 0 ? std::vector<bool>(cfg_.blocks.size()) : reach(0, false, home);
    for (BlockId gate = 0; gate < cfg_.end(); ++gate)
      if (gate == home || (leaking[gate] && !around[gate] && gate != 0))
        if (is_gate(home, gate, deallocs)) return report_leak(site, gate);
  }

  // Of a predicate that is written in several places it is not known which threads pass.
  bool is_followed(const flow::Edge& e) const {
    return e.condition && facts_.definitions.writers(e.condition->predicate).size() == 1;
  }

  bool is_gate(BlockId home, BlockId gate, const std::vector<BlockId>& deallocs) const {
    if (gate != home) {
      const std::vector<bool> past = reach(home, false, gate);
      for (BlockId d : deallocs)
        if (d == gate || past[d]) return false;
    }
    for (std::uint32_t e : cfg_.blocks[gate].out) {
      const BlockId to = cfg_.edges[e].to;
      if (!feasible_[e] || !is_followed(cfg_.edges[e]) || frees(to)) continue;
      const std::vector<bool> from = reach(to, false);
      const bool may_free = std::any_of(deallocs.begin(), deallocs.end(), [&](BlockId d) { return from[d]; });
      if (!may_free && (to == cfg_.end() || from[cfg_.end()])) return true;
    }
    return false;
  }

  void report_leak(const AllocSite& site, BlockId gate) {
    const rules::Verdict v = rules::step({site.columns.value_or(1), false}, AllocEvent::exit).verdict;
    if (!v.broken()) return;
    diag::Diagnostic& d =
        broken(facts_.sink, v, {facts_.code, op(site)},
               (site.columns ? std::to_string(*site.columns) + " columns" : std::string("an allocation")) +
                   (gate == no_gate ? " that nothing frees" : " that a path leaves allocated"));
    if (gate != no_gate)
      d.notes.insert(d.notes.begin(), {"the path that misses tcgen05.dealloc leaves here",
                                       facts_.code.where(facts_.code.operations[cfg_.blocks[gate].last - 1])});
  }

  static constexpr BlockId no_gate = flow::no_block;
  const Facts& facts_;
  const flow::Cfg& cfg_;
  const std::vector<AllocSite>& sites_;
  int warp_;
  std::vector<States> in_;
  std::vector<std::vector<std::size_t>> sites_of_;
  std::vector<bool> feasible_;
};

std::optional<AllocEvent> event_of(Opcode op) {
  switch (op) {
    case Opcode::tcgen05_alloc: return AllocEvent::alloc;
    case Opcode::tcgen05_dealloc: return AllocEvent::dealloc;
    case Opcode::tcgen05_relinquish_alloc_permit: return AllocEvent::relinquish;
    default: return std::nullopt;
  }
}

bool has_sites(const ir::Block& block) {
  return std::any_of(block.statements.begin(), block.statements.end(), [](const ir::Statement& s) {
    if (const auto* inner = std::get_if<ir::Block>(&s.node)) return has_sites(*inner);
    const auto* i = std::get_if<ir::Instruction>(&s.node);
    return i && event_of(i->opcode).has_value();
  });
}

const ir::Operation& operation(const Facts& facts, const AllocSite& s) { return facts.code.operations[s.operation]; }

// Returns true when the column counts themselves are sound.
bool check_columns(const Facts& facts, const std::vector<AllocSite>& sites) {
  bool sound = true;
  for (const AllocSite& s : sites)
    if (s.columns &&
        judge(facts.sink,
              rules::alloc_columns(*s.columns, operation(facts, s).modifiers.exclusive,
                                   facts.target.value_or(isa::sm_100a)),
              {facts.code, operation(facts, s), ops::roles<ops::TmemAllocation>(operation(facts, s)).columns->operand}))
      sound = false;
  return sound;
}

// A constant dealloc must free what some alloc, all of them constant, has allocated.
bool check_sizes(const Facts& facts, const std::vector<AllocSite>& sites) {
  std::vector<std::int64_t> sizes;
  for (const AllocSite& s : sites) {
    if (s.event != AllocEvent::alloc) continue;
    if (!s.columns) return true;
    sizes.push_back(*s.columns);
  }
  bool sound = true;
  for (const AllocSite& s : sites) {
    if (s.event != AllocEvent::dealloc || !s.columns) continue;
    if (std::find(sizes.begin(), sizes.end(), *s.columns) != sizes.end()) continue;
    rules::Verdict v = rules::dealloc_size(*s.columns, sizes.empty() ? 0 : sizes[0]);
    v.has_nearest = sizes.size() == 1;
    if (judge(facts.sink, v,
              {facts.code, operation(facts, s), ops::roles<ops::TmemAllocation>(operation(facts, s)).columns->operand},
              std::to_string(*s.columns) + (sizes.empty() ? " columns where none is allocated"
                                                          : " columns; allocated are " + std::to_string(sizes[0]))))
      sound = false;
  }
  return sound;
}

bool share_warps(const std::vector<AllocSite>& sites) {
  return std::all_of(sites.begin(), sites.end(), [&](const AllocSite& s) { return s.warps == sites[0].warps; });
}

// Without a dealloc anywhere every allocation leaks, in whichever warp.
void report_all_leaks(const Facts& facts, const std::vector<AllocSite>& sites) {
  for (const AllocSite& s : sites) {
    if (s.event != AllocEvent::alloc || !facts.cfg.reachable(facts.cfg.end())) continue;
    judge(facts.sink, rules::step({s.columns.value_or(1), false}, AllocEvent::exit).verdict,
          {facts.code, operation(facts, s)},
          (s.columns ? std::to_string(*s.columns) + " columns" : std::string("an allocation")) + " that nothing frees");
  }
}

bool repeats(const Facts& facts, std::uint32_t operation) { return facts.cfg.repeats(facts.cfg.block_of(operation)); }

// Each warp that executes a dealloc frees one allocation. Certain where the kernel says how many warps there are, all
// of them come when one does, and no allocation is made in a loop.
void check_freed_often(const Facts& facts, const std::vector<AllocSite>& sites) {
  if (!facts.function.find("reqntid")) return;
  int made = 0;
  for (const AllocSite& s : sites) {
    if (s.event != AllocEvent::alloc) continue;
    if (repeats(facts, s.operation)) return;
    made += std::popcount(s.warps);
  }
  for (const AllocSite& s : sites) {
    const int freed = std::popcount(s.warps);
    if (s.event != AllocEvent::dealloc || freed <= made || !facts.uniformity.is_exact(s.operation)) continue;
    rules::Verdict v = rules::dealloc_size(s.columns.value_or(1), 0);
    v.has_nearest = false;
    judge(facts.sink, v, {facts.code, operation(facts, s)},
          std::to_string(freed) + " warps that free, and " + std::to_string(made) + " that allocate");
  }
}

// An instruction of this function that uses a fixed column, and the operand that says which.
struct FixedColumn {
  const ir::Operation* use = nullptr;
  const ir::Argument* address = nullptr;
  std::int64_t column = 0;
};

std::optional<FixedColumn> fixed_column(const Facts& facts) {
  for (const ir::Operation& use : facts.code.operations) {
    if (isa::unit(use.opcode) != isa::Unit::tcgen05 || !facts.is_formed(use)) continue;
    for (const Footprint& part : footprints(facts, use)) {
      const flow::Origin at = facts.origins.of(*part.address);
      if (at.is(flow::Origin::Base::number) && at.added.knows(column_bits))
        return FixedColumn{&use, part.address, column(at.added)};
    }
  }
  return std::nullopt;
}

// A plain number for an address, in a module that allocates nothing. Few kernels use one: only then are the other
// functions of the module looked at.
void check_never_allocated(const Facts& facts) {
  if (!facts.target || !isa::has_tcgen05(*facts.target)) return;
  const auto fixed = fixed_column(facts);
  if (!fixed) return;
  for (const ir::Item& item : facts.module.items)
    if (const auto* f = std::get_if<ir::Function>(&item); f && (!f->body || has_sites(*f->body))) return;
  judge(facts.sink, rules::step({}, AllocEvent::use).verdict, {facts.code, *fixed->use, fixed->address->operand},
        "column " + std::to_string(fixed->column) + " in a module that allocates nothing");
}

}  // namespace

std::vector<AllocSite> alloc_sites(const Facts& facts) {
  std::vector<AllocSite> sites;
  for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
    const ir::Operation& op = facts.code.operations[i];
    const auto event = event_of(op.opcode);
    const auto allocation = ops::as<ops::TmemAllocation>(op);
    if (!event || !facts.is_formed(op) || !allocation) continue;
    AllocSite site{i, *event, {}, facts.uniformity.warps_at(i)};
    if (allocation->columns) site.columns = facts.constant(allocation->columns, 32);
    sites.push_back(site);
  }
  return sites;
}

bool calls_allocator(const Facts& facts) {
  const auto calls = [](const ir::Operation& op) { return op.opcode == Opcode::call; };
  if (!std::any_of(facts.code.operations.begin(), facts.code.operations.end(), calls)) return false;
  for (const ir::Item& item : facts.module.items)
    if (const auto* f = std::get_if<ir::Function>(&item); f && !f->entry && f->body && has_sites(*f->body)) return true;
  return false;
}

void check_columns(const Facts& facts) { check_columns(facts, alloc_sites(facts)); }

void check_allocation(const Facts& facts) {
  const std::vector<AllocSite> sites = alloc_sites(facts);
  const bool counts_are_sound = check_columns(facts, sites);
  if (sites.empty() && facts.function.entry) check_never_allocated(facts);
  if (sites.empty() || !counts_are_sound || !facts.function.entry || calls_allocator(facts)) return;
  if (!check_sizes(facts, sites)) return;
  check_freed_often(facts, sites);
  if (!frees_anything(sites)) report_all_leaks(facts, sites);
  if (share_warps(sites) && sites[0].warps != 0) WarpWalk(facts, sites, std::countr_zero(sites[0].warps)).run();
}

}  // namespace kiln::verifier
