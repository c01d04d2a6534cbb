// PTX ISA "Asynchronous Warpgroup Level Matrix Instructions".
#include "dsl/warpgroup_mma.hpp"

#include <algorithm>

#include "dsl/operands.hpp"
#include "dsl/wgmma_issue.hpp"
#include "ptx/rules/order.hpp"

namespace kiln::dsl {

namespace detail {

WgmmaRegisters::WgmmaRegisters(Recorder& r, ScalarType type, int count, std::shared_ptr<const WgmmaGroups> groups)
    : rec_(&r), groups_(std::move(groups)) {
  for (int i = 0; i < count; ++i) all_.push_back(r.fresh(type));
}

void WgmmaRegisters::require_done(Here at) const { rec_->require(rules::wgmma_registers(group_ <= groups_->done), at); }

// A register of its own: the MMAs that follow change the sums'.
F32 WgmmaRegisters::read(RegisterIndex i) const {
  require_done(i.at);
  const Operand copy = rec_->fresh(ScalarType::f32);
  rec_->emit("mov.b32", {copy, all_.at(std::size_t(i.number))}, i.at);
  return {*rec_, copy};
}

void WgmmaRegisters::write(int i, const OperandOf<F32>& value) const {
  require_done(value.at);
  rec_->emit("mov.b32", {all_.at(std::size_t(i)), use(*rec_, value.input())}, value.at);
}

void WgmmaRegisters::round(ScalarType type, const std::vector<Operand>& from, Here at) const {
  require_done(at);
  const std::string name = dotted({"cvt.rn", type == ScalarType::bf16 ? "bf16x2" : "f16x2", "f32"});
  for (std::size_t i = 0; i < all_.size(); ++i) rec_->emit(name, {all_[i], from[2 * i + 1], from[2 * i]}, at);
}

void end_kernel_after(Warpgroup& g, Here at) {
  g.role().at_exit.push_back([&r = g.recorder(), at] { r.emit("bra", {target("role_cleanup")}, at); });
}

}  // namespace detail

void WarpgroupMma::fence(Here at) { recorder().emit("wgmma.fence.sync.aligned", {}, at); }

void WarpgroupMma::commit(Here at) {
  recorder().emit("wgmma.commit_group.sync.aligned", {}, at);
  ++groups_->committed;
}

void WarpgroupMma::wait(int groups, Here at) {
  wait_for_groups(recorder(), groups, at);
  groups_->done = std::max(groups_->done, groups_->committed - groups);
}

void WarpgroupMma::issue(const isa::MmaShape& shape, detail::WgmmaRegisters& d, const Operand& a, const Operand& b,
                         const EnableInputD& p) {
  g_.role().kernel->require(isa::Feature::wgmma, recorder(), p.at);
  d.give();
  issue_wgmma(recorder(), {isa::MmaKind::f16}, shape, shape.n, d.all(), {a, b, p.operand}, p.at);
}

// The arrival says that reads through the async proxy are done, which the wait of this warp ensures.
void WarpgroupMma::release(const AnySlot& slot, Here at) {
  Recorder& r = recorder();
  AnyMbarrier(slot.empty).count(r, thread_.role().warps());
  Operand first_lane;
  r.at_role_entry([&] {
    first_lane = r.pure(ScalarType::pred, "setp.eq.u32", {g_.lane(at).operand(), Operand::number(0)}, at);
  });
  r.emit_if(first_lane, false, "mbarrier.arrive.shared::cta.b64", {sink(), address_of(r, slot.empty.address, at)}, at);
}

F32 WarpgroupMma::reduced(RedOp op, const F32& value, Here at) {
  const std::string name = combining(op, ScalarType::f32);
  const auto with = [&](const F32& x, int distance) {
    return F32::binary(name, {x, at}, {g_.shfl_sync_bfly(x, {unsigned(distance), at}, at), at});
  };
  return with(with(value, 1), 2);
}

}  // namespace kiln::dsl
