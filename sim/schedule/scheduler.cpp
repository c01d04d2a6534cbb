// Chooses the warp that runs next. One clock per cluster ticks with every warp instruction; asynchronous operations
// complete when it has reached their time. When no warp can run, the clock jumps to the next completion; when there is
// none, waits time out; when that changes nothing either, it is a deadlock.
#include <fmt/format.h>

#include "ptx/rules/finding.hpp"
#include "sim/ops/mbarrier.hpp"
#include "sim/ops/poison.hpp"
#include "sim/schedule/recording.hpp"
#include "sim/schedule/schedule.hpp"
#include "sim/schedule/scheduler.hpp"
#include "sim/schedule/standstill.hpp"
#include "sim/tensor/wgmma.hpp"

namespace kiln::sim {
namespace {

constexpr std::uint32_t longest_run = 128;    // instructions of one warp before another may come
constexpr std::uint32_t stubborn_one_in = 8;  // runs that keep to one fragment, so that none starves
constexpr std::uint64_t highest_one_in = 8;   // runs in which lanes that went further in the text come first
constexpr int timeout_rounds = 64;            // fruitless time-outs before waiting counts as a deadlock
constexpr std::uint64_t default_max_steps = 200'000'000;
constexpr int still_rounds = 4;                 // fruitless time-outs while the others spin
constexpr std::uint32_t livelock_look = 256;    // turns between two looks for a livelock
constexpr std::uint32_t outside_look = 16;      // and for a cluster that waits for others
constexpr std::uint32_t peeks_fail_one_in = 2;  // turns

// After a block: the executing lanes stay, the others (guard false) go on after the instruction.
void split_blocked(Warp& warp, Fragment& f, Mask lanes) {
  const Mask others = f.lanes & ~lanes;
  f.lanes = lanes;
  f.blocked = true;
  if (others) warp.split(f.pc + 1, others);
}

// The fragment to run next; `current` is where the last one is, -1 if it cannot go on.
int choose(Warp& warp, int current, const Turn& turn) {
  current = warp.tidy(current);
  if (current >= 0 && warp.fragments[std::size_t(current)].blocked) current = -1;
  if (turn.fragment >= 0 && current >= 0) return current;
  return turn.highest ? warp.highest() : warp.lowest();
}

struct Runnable {
  Cta* cta = nullptr;
  Warp* warp = nullptr;
};

void collect(Cluster& cluster, std::vector<Runnable>& out) {
  out.clear();
  for (Cta& cta : cluster.ctas)
    for (Warp& w : cta.warps)
      if (w.runnable()) out.push_back({&cta, &w});
}

void leave_cta(Cta& cta) {
  cta.exited = true;
  if (cta.cluster->grid.observer)
    cta.cluster->grid.observer->sync({cta.index, 0, 0}, nullptr, {SyncKind::cta_exit, cta.index, 0, 0, 0});
  if (const rules::Verdict v = cta.tmem.leave(); v.broken()) {
    const ir::Code& code = *cta.cluster->grid.program.code;
    const ir::Operation* last = code.operations.empty() ? nullptr : &code.operations.back();
    cta.cluster->grid.report(last, v);
  }
}

// The event that is due first.
void run_next_event(Cluster& cluster, const ir::Operation*& current) {
  Event e = cluster.events.take();
  if (schedule::Recording* r = cluster.grid.recording)
    r->add({schedule::Decision::Kind::event, 0, 0, 0, 0, e.name, std::max(cluster.now, e.time)});
  run_event(cluster, std::move(e), current);
}

// One run of one warp, then what has become due.
void run_one(Cluster& cluster, const std::vector<Runnable>& runnable, const ir::Operation*& current) {
  const Runnable next = runnable[cluster.random.below(std::uint32_t(runnable.size()))];
  Warp& warp = *next.warp;
  Turn turn;
  turn.budget = 1 + cluster.random.below(longest_run);
  if (warp.fragment_count > 1 && cluster.random.below(stubborn_one_in) == 0) turn.fragment = warp.any(cluster.random);
  turn.highest = turn.fragment < 0 && mix(cluster.grid.options.seed, cluster.now) % highest_one_in == 0;
  if (schedule::Recording* r = cluster.grid.recording) {
    const auto kind = turn.highest        ? schedule::Decision::Kind::warp_highest
                      : turn.fragment < 0 ? schedule::Decision::Kind::warp
                                          : schedule::Decision::Kind::fragment;
    const int lane = turn.fragment < 0 ? 0 : first_lane(warp.fragments[std::size_t(turn.fragment)].lanes);
    const std::size_t at = r->clusters.back().decisions.size();
    r->add({kind, next.cta->rank, warp.index, std::uint32_t(lane), schedule::to_the_end, 0, 0});  // if it faults
    const std::uint64_t tried = run_warp(cluster, *next.cta, warp, turn, current);
    r->clusters.back().decisions[at].count = tried;
  } else {
    run_warp(cluster, *next.cta, warp, turn, current);
  }
  after_turn(*next.cta, warp);
  while (!cluster.events.empty() && cluster.events.next_time() <= cluster.now) run_next_event(cluster, current);
}

bool step(Cluster& cluster, std::vector<Runnable>& runnable, const ir::Operation*& current) {
  collect(cluster, runnable);
  if (runnable.empty() && cluster.events.empty()) return false;
  if (!runnable.empty())
    run_one(cluster, runnable, current);
  else
    run_next_event(cluster, current);
  return true;
}

// Nothing but another cluster of the launch, which can start beside it, may help. A recording has one cluster after the
// other.
bool waits_for_others(const Cluster& cluster) {
  const Grid& grid = cluster.grid;
  return !grid.recording && !grid.waiting.empty() && grid.most_clusters > 1 && only_polls(cluster, few_polls) &&
         polls_global_memory(cluster);
}

// The strategies `random` and `adversarial`.
std::optional<Outcome> run_by_chance(Cluster& cluster, const ir::Operation*& current) {
  std::vector<Runnable> runnable;
  Patience patience;
  const bool peeks = has_peeks(cluster.grid.program);
  for (std::uint32_t turns = 1;; ++turns) {
    if (step(cluster, runnable, current)) {
      if (peeks && cluster.random.below(peeks_fail_one_in) == 0) fail_peeks(cluster);
      if (turns % outside_look == 0 && waits_for_others(cluster)) return std::nullopt;
      if (turns % livelock_look == 0 && only_polls(cluster) && !patience.all_poll(cluster))
        return end_in_livelock(cluster);
      continue;
    }
    if (finished(cluster)) return Outcome::finished;
    if (!patience.none_runs(cluster)) return end_in_deadlock(cluster);
  }
}

}  // namespace

bool step_by_chance(Cluster& cluster, const ir::Operation*& current) {
  std::vector<Runnable> runnable;
  return step(cluster, runnable, current);
}

bool finished(const Cluster& cluster) {
  for (const Cta& cta : cluster.ctas)
    if (cta.live_threads()) return false;
  return true;
}

bool expire_waits(Cluster& cluster, bool only_peeks) {
  bool any = false;
  each_fragment(cluster, [&](Cta&, Warp&, Fragment& f) {
    if (!f.blocked || f.wait.kind != WaitKind::mbarrier) return;
    if (only_peeks && !is_peek(cluster.grid.program.insts[f.pc])) return;
    f.blocked = false;
    any = f.expired = true;
  });
  return any;
}

bool fail_peeks(Cluster& cluster) {
  if (!expire_waits(cluster, true)) return false;
  if (cluster.grid.recording) cluster.grid.recording->add({schedule::Decision::Kind::peeks});
  return true;
}

bool Patience::none_runs(Cluster& cluster) {
  rounds_ = stamp_ == cluster.stamp ? rounds_ + 1 : 0;
  stamp_ = cluster.stamp;
  if (rounds_ >= timeout_rounds || !expire_waits(cluster)) return false;
  if (cluster.grid.recording) cluster.grid.recording->add({schedule::Decision::Kind::timeout});
  return true;
}

bool Patience::all_poll(Cluster& cluster) {
  still_ = activity_ == cluster.activity() ? still_ + 1 : 0;
  activity_ = cluster.activity();
  if (still_ >= still_rounds) return false;
  expire_waits(cluster);
  each_fragment(cluster, [](Cta&, Warp&, Fragment& f) { f.poll.count = 0; });
  if (cluster.grid.recording) cluster.grid.recording->add({schedule::Decision::Kind::timeout});
  return true;
}

bool only_polls(const Cluster& cluster, std::uint32_t polls) {
  if (!cluster.events.empty()) return false;
  bool any = false;
  for (const Cta& cta : cluster.ctas)
    for (const Warp& w : cta.warps)
      for (int k = 0; k < w.fragment_count; ++k) {
        const Fragment& f = w.fragments[std::size_t(k)];
        if (f.blocked) continue;
        if (f.poll.count < polls || f.poll.activity != cluster.activity()) return false;
        any = true;
      }
  return any;
}

void after_turn(Cta& cta, const Warp& warp) {
  if (warp.done() && !cta.exited && cta.live_threads() == 0) leave_cta(cta);
  const std::uint64_t given = cta.cluster->grid.options.max_steps, limit = given ? given : default_max_steps;
  if (cta.steps > limit)
    throw Fault{Outcome::step_limit,
                rules::finding(rules::Limit::step_limit, fmt::format("{} in CTA {}", limit, cta.index))};
}

void run_event(Cluster& cluster, Event e, const ir::Operation*& current) {
  std::uint64_t asked = 0;
  cluster.actor = {e.name, e.warp, &asked, e.operation};
  cluster.now = std::max(cluster.now, e.time);
  cluster.tick = cluster.now;
  ++cluster.writes;
  current = e.operation;
  e.action();
  cluster.actor = {};
}

namespace {

void tell_step(const Context& c, const Inst& i, Mask lanes, Status status) {
  if (!i.operation) return;
  c.grid->observer->step(c.agent(lanes), *i.operation, status == Status::blocked ? &c.fragment->wait : nullptr);
}

}  // namespace

std::uint64_t run_warp(Cluster& cluster, Cta& cta, Warp& warp, const Turn& turn, const ir::Operation*& current) {
  Context c{warp.registers, &warp, nullptr, &cta, &cluster, &cluster.grid};
  const Inst* code = cluster.grid.program.insts.data();
  Statistics& statistics = cluster.grid.statistics;
  int at = turn.fragment >= 0 ? turn.fragment : turn.highest ? warp.highest() : warp.lowest();
  std::uint64_t executed = 0, waited = 0, budget = turn.budget;
  const std::uint64_t name = warp_name(cta, warp);
  cluster.actor = {name, name, &warp.asked, nullptr};
  while (at >= 0 && executed < budget) {
    Fragment& f = warp.fragments[std::size_t(at)];
    const Inst& i = code[f.pc];
    const Mask lanes = f.lanes & (c.mask(i.guard) ^ i.guard_flip);
    ++executed;
    if (warp.poison) [[unlikely]]
      spread_poison(c, i, f.lanes, lanes);
    if (lanes == 0) {
      ++f.pc;
      if (warp.fragment_count > 1) at = choose(warp, at, turn);
      continue;
    }
    current = i.operation;
    c.fragment = &f;
    if (warp.loads_pending) c.grid->observer->execute(c.agent(lanes), *i.operation);
    if (c.grid->observer) cluster.tick = cluster.now + executed - 1;
    const bool waits = warp.holds_registers && waits_for_registers(c, i);
    const Status status = waits ? Status::blocked : i.run(c, i, lanes);
    if (c.grid->steps) tell_step(c, i, lanes, status);
    if (status == Status::blocked) {
      --executed;
      ++waited;
      budget -= turn.attempts;
      split_blocked(warp, f, lanes);
    } else {
      statistics.thread_instructions += std::uint64_t(count(lanes));
      if (status == Status::next) {
        ++f.pc;
        if (warp.fragment_count == 1) continue;
      } else if (warp.fragment_count == 1 && f.lanes != 0) {
        continue;
      }
    }
    at = choose(warp, at, turn);
  }
  statistics.warp_instructions += executed;
  cta.steps += executed;
  cluster.now += executed;
  cluster.tick = cluster.now;
  return executed + waited;
}

std::optional<Outcome> run_cluster(Cluster& cluster) {
  const ir::Operation* current = nullptr;
  try {
    if (schedule::Recording* r = cluster.grid.recording)
      r->clusters.push_back({cluster.grid.number, cluster.index, {}});
    if (schedule::Schedule* s = cluster.grid.schedule) return s->run(cluster, current);
    return run_by_chance(cluster, current);
  } catch (const Fault& f) {
    report_fault(cluster, current, f);
    return f.outcome;
  }
}

}  // namespace kiln::sim
