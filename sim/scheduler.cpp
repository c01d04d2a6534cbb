// Who runs next. One clock per cluster ticks with every warp instruction; asynchronous operations complete when it has
// reached their time. When nobody can run, the clock jumps to the next completion; when there is none, waits time out;
// when that changes nothing either, it is a deadlock.
#include <fmt/format.h>

#include "ptx/rules/finding.hpp"
#include "sim/machine.hpp"
#include "sim/report.hpp"

namespace kiln::sim {
namespace {

constexpr std::uint32_t longest_run = 128;    // instructions of one warp before another may come
constexpr std::uint32_t stubborn_one_in = 8;  // runs that keep to one fragment, so that none starves
constexpr int timeout_rounds = 64;            // fruitless time-outs before waiting counts as a deadlock
constexpr std::uint64_t default_max_steps = 200'000'000;

// After a block: the executing lanes stay, the others (guard false) go on behind the instruction.
void split_blocked(Warp& warp, Fragment& f, Mask lanes) {
  const Mask others = f.lanes & ~lanes;
  f.lanes = lanes;
  f.blocked = true;
  if (others) warp.split(f.pc + 1, others);
}

// The fragment to run next; `current` is where the last one is, -1 if it cannot go on.
int choose(Warp& warp, int current, bool stubborn) {
  current = warp.tidy(current);
  if (current >= 0 && warp.fragments[std::size_t(current)].blocked) current = -1;
  return stubborn && current >= 0 ? current : warp.behind();
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

bool finished(const Cluster& cluster) {
  for (const Cta& cta : cluster.ctas)
    if (cta.live_threads()) return false;
  return true;
}

// Lets every wait on an mbarrier time out. False when there is none.
bool expire_waits(Cluster& cluster) {
  bool any = false;
  for (Cta& cta : cluster.ctas)
    for (Warp& w : cta.warps)
      for (int k = 0; k < w.fragment_count; ++k) {
        Fragment& f = w.fragments[std::size_t(k)];
        if (!f.blocked || f.wait.kind != WaitKind::mbarrier) continue;
        f.expired = true;
        f.blocked = false;
        any = true;
      }
  return any;
}

void leave_cta(Cta& cta) {
  cta.exited = true;
  if (cta.cluster->grid.observer)
    cta.cluster->grid.observer->sync({cta.index, 0, 0}, nullptr, {SyncKind::cta_exit, cta.index, 0, 0, 0});
  if (const rules::Verdict v = cta.tmem.leave(); v.broken()) {
    const ir::Code& code = *cta.cluster->grid.program.code;
    const ir::Operation* last = code.operations.empty() ? nullptr : &code.operations.back();
    cta.cluster->grid.report(last, v.rule, fmt::format("{} columns that are still allocated", v.given));
  }
}

void run_event(Cluster& cluster, const ir::Operation*& current) {
  Event e = cluster.events.take();
  cluster.now = std::max(cluster.now, e.time);
  cluster.tick = cluster.now;
  current = e.operation;
  e.action();
}

// One run of one warp, then what has become due.
void run_one(Cluster& cluster, const std::vector<Runnable>& runnable, std::uint64_t max_steps,
             const ir::Operation*& current) {
  const Runnable next = runnable[cluster.random.below(std::uint32_t(runnable.size()))];
  run_warp(cluster, *next.cta, *next.warp, 1 + cluster.random.below(longest_run), current);
  if (next.warp->done() && !next.cta->exited && next.cta->live_threads() == 0) leave_cta(*next.cta);
  while (!cluster.events.empty() && cluster.events.next_time() <= cluster.now) run_event(cluster, current);
  if (next.cta->steps > max_steps)
    throw Fault{Outcome::step_limit,
                rules::finding(rules::Limit::step_limit, fmt::format("{} in CTA {}", max_steps, next.cta->index))};
}

Outcome run_to_end(Cluster& cluster, const ir::Operation*& current) {
  const std::uint64_t limit = cluster.grid.options.max_steps ? cluster.grid.options.max_steps : default_max_steps;
  std::vector<Runnable> runnable;
  std::uint64_t stamp = 0;
  int rounds = 0;
  for (;;) {
    collect(cluster, runnable);
    if (!runnable.empty()) {
      run_one(cluster, runnable, limit, current);
      continue;
    }
    if (!cluster.events.empty()) {
      run_event(cluster, current);
      continue;
    }
    if (finished(cluster)) return Outcome::finished;
    rounds = stamp == cluster.stamp ? rounds + 1 : 0;
    stamp = cluster.stamp;
    if (rounds < timeout_rounds && expire_waits(cluster)) continue;
    report_deadlock(cluster);
    return Outcome::deadlock;
  }
}

void tell_step(const Context& c, const Inst& i, Mask lanes, Status status) {
  if (!i.operation) return;
  c.grid->observer->step(c.agent(lanes), *i.operation, status == Status::blocked ? &c.fragment->wait : nullptr);
}

}  // namespace

void run_warp(Cluster& cluster, Cta& cta, Warp& warp, std::uint32_t budget, const ir::Operation*& current) {
  Context c{warp.registers, &warp, nullptr, &cta, &cluster, &cluster.grid};
  const Inst* code = cluster.grid.program.insts.data();
  Statistics& statistics = cluster.grid.statistics;
  const bool stubborn = warp.fragment_count > 1 && cluster.random.below(stubborn_one_in) == 0;
  int at = stubborn ? warp.any(cluster.random) : warp.behind();
  std::uint64_t executed = 0;
  while (at >= 0 && executed < budget) {
    Fragment& f = warp.fragments[std::size_t(at)];
    const Inst& i = code[f.pc];
    const Mask lanes = f.lanes & (c.mask(i.guard) ^ i.guard_flip);
    ++executed;
    if (lanes == 0) {
      ++f.pc;
      if (warp.fragment_count > 1) at = choose(warp, at, stubborn);
      continue;
    }
    current = i.operation;
    c.fragment = &f;
    if (warp.loads_pending) c.grid->observer->execute(c.agent(lanes), *i.operation);
    if (warp.holds_registers) check_held_registers(c, i);
    if (c.grid->steps) cluster.tick = cluster.now + executed - 1;
    const Status status = i.run(c, i, lanes);
    if (c.grid->steps) tell_step(c, i, lanes, status);
    if (status == Status::blocked) {
      --executed;
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
    at = choose(warp, at, stubborn);
  }
  statistics.warp_instructions += executed;
  cta.steps += executed;
  cluster.now += executed;
  cluster.tick = cluster.now;
}

Outcome run_cluster(Cluster& cluster) {
  const ir::Operation* current = nullptr;
  try {
    return run_to_end(cluster, current);
  } catch (const Fault& f) {
    report_fault(cluster, current, f);
    return f.outcome;
  }
}

}  // namespace kiln::sim
