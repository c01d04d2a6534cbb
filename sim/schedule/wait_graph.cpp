#include "sim/schedule/wait_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "ptx/ops/operations.hpp"
#include "sim/core/names.hpp"
#include "sim/schedule/standings.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;

struct WaitedFor {
  WaitKind kind = WaitKind::none;
  std::uint32_t cta = 0;  // rank
  std::uint64_t address = 0;
  bool operator==(const WaitedFor&) const = default;
};

WaitedFor object_of(const Waiter& w) {
  const Wait& wait = w.fragment->wait;
  if (wait.kind == WaitKind::mbarrier) return {wait.kind, wait.cta_rank, wait.address};
  if (wait.kind == WaitKind::barrier) return {wait.kind, w.cta->rank, wait.address};
  return {wait.kind, 0, 0};
}

std::string name_of(const Cluster& cluster, const WaitedFor& o) {
  return o.kind == WaitKind::mbarrier
             ? fmt::format("mbarrier `{}`", shared_name(cluster.grid.program, std::uint32_t(o.address), 8))
             : fmt::format("barrier {}", o.address);
}

// Instructions that a thread at `pc` may still come to, itself left out.
std::vector<std::uint8_t> ahead(const Program& program, std::uint32_t pc) {
  std::vector<std::uint8_t> seen(program.insts.size(), 0);
  std::vector<std::uint32_t> next;
  const auto follow = [&](std::uint32_t at) {
    const ir::Operation* op = program.insts[at].operation;
    if (!op) return;
    const bool leaves = op->opcode == Opcode::ret || op->opcode == Opcode::exit || op->opcode == Opcode::trap;
    if ((op->opcode != Opcode::bra && op->opcode != Opcode::brx_idx && !leaves) || op->guard) next.push_back(at + 1);
    if (op->opcode == Opcode::bra) next.push_back(program.insts[at].target);
    if (op->opcode == Opcode::brx_idx)
      for (const std::uint32_t target : program.code->tables[std::size_t(program.insts[at].value)])
        next.push_back(target);
  };
  for (follow(pc); !next.empty();) {
    const std::uint32_t at = next.back();
    next.pop_back();
    if (at >= seen.size() || seen[at]) continue;
    seen[at] = 1;
    follow(at);
  }
  return seen;
}

bool arrives_on_mbarrier(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::mbarrier_arrive:
    case Opcode::mbarrier_arrive_drop:
    case Opcode::mbarrier_complete_tx:
    case Opcode::tcgen05_commit: return true;
    default: return false;
  }
}

// Whether the instruction, executed with the registers as they are, would signal the object.
bool signals(Waiter& w, const Inst& i, const WaitedFor& o) {
  if (!i.operation) return false;
  Context c{w.warp->registers, w.warp, w.fragment, w.cta, w.cta->cluster, &w.cta->cluster->grid};
  const int lane = first_lane(w.fragment->lanes);
  if (o.kind == WaitKind::barrier)
    return o.cta == w.cta->rank && ops::as<ops::Barrier>(*i.operation) && i.more_count &&
           c.read(c.slot(i, 0), lane) == o.address;
  const Mbarrier* b = w.cta->cluster->ctas[o.cta].mbarriers.find(std::uint32_t(o.address));
  if (b && std::find(b->arrivers.begin(), b->arrivers.end(), i.operation) != b->arrivers.end()) return true;
  if (!arrives_on_mbarrier(*i.operation)) return false;
  const std::uint64_t address = c.address(i, lane);
  return (address & ((1u << cluster_rank_shift) - 1)) == o.address &&
         (address >> cluster_rank_shift == o.cta || w.cta->rank == o.cta);
}

// "role `load`, warp 0, lane 0 of CTA (0, 0, 0)".
std::string last_arrival(const Cluster& cluster, const Mbarrier& b) {
  const Mbarrier::Arrival& last = b.last;
  if (last.lanes == 0) return "an asynchronous operation";
  return thread_name(cluster.grid, last.cta, last.warp, last.lanes, *last.operation);
}

