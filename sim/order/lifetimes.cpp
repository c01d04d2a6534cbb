#include "sim/order/lifetimes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/isa/tensor_copy.hpp"
#include "ptx/rules/order.hpp"

namespace kiln::sim {

bool Lifetimes::knows_start(const Agent& a, std::uint32_t cta) {
  const Stamp life = agents_.life(cta);
  const Message& seen = agents_.seen(a);
  return seen.happened.knows(life) || seen.published.knows(life);
}

void Lifetimes::reach(const Agent& a, const ir::Operation& op, std::uint32_t cta) {
  const auto name = [&] { return fmt::format("CTA {} of the cluster", agents_.rank(cta)); };
  reports_.report(rules::cluster_start(knows_start(a, cta)), a, op,
                  [&]() -> Found { return {name() + ", whose start is not known here"}; });
  reports_.report(rules::cta_exit(!ctas_[agents_.rank(cta)].exited), a, op,
                  [&]() -> Found { return {"an access to " + name() + ", which has exited"}; });
}

void Lifetimes::allocate(const Agent& a, const ir::Operation& op, std::uint32_t peer) {
  reports_.report(rules::alloc_peer(knows_start(a, peer)), a, op, [&]() -> Found {
    return {fmt::format("CTA {} of the cluster, whose start is not known here", agents_.rank(peer))};
  });
  agents_[a].change(a.lanes, [&](Mask, Knowledge& k) { k.seen.published.raise(agents_.life(peer)); });
  reach(a, op, peer);
}

void Lifetimes::use(const Agent& a, std::uint32_t cta, AccessId id, bool reads) {
  const std::tuple use{id, cta, reads};
  if (use == last_) return;
  last_ = use;
  CtaState& owner = ctas_[agents_.rank(cta)];
  const auto keep = [&](Stamp done, AccessId by) {
    Use& latest = owner.latest[done.component];
    if (done.epoch >= latest.done.epoch) latest = {done, by};
  };
  const AsyncId async = records_[id].async;
  if (async == 0) {
    for (const int l : each_lane(a.lanes)) keep(agents_[a].now(l), id);
    return;
  }
  const Completion c = records_.completion(async);
  if (reads && c.read.epoch != Completion::never) return keep(c.read, id);
  if (!c.is_open()) return keep(c.done, id);
  // Those that have completed meanwhile move to where only the latest is kept.
  if (!owner.open.empty() && records_[owner.open.back()].async == async) return;
  std::erase_if(owner.open, [&](AccessId open) {
    const Stamp done = records_.completion(records_[open].async).done;
    if (done.epoch != Completion::never) keep(done, open);
    return done.epoch != Completion::never;
  });
  owner.open.push_back(id);
}

void Lifetimes::send(const Agent& a, std::uint32_t cta, std::uint64_t object, AccessId id, AsyncId commit, Stamp work) {
  const Component phases = agents_.stream(StreamKind::mbarrier, cta, std::uint32_t(object));
  const Stamp issued = agents_[a].now(first_lane(a.lanes));
  Arrivals& arrivals = arrivals_[phases][issued.component];
  arrivals.cta = cta;
  arrivals.access = id;
  arrivals.issued = issued;
  arrivals.work = work;
  arrivals.all.push_back({commit});
}

void Lifetimes::land(std::uint32_t cta, std::uint64_t object, AsyncId commit, Stamp phase) {
  const auto at = arrivals_.find(agents_.stream(StreamKind::mbarrier, cta, std::uint32_t(object)));
  if (at == arrivals_.end()) return;
  for (auto& [thread, arrivals] : at->second)
    for (auto one = arrivals.all.rbegin(); one != arrivals.all.rend() && one->commit >= commit; ++one)
      if (one->commit == commit) one->phase = phase.epoch;
}

// The last commit of which it is known that it has arrived; 0: none.
AsyncId Lifetimes::last_known(const Arrivals& arrivals, Epoch known) {
  for (auto one = arrivals.all.rbegin(); one != arrivals.all.rend(); ++one)
    if (one->phase <= known) return one->commit;
  return 0;
}

// What is known of an arrival that is not known to have come: its thread has made a later one that has, or it was
// issued and waited for nothing any more. It is then all but there.
void Lifetimes::judge_arrivals(std::uint32_t cta, const Clock& known) {
  std::map<Component, AsyncId> followed;
  for (const auto& [phases, by_thread] : arrivals_)
    for (const auto& [thread, arrivals] : by_thread)
      followed[thread] = std::max(followed[thread], last_known(arrivals, known.at(phases)));
  for (const auto& [phases, by_thread] : arrivals_)
    for (const auto& [thread, arrivals] : by_thread) {
      if (arrivals.cta != cta || arrivals.access == 0) continue;
      const Access& x = records_[arrivals.access];
      const Arrivals::One& last = arrivals.all.back();
      const bool is_known = last.phase <= known.at(phases);
      const bool is_sent =
          last.commit < followed[thread] || (known.knows(arrivals.issued) && known.knows(arrivals.work));
      report_exit(cta, is_sent ? rules::cta_exit_arrival(is_known) : rules::cta_exit(is_known), x);
    }
}

void Lifetimes::report_exit(std::uint32_t cta, const rules::Verdict& v, const Access& x) {
  reports_.report(v, {x.cta, x.warp, 1}, *x.operation, [&]() -> Found {
    return {fmt::format("the exit of CTA {} of the cluster, which does not know that this is done", agents_.rank(cta))};
  });
}

void Lifetimes::exit(std::uint32_t cta) {
  const std::uint32_t rank = agents_.rank(cta);
  ctas_[rank].exited = true;
  Clock known;
  for (const WarpKnowledge& w : agents_.of_cta(cta)) known.join(w.message(all_lanes).happened);
  const auto judge_use = [&](AccessId id, Stamp done) {
    const Access& x = records_[id];
    const bool own_copy = x.cta == cta && isa::is_bulk_copy(x.operation->opcode);
    const bool is_known = known.knows(done);
    report_exit(cta, own_copy ? rules::cta_exit_copy(is_known) : rules::cta_exit(is_known), x);
  };
  for (const auto& [component, use] : ctas_[rank].latest) judge_use(use.access, use.done);
  for (const AccessId id : ctas_[rank].open) judge_use(id, records_.completion(records_[id].async).done);
  judge_arrivals(cta, known);
}

}  // namespace kiln::sim
