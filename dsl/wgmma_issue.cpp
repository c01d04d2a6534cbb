#include "dsl/wgmma_issue.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

namespace {

// "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"
std::string mnemonic(const isa::MmaForm& f, const isa::MmaShape& s, int columns) {
  return dotted(
      {"wgmma.mma_async.sync.aligned",
       "m" + std::to_string(isa::wgmma_m) + "n" + std::to_string(columns) + "k" + std::to_string(isa::mma_k(f, s)),
       s.saturate ? "satfinite" : "", isa::spelling(s.d), isa::spelling(s.a), isa::spelling(s.b)});
}

}  // namespace

std::vector<Operand> thread_sums(Recorder& r, ScalarType type, int columns) {
  std::vector<Operand> out;
  for (int i = 0; i < columns * isa::wgmma_m / (4 * isa::threads_per_warp); ++i) out.push_back(r.fresh(type));
  return out;
}

void issue_wgmma(Recorder& r, const isa::MmaForm& form, const isa::MmaShape& shape, int columns,
                 std::vector<Operand> sums, const WgmmaOperands& o, Here at) {
  std::vector<Operand> operands{Operand::vector(std::move(sums)), o.a, o.b, o.enable_input_d};
  const auto sign = [&](bool negate) { operands.push_back(Operand::number(negate ? -1 : 1)); };
  if (isa::is_floating(shape.a)) sign(shape.negate_a), sign(shape.negate_b);
  const auto transposed = [](isa::Major major) { return Operand::number(major == isa::Major::MN ? 1 : 0); };
  if (form.kind == isa::MmaKind::f16) {
    if (o.a.kind != Operand::Kind::vector) operands.push_back(transposed(shape.a_major));
    operands.push_back(transposed(shape.b_major));
  }
  r.emit(mnemonic(form, shape, columns), std::move(operands), at);
}

void wait_for_groups(Recorder& r, int groups, Here at) {
  r.emit("wgmma.wait_group.sync.aligned", {Operand::number(groups)}, at);
}

SlotUnderWay::SlotUnderWay(Recorder& r, const Operand& lane, int ctas, Here at) : lane_(lane), ctas_(ctas) {
  arrives_ = r.pure(ScalarType::pred, "setp.lt.u32", {lane, Operand::number(ctas)}, at);
  pending_ = r.fresh(ScalarType::b32);
  reset(r, at);
}

void SlotUnderWay::commit(Recorder& r, const Mbarrier& empty, int warps, Here at) {
  AnyMbarrier(empty).count(r, warps * ctas_);
  wait_for_groups(r, 1, at);
  release(r, at);
  r.emit("mov.b32", {pending_, use(r, empty.address, at)}, at);
}

void SlotUnderWay::finish(Recorder& r, Here at) {
  wait_for_groups(r, 0, at);
  release(r, at);
}

void SlotUnderWay::reset(Recorder& r, Here at) { r.emit("mov.b32", {pending_, Operand::number(0)}, at); }

// Arrives for each warp on the mbarrier that waits for MMAs which are done by now, in all CTAs of the cluster.
void SlotUnderWay::release(Recorder& r, Here at) {
  const Operand here = r.fresh(ScalarType::pred);
  r.emit("setp.ne.and.u32", {here, pending_, Operand::number(0), arrives_}, at);
  if (ctas_ == 1) {
    r.emit_if(here, false, "mbarrier.arrive.shared::cta.b64", {sink(), Operand::address(pending_)}, at);
    return;
  }
  const Operand there = r.fresh(ScalarType::b32);
  r.emit_if(here, false, "mapa.shared::cluster.u32", {there, pending_, lane_}, at);
  // Without a scope: the arrival says that reads are done, and the wait for them orders that. A release.cluster would
  // be a fence of the whole GPU, each time (a third of the kernel's time on an H200).
  r.emit_if(here, false, "mbarrier.arrive.shared::cluster.b64", {sink(), Operand::address(there)}, at);
}

}  // namespace kiln::dsl