// Which waits may end through which waiters.
class WaitGraph {
 public:
  explicit WaitGraph(Cluster& cluster) : cluster_(cluster), waiters_(waiters_of(cluster)) {
    const std::size_t n = waiters_.size();
    helpers_.assign(n, std::vector<const ir::Operation*>(n));
    may_end_.assign(n, std::vector<bool>(n));
    for (std::size_t g = 0; g < n; ++g) {
      const std::vector<std::uint8_t> reach = ahead(cluster.grid.program, waiters_[g].fragment->pc);
      std::vector<std::pair<WaitedFor, const ir::Operation*>> known;
      for (std::size_t k = 0; k < n; ++k) {
        const WaitedFor o = object_of(waiters_[k]);
        auto found = std::find_if(known.begin(), known.end(), [&](const auto& x) { return x.first == o; });
        if (found == known.end()) found = known.insert(known.end(), {o, signal_of(g, reach, o)});
        helpers_[k][g] = found->second;
        may_end_[k][g] = helpers_[k][g] || may_end(waiters_[k], waiters_[g]);
      }
    }
  }

  // The cause first, with what could end it, then what follows from it.
  void explain(diag::Diagnostic& d) {
    std::vector<std::pair<int, Standing>> all;  // by rank
    for (Standing& some : standings(waiters_)) all.emplace_back(rank(some.front()), std::move(some));
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<WaitedFor> told;
    for (const auto& [rank, some] : all) {
      const diag::Where where = place_of(cluster_.grid.program, operation_of(waiters_[some.front()]));
      if (d.where.place.empty()) d.where = where;
      const bool follows = rank == consequence;
      d.notes.push_back(short_note(wait_of(waiters_, some) + (follows ? could_end(some) : ""), where));
      const WaitedFor o = object_of(waiters_[some.front()]);
      if (follows || !is_named(o) || std::find(told.begin(), told.end(), o) != told.end()) continue;
      told.push_back(o);
      tell(o, some.front(), d);
    }
    tell_circle(d);
  }

 private:
  static bool is_named(const WaitedFor& o) { return o.kind == WaitKind::mbarrier || o.kind == WaitKind::barrier; }

  // The instruction ahead of a waiter that would signal the object; null when there is none.
  const ir::Operation* signal_of(std::size_t g, const std::vector<std::uint8_t>& reach, const WaitedFor& o) {
    const Program& program = cluster_.grid.program;
    // A thread that waits at a barrier is there.
    if (!is_named(o) || (o.kind == WaitKind::barrier && object_of(waiters_[g]) == o)) return nullptr;
    for (std::uint32_t pc = 0; pc < reach.size(); ++pc)
      if (reach[pc] && signals(waiters_[g], program.insts[pc], o)) return program.insts[pc].operation;
    return nullptr;
  }

  // Waits that need no signal.
  bool may_end(const Waiter& wait, const Waiter& other) const {
    const Wait& w = wait.fragment->wait;
    switch (w.kind) {
      case WaitKind::convergence:
      case WaitKind::warp_barrier: return wait.warp == other.warp && (w.lanes & other.fragment->lanes) != 0;
      case WaitKind::cluster_barrier: return other.fragment->wait.kind != WaitKind::cluster_barrier;
      case WaitKind::barrier:
        return wait.cta == other.cta && wait.cta->barriers[std::size_t(w.address)].all_threads &&
               !(object_of(wait) == object_of(other));
      default: return false;
    }
  }

  // Waiters that could end a wait, directly or by what they end; or the other way round, those whose waits it could.
  std::vector<bool> reached(std::size_t from, bool backwards) const {
    std::vector<bool> out(waiters_.size());
    std::vector<std::size_t> next{from};
    while (!next.empty()) {
      const std::size_t k = next.back();
      next.pop_back();
      for (std::size_t g = 0; g < waiters_.size(); ++g)
        if (!out[g] && (backwards ? may_end_[g][k] : may_end_[k][g])) out[g] = true, next.push_back(g);
    }
    return out;
  }

