// clusterlaunchcontrol: asking for the work of a CTA that has not started. PTX ISA "clusterlaunchcontrol.try_cancel".
//
// Every CTA of the grid runs here, so no request succeeds: the answer is always "not cancelled", which a kernel must
// expect.
#include "ptx/isa/mbarrier.hpp"
#include "sim/alu.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;
using isa::ScalarType;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 answer_bytes = 16;

// a, value: where the answer goes; more: the mbarrier's address and its offset; flags: every CTA of the cluster gets
// it.
Status try_cancel(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    const Place to = locate_shared(c, isa::Space(i.space), c.address(i, l), answer_bytes, answer_bytes, l);
    const Place signal = locate_shared(c, isa::Space(i.space), c.read(c.slot(i, 0), l) + c.read(c.slot(i, 1), l),
                                       isa::mbarrier_bytes, isa::mbarrier_bytes, l);
    const auto address = u32(to.address), barrier = u32(signal.address);
    Cluster* cluster = c.cluster;
    const u32 mask = i.flags ? (1u << cluster->ctas.size()) - 1 : 1u << c.cta->rank;
    const AsyncId id = ++c.grid->last_async;
    if (c.grid->observer) c.grid->observer->issue(id, c.agent(1u << l), *i.operation);
    cluster->later(20, 400, i.operation, [cluster, mask, address, barrier, id] {
      for (Cta& cta : cluster->ctas) {
        if (!(mask >> cta.rank & 1)) continue;
        const std::uint8_t zeros[answer_bytes] = {};
        cta.shared.write(address, zeros, answer_bytes);
        signal_mbarrier(cta, barrier, 0, answer_bytes);
      }
      if (cluster->grid.observer) cluster->grid.observer->complete(id);
    });
  }
  return Status::next;
}

Status is_cancelled(Context& c, const Inst& i, Mask lanes) {
  Mask r = 0;
  for (Mask m = lanes; m; m &= m - 1) r |= Mask(c.lanes<u64>(i.a)[first_lane(m)] & 1) << first_lane(m);
  c.mask(i.d) = (c.mask(i.d) & ~lanes) | r;
  return Status::next;
}

}  // namespace

bool lower_launch_control(Lowering& l, const ir::Operation& op, Inst& inst) {
  if (op.opcode == Opcode::clusterlaunchcontrol_try_cancel) {
    l.address(inst, op.arg(0));
    const auto barrier = l.address(op.arg(1));
    l.append(inst, barrier.first);
    l.append(inst, l.constant(u64(barrier.second), 8));
    inst.space = std::uint8_t(op.modifiers.space());
    inst.flags = op.modifiers.multicast_all;
    inst.run = try_cancel;
    return true;
  }
  if (op.opcode != Opcode::clusterlaunchcontrol_query_cancel) return false;
  const auto& others = op.modifiers.others;
  if (others.empty() || others.front() != "is_canceled") throw Gap{"asking which CTA was cancelled: none ever is"};
  inst.d = l.any_result(op.arg(0), ScalarType::pred).offset;
  inst.a = l.source(op.arg(1), ScalarType::b128).offset;
  inst.run = is_cancelled;
  return true;
}

}  // namespace kiln::sim
