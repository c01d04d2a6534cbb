// PTX ISA "Asynchronous Warpgroup Level Matrix Instructions".
#include "dsl/warpgroup_mma.hpp"

#include "dsl/operands.hpp"
#include "ptx/rules/order.hpp"

namespace kiln::dsl {

namespace {

// What asks for a feature of the target.
struct Asking : Warpgroup {
  explicit Asking(const Warpgroup& g) : Warpgroup(g) {}
  using Warpgroup::require_feature;
};

}  // namespace

std::shared_ptr<WgmmaRegisters> WarpgroupMma::new_registers(ScalarType type, int count) {
  auto out = std::make_shared<WgmmaRegisters>();
  for (int i = 0; i < count; ++i) out->all.push_back(recorder().fresh(type));
  return out;
}

void WarpgroupMma::require_done(const WgmmaRegisters& registers, Here at) {
  recorder().require(rules::wgmma_registers(registers.group <= done_), at);
}

// A register of its own: the MMAs that follow change the sums'.
F32 WarpgroupMma::read(const WgmmaRegisters& registers, RegisterIndex i) {
  require_done(registers, i.at);
  const Operand copy = recorder().fresh(ScalarType::f32);
  recorder().emit("mov.b32", {copy, registers.all.at(std::size_t(i.number))}, i.at);
  return {recorder(), copy};
}

void WarpgroupMma::write(const WgmmaRegisters& registers, int i, const OperandOf<F32>& value) {
  require_done(registers, value.at);
  recorder().emit("mov.b32", {registers.all.at(std::size_t(i)), use(recorder(), value.input())}, value.at);
}

void WarpgroupMma::round(const WgmmaRegisters& to, ScalarType type, const std::vector<Operand>& from, Here at) {
  require_done(to, at);
  const std::string name = dotted({"cvt.rn", type == ScalarType::bf16 ? "bf16x2" : "f16x2", "f32"});
  for (std::size_t i = 0; i < to.all.size(); ++i)
    recorder().emit(name, {to.all[i], from[2 * i + 1], from[2 * i]}, at);
}

void WarpgroupMma::fence(Here at) { recorder().emit("wgmma.fence.sync.aligned", {}, at); }

void WarpgroupMma::commit(Here at) {
  recorder().emit("wgmma.commit_group.sync.aligned", {}, at);
  ++group_;
}

void WarpgroupMma::wait(int groups, Here at) {
  recorder().emit("wgmma.wait_group.sync.aligned", {Operand::number(groups)}, at);
  done_ = std::max(done_, group_ - groups);
}

// "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
void WarpgroupMma::issue(const Form& form, WgmmaRegisters& d, std::vector<Operand> a, const Operand& b,
                         const EnableInputD& p) {
  Asking(g_).require_feature(isa::Feature::wgmma, p.at);
  d.group = group_ + 1;
  const bool in_registers = a.size() > 1;
  std::vector<Operand> operands{Operand::vector(d.all), in_registers ? Operand::vector(a) : a.front(), b, p.operand,
                                Operand::number(1), Operand::number(1)};
  const auto transposed = [](Major major) { return Operand::number(major == Major::MN ? 1 : 0); };
  if (!in_registers) operands.push_back(transposed(form.a));
  operands.push_back(transposed(form.b));
  const std::string type(isa::spelling(form.type));
  recorder().emit(dotted({"wgmma.mma_async.sync.aligned",
                          "m" + std::to_string(isa::wgmma_m) + "n" + std::to_string(form.columns) + "k" +
                              std::to_string(k_step),
                          "f32", type, type}),
                  std::move(operands), p.at);
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

void end_kernel_after(Warpgroup& g, Here at) {
  g.role().at_exit.push_back([&r = g.recorder(), at] { r.emit("bra", {target("role_cleanup")}, at); });
}

}  // namespace kiln::dsl
