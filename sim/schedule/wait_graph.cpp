#include "sim/schedule/wait_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/ops/operations.hpp"
#include "sim/core/names.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;

struct Waiter {
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  Fragment* fragment = nullptr;
  std::vector<std::size_t> helpers{};  // waiters that could signal what it waits for
};

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

std::string name_of(const Waiter& w) { return thread_name(*w.cta, *w.warp, *w.fragment); }

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

std::vector<Waiter> waiters_of(Cluster& cluster) {
  std::vector<Waiter> out;
  each_fragment(cluster, [&](Cta& cta, Warp& w, Fragment& f) {
    if (f.blocked) out.push_back({&cta, &w, &f, {}});
  });
  return out;
}

// "role `load`, warp 0, lane 0 of CTA (0, 0, 0)".
std::string last_arrival(const Cluster& cluster, const Mbarrier& b) {
  const Mbarrier::Arrival& last = b.last;
  if (last.lanes == 0) return "an asynchronous operation";
  return thread_name(cluster.grid, last.cta, last.warp, last.lanes, *last.operation);
}

void tell_object(Cluster& cluster, std::vector<Waiter>& waiters, const WaitedFor& o, diag::Diagnostic& d) {
  const Program& program = cluster.grid.program;
  const std::string name = name_of(cluster, o);
  if (o.kind == WaitKind::mbarrier)
    if (const Mbarrier* b = cluster.ctas[o.cta].mbarriers.find(std::uint32_t(o.address)); b && b->last.operation)
      d.notes.push_back(
          {fmt::format("the last to arrive on {} was {}, in phase {}", name, last_arrival(cluster, *b), b->last.phase),
           place_of(program, b->last.operation)});
  bool any = false;
  for (std::size_t g = 0; g < waiters.size(); ++g) {
    const std::vector<std::uint8_t> reach = ahead(program, waiters[g].fragment->pc);
    for (std::uint32_t pc = 0; pc < reach.size(); ++pc) {
      if (!reach[pc] || !signals(waiters[g], program.insts[pc], o)) continue;
      any = true;
      for (Waiter& w : waiters)
        if (object_of(w) == o) w.helpers.push_back(g);
      const WaitedFor its = object_of(waiters[g]);
      const bool named = its.kind == WaitKind::mbarrier || its.kind == WaitKind::barrier;
      d.notes.push_back({fmt::format("{} could still arrive on {} here, but waits{}", name_of(waiters[g]), name,
                                     named ? " for " + name_of(cluster, its) : ""),
                         place_of(program, program.insts[pc].operation)});
      break;
    }
  }
  if (!any) d.notes.push_back({fmt::format("no thread that is left has an arrival on {} ahead", name), {}});
}

// A circle of waits that goes through `first`; empty when there is none.
std::vector<std::size_t> circle(const std::vector<Waiter>& waiters, std::size_t first) {
  std::vector<std::size_t> from(waiters.size(), waiters.size()), next{first};
  for (std::size_t k = 0; k < next.size(); ++k)
    for (const std::size_t g : waiters[next[k]].helpers) {
      if (g == first) {
        std::vector<std::size_t> out;
        for (std::size_t at = next[k]; at != first; at = from[at]) out.push_back(at);
        out.push_back(first);
        std::reverse(out.begin(), out.end());
        return out;
      }
      if (from[g] == waiters.size()) from[g] = next[k], next.push_back(g);
    }
  return {};
}

void tell_circle(const Cluster& cluster, const std::vector<Waiter>& waiters, diag::Diagnostic& d) {
  for (std::size_t k = 0; k < waiters.size(); ++k) {
    const std::vector<std::size_t> found = circle(waiters, k);
    if (found.empty()) continue;
    std::string text = "they wait in a circle: " + name_of(waiters[found.front()]);
    for (std::size_t at = 0; at < found.size(); ++at)
      text +=
          fmt::format("{} waits for {} from {}", at ? ", which" : "", name_of(cluster, object_of(waiters[found[at]])),
                      name_of(waiters[found[(at + 1) % found.size()]]));
    d.notes.push_back({text, {}});
    return;
  }
}

}  // namespace

void explain_waits(Cluster& cluster, diag::Diagnostic& d) {
  std::vector<Waiter> waiters = waiters_of(cluster);
  std::vector<WaitedFor> told;
  for (std::size_t k = 0; k < waiters.size(); ++k) {
    const WaitedFor o = object_of(waiters[k]);
    if ((o.kind != WaitKind::mbarrier && o.kind != WaitKind::barrier) ||
        std::find(told.begin(), told.end(), o) != told.end())
      continue;
    told.push_back(o);
    tell_object(cluster, waiters, o, d);
  }
  tell_circle(cluster, waiters, d);
}

}  // namespace kiln::sim
