// clusterlaunchcontrol: taking over the work of a cluster that has not started. PTX ISA
// "clusterlaunchcontrol.try_cancel".
//
// The next cluster that has not started is cancelled: it is then never launched. Now and then, by the seed, a request
// fails, which a kernel must expect. The 16 bytes of an answer are the simulator's own.
#include "sim/ops/launch_control.hpp"

#include <cstring>

#include "sim/async/async.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

struct Answer {
  u32 cancelled = 0;
  std::array<u32, 3> first{~0u, ~0u, ~0u};  // the first CTA of the cluster; of a failed request nothing is promised
};
constexpr u32 answer_bytes = sizeof(Answer);
static_assert(answer_bytes == 16);

Answer cancel_next(Cluster& cluster) {
  Grid& grid = cluster.grid;
  const Answer a;
  if (cluster.random.below(refused_one_in) == 0) return a;
  const launch::Dim3 g = grid.launch.grid, k = grid.cluster_shape;
  const u32 x = g.x / k.x, y = g.y / k.y;
  if (grid.waiting.empty()) return a;
  const u32 n = grid.waiting.front();
  grid.waiting.pop_front();
  return {1, {n % x * k.x, n / x % y * k.y, n / x / y * k.z}};
}

// a, value: where the answer goes; more: the mbarrier's address and its offset; flags: every CTA of the cluster gets
// it.
void try_cancel(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Place to = locate_shared(c, Space(i.space), c.address(i, l), answer_bytes, answer_bytes, l);
    const Barrier b = barrier_at(c, Space(i.space), c.value(i, 0, l) + c.value(i, 1, l), l);
    const auto address = u32(to.address), barrier = b.address;
    Cluster* cluster = c.cluster;
    const u32 mask = i.flags ? (1u << cluster->ctas.size()) - 1 : 1u << c.cta->rank;
    std::vector<AsyncId> ids(cluster->ctas.size());  // the answer in one CTA, by rank
    for (Cta& cta : cluster->ctas) {
      if (!(mask >> cta.rank & 1)) continue;
      ids[cta.rank] = announce(c, i, l, {&cta, barrier}, answer_bytes);
      touch(c, i, l, ids[cta.rank], {Space::shared_cta, cta.index, address, answer_bytes, 1}, AccessKind::write);
    }
    cluster->later(copy_least, copy_spread, i.operation, [cluster, mask, address, barrier, ids] {
      const Answer answer = cancel_next(*cluster);
      for (Cta& cta : cluster->ctas) {
        if (!(mask >> cta.rank & 1)) continue;
        cta.shared.write(address, &answer, answer_bytes);
        deliver({&cta, barrier}, answer_bytes, ids[cta.rank]);
        finish(cluster->grid, ids[cta.rank]);
      }
    });
  }
}

Answer answer_of(const Context& c, const Inst& i, int lane) {
  const u64* at = c.lanes<u64>(i.a) + lane;
  const u64 words[2] = {at[0], at[warp_lanes]};
  Answer a;
  std::memcpy(&a, words, sizeof a);
  return a;
}

void is_cancelled(Context& c, const Inst& i, Mask lanes) {
  const Mask r = lanes_where(lanes, [&](int l) { return answer_of(c, i, l).cancelled == 1; });
  c.write_mask(i.d, lanes, r);
}

// more: a register for each coordinate from `count` on; the fourth of a vector holds nothing.
void first_cta(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Answer a = answer_of(c, i, l);
    for (u32 k = 0; k < i.more_count && i.count + k < a.first.size(); ++k)
      c.write(c.slot(i, k), l, a.first[i.count + k]);
  }
}

}  // namespace

void bind_launch_query(Binder& binder, const ir::Operation& op, const ops::LaunchControl& x, Inst& inst) {
  const auto& others = op.modifiers.others;
  const std::string what = others.empty() ? "" : others.front();
  inst.a = binder.source(x.response, ScalarType::b128).offset;
  if (what == "is_canceled") {
    inst.d = binder.any_result(x.d, ScalarType::pred).offset;
    inst.run = goes_on<is_cancelled>;
    return;
  }
  const std::string coordinates = "xyz", prefix = "get_first_ctaid";
  if (!what.starts_with(prefix)) return;
  if (what != prefix) {
    const std::size_t which = coordinates.find(what.back());
    if (what.size() != prefix.size() + 3 || which == coordinates.npos) return;
    inst.count = u8(which);
  }
  binder.append_all(inst, x.d, ScalarType::b32);
  inst.run = goes_on<first_cta>;
}

void bind_launch_request(Binder& binder, const ir::Operation& op, const ops::LaunchControl& x, Inst& inst) {
  binder.access(inst, op, x.to);
  binder.append_address(inst, x.mbarrier);
  inst.flags = op.modifiers.multicast_all;
  inst.run = goes_on<try_cancel>;
}

}  // namespace kiln::sim
