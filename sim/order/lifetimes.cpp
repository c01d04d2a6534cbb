#include "sim/order/lifetimes.hpp"

#include <fmt/format.h>

#include "ptx/isa/tensor_copy.hpp"
#include "ptx/rules/order.hpp"

namespace kiln::sim {

void Lifetimes::reach(const Agent& a, const ir::Operation& op, std::uint32_t cta) {
  const Stamp life = agents_.life(cta);
  const Message& seen = agents_.seen(a);
  const auto name = [&] { return fmt::format("CTA {} of the cluster", agents_.rank(cta)); };
  reports_.report(rules::cluster_start(seen.happened.knows(life) || seen.published.knows(life)), a, op,
                  [&]() -> Found { return {name() + ", whose start is not known here"}; });
  reports_.report(rules::cta_exit(!ctas_[agents_.rank(cta)].exited), a, op,
                  [&]() -> Found { return {"an access to " + name() + ", which has exited"}; });
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

void Lifetimes::exit(std::uint32_t cta) {
  const std::uint32_t rank = agents_.rank(cta);
  ctas_[rank].exited = true;
  Clock known;
  for (const WarpKnowledge& w : agents_.of_cta(cta)) known.join(w.message(all_lanes).happened);
  const auto judge_use = [&](AccessId id, Stamp done) {
    const Access& x = records_[id];
    const bool own_copy = x.cta == cta && isa::is_bulk_copy(x.operation->opcode);
    const bool is_known = known.knows(done);
    reports_.report(
        own_copy ? rules::cta_exit_copy(is_known) : rules::cta_exit(is_known), {x.cta, x.warp, 1}, *x.operation,
        [&]() -> Found {
          return {fmt::format("the exit of CTA {} of the cluster, which does not know that this is done", rank)};
        });
  };
  for (const auto& [component, use] : ctas_[rank].latest) judge_use(use.access, use.done);
  for (const AccessId id : ctas_[rank].open) judge_use(id, records_.completion(records_[id].async).done);
}

}  // namespace kiln::sim
