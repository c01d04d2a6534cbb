// Runs a cluster from one synchronisation operation to the next.
#include <algorithm>

#include "ptx/ops/operations.hpp"
#include "sim/ops/mbarrier.hpp"
#include "sim/schedule/recording.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/schedule/scheduler.hpp"
#include "sim/schedule/standstill.hpp"

namespace kiln::sim::schedule {
namespace {

using isa::Opcode;

// A fragment that never reaches a synchronisation operation must not keep the others waiting.
constexpr int longest_silence = 4096;  // instructions

bool is_wait(const ir::Operation& op) {
  return op.opcode == Opcode::mbarrier_test_wait || op.opcode == Opcode::mbarrier_try_wait;
}

Context context_of(Cta& cta, Warp& warp, Fragment& f) {
  return {warp.registers, &warp, &f, &cta, cta.cluster, &cta.cluster->grid};
}

}  // namespace

bool is_for_all(const ir::Operation& op) {
  const auto barrier = ops::as<ops::Barrier>(op);
  return barrier && !barrier->threads;
}

// Barriers of the whole CTA or cluster are none: in whichever order threads arrive at them, what follows is the same.
// Nor is handing work to an asynchronous unit: what completes, and when, is a choice of its own.
bool is_synchronisation(const ir::Operation& op) {
  if (const auto barrier = ops::as<ops::Barrier>(op)) return bool(barrier->threads);
  switch (op.opcode) {
    case Opcode::mbarrier_pending_count: return false;
    case Opcode::tcgen05_alloc:
    case Opcode::tcgen05_dealloc:
    case Opcode::atom:
    case Opcode::red: return true;
    case Opcode::ld:
    case Opcode::st: return is_strong(op);
    default: return isa::unit(op.opcode) == isa::Unit::mbarrier;
  }
}

void Picker::learn(const Program& program) {
  program_ = &program;
  has_peeks_ = has_peeks(program);
  visible_.assign(program.insts.size(), 0);
  for (std::size_t k = 0; k < visible_.size(); ++k)
    visible_[k] = program.insts[k].operation && is_synchronisation(*program.insts[k].operation);
}

// True when the fragment is at a synchronisation operation that it may execute now.
bool Picker::at_choice(Cta& cta, Warp& warp, int fragment) {
  Fragment& f = warp.fragments[std::size_t(fragment)];
  if (!visible_[f.pc] || f.arrived) return false;
  Context c = context_of(cta, warp, f);
  const Inst& i = program_->insts[f.pc];
  const Mask lanes = f.lanes & (c.mask(i.guard) ^ i.guard_flip);
  if (lanes == 0) return false;
  if (i.operation->modifiers.aligned && (warp.live & ~lanes) != 0) return false;  // waits for its warp
  return !is_wait(*i.operation) || f.expired || mbarrier_wait_passes(c, i, lanes);
}

// One attempt of the fragment that holds a lane. False when it had to wait.
bool Picker::step(Cta& cta, Warp& warp, int lane, const ir::Operation*& current) {
  const int at = warp.holding(lane);
  if (Recording* r = cta.cluster->grid.recording)
    r->add({Decision::Kind::lane, cta.rank, warp.index, std::uint32_t(lane), 1, 0, 0});
  const std::uint64_t before = cta.steps;
  run_warp(*cta.cluster, cta, warp, {at, false, 1, true}, current);
  after_turn(cta, warp);
  return cta.steps != before;
}

// Runs every fragment to its next synchronisation operation.
void Picker::settle(Cluster& cluster, const ir::Operation*& current) {
  bool more = true;
  while (more) {
    more = false;
    for (Cta& cta : cluster.ctas)
      for (Warp& warp : cta.warps) {
        int silent = 0;
        for (; silent < longest_silence; ++silent) {
          int next = -1;
          for (int k = 0; k < warp.fragment_count; ++k) {
            const Fragment& f = warp.fragments[std::size_t(k)];
            if (!f.blocked && !at_choice(cta, warp, k) && (next < 0 || f.pc < warp.fragments[std::size_t(next)].pc))
              next = k;
          }
          if (next < 0) break;
          works(cta, warp);
          step(cta, warp, first_lane(warp.fragments[std::size_t(next)].lanes), current);
        }
        more |= silent != 0 && silent < longest_silence;
      }
  }
}

void Picker::collect(Cluster& cluster) {
  candidates_.clear();
  each_fragment(cluster, [&](Cta& cta, Warp& w, const Fragment& f) {
    const int lane = first_lane(f.lanes);
    const std::uint64_t name = warp_name(cta, w);
    if (!f.blocked) candidates_.push_back({name * warp_lanes + std::uint64_t(lane), name, &cta, &w, lane});
  });
  const std::size_t threads = candidates_.size();
  for (const Event& e : cluster.events.pending()) candidates_.push_back({e.name, e.warp, nullptr, nullptr, 0});
  std::sort(candidates_.begin() + std::ptrdiff_t(threads), candidates_.end(),
            [](const Candidate& a, const Candidate& b) { return a.name < b.name; });
}

// False when it had to wait and nothing happened.
bool Picker::perform(Cluster& cluster, const Candidate& c, const ir::Operation*& current) {
  if (c.cta) {
    works(*c.cta, *c.at);
    return step(*c.cta, *c.at, c.lane, current) || c.at->fragments[std::size_t(c.at->holding(c.lane))].arrived;
  }
  const auto pending = cluster.events.pending();
  std::size_t at = 0;
  while (pending[at].name != c.name) ++at;
  Event e = cluster.events.take(at);
  e.time = cluster.now;
  if (cluster.grid.recording) cluster.grid.recording->add({Decision::Kind::event, 0, 0, 0, 0, e.name, e.time});
  run_event(cluster, std::move(e), current);
  return true;
}

Outcome Picker::run(Cluster& cluster, const ir::Operation*& current) {
  try {
    const Outcome o = go(cluster, current);
    ended(cluster, false);
    return o;
  } catch (const Fault&) {
    ended(cluster, true);
    throw;
  }
}

Outcome Picker::go(Cluster& cluster, const ir::Operation*& current) {
  learn(cluster.grid.program);
  begin(cluster);
  Patience patience;
  settle(cluster, current);
  for (;;) {
    collect(cluster);
    if (has_peeks_ && !candidates_.empty() && peeks_fail() && fail_peeks(cluster)) {
      settle(cluster, current);
      continue;
    }
    const std::size_t at = candidates_.empty() ? none : pick(cluster, candidates_);
    if (at != none) {
      const Candidate chosen = candidates_[at];
      const bool moved = perform(cluster, chosen, current);
      settle(cluster, current);
      done(cluster, chosen, moved);
      if (only_polls(cluster) && !patience.all_poll(cluster)) return end_in_livelock(cluster);
      continue;
    }
    if (finished(cluster)) return Outcome::finished;
    if (!patience.none_runs(cluster)) return candidates_.empty() ? end_in_deadlock(cluster) : end_in_livelock(cluster);
    settle(cluster, current);
  }
}

}  // namespace kiln::sim::schedule