  // A cause is a wait that nothing could end, or only what it could end in turn. Lanes that wait for the others of
  // their warp do so because of what these wait for.
  static constexpr int consequence = 2;
  int rank(std::size_t k) const {
    const std::vector<bool> helps = reached(k, false), follows = reached(k, true);
    for (std::size_t g = 0; g < waiters_.size(); ++g)
      if (helps[g] && !follows[g] && g != k) return consequence;
    const WaitKind kind = waiters_[k].fragment->wait.kind;
    return kind == WaitKind::convergence || kind == WaitKind::warp_barrier;
  }

  std::string could_end(const Standing& some) const {
    Standing helpers;
    for (std::size_t g = 0; g < waiters_.size(); ++g)
      if (helpers_[some.front()][g]) helpers.push_back(g);
    return helpers.empty() ? "" : fmt::format("; {} could still arrive", names_of(waiters_, helpers));
  }

  // The last arrival on an object, and which threads could still arrive.
  void tell(const WaitedFor& o, std::size_t waiter, diag::Diagnostic& d) {
    const Program& program = cluster_.grid.program;
    const std::string name = name_of(cluster_, o);
    if (o.kind == WaitKind::mbarrier)
      if (const Mbarrier* b = cluster_.ctas[o.cta].mbarriers.find(std::uint32_t(o.address)); b && b->last.operation)
        d.notes.push_back({fmt::format("the last to arrive on {} was {}, in phase {}", name, last_arrival(cluster_, *b),
                                       b->last.phase),
                           place_of(program, b->last.operation)});
    std::map<std::pair<const ir::Operation*, std::string>, Standing> groups;  // by where, and what they wait for
    for (std::size_t g = 0; g < waiters_.size(); ++g) {
      const WaitedFor its = object_of(waiters_[g]);
      if (const ir::Operation* at = helpers_[waiter][g])
        groups[{at, is_named(its) ? " for " + name_of(cluster_, its) : ""}].push_back(g);
    }
    for (const auto& [key, some] : groups)
      d.notes.push_back(short_note(fmt::format("{} could still arrive on {} here, but wait{}{}",
                                               names_of(waiters_, some), name, some.size() > 1 ? "" : "s", key.second),
                                   place_of(program, key.first)));
    if (groups.empty()) d.notes.push_back({fmt::format("no thread that is left has an arrival on {} ahead", name), {}});
  }

  // A circle of waits that goes through `first`; empty when there is none.
  std::vector<std::size_t> circle(std::size_t first) const {
    std::vector<std::size_t> from(waiters_.size(), waiters_.size()), next{first};
    for (std::size_t k = 0; k < next.size(); ++k)
      for (std::size_t g = 0; g < waiters_.size(); ++g) {
        if (!helpers_[next[k]][g]) continue;
        if (g == first) {
          std::vector<std::size_t> out;
          for (std::size_t at = next[k]; at != first; at = from[at]) out.push_back(at);
          out.push_back(first);
          std::reverse(out.begin(), out.end());
          return out;
        }
        if (from[g] == waiters_.size()) from[g] = next[k], next.push_back(g);
      }
    return {};
  }

  void tell_circle(diag::Diagnostic& d) const {
    for (std::size_t k = 0; k < waiters_.size(); ++k) {
      const std::vector<std::size_t> found = circle(k);
      if (found.empty()) continue;
      std::string text = "they wait in a circle: " + name_of(waiters_[found.front()]);
      for (std::size_t at = 0; at < found.size(); ++at)
        text += fmt::format("{} waits for {} from {}", at ? ", which" : "",
                            name_of(cluster_, object_of(waiters_[found[at]])),
                            name_of(waiters_[found[(at + 1) % found.size()]]));
      d.notes.push_back({text, {}});
      return;
    }
  }

  Cluster& cluster_;
  std::vector<Waiter> waiters_;
  std::vector<std::vector<const ir::Operation*>> helpers_{};  // by waiters: the signal that the second has ahead
  std::vector<std::vector<bool>> may_end_{};  // the second could end the wait of the first
};

}  // namespace

void explain_waits(Cluster& cluster, diag::Diagnostic& d) { WaitGraph(cluster).explain(d); }

}  // namespace kiln::sim
