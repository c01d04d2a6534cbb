#include "dsl/packed.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

ir::Operand packed_of(ScalarType type, const F32& first, const F32& second, Here at) {
  Recorder& r = first.recorder();
  const Operand low = use(r, first, at), high = use(r, second, at);
  if (type == ScalarType::f32x2) return r.pure(ScalarType::b64, "mov.b64", {Operand::vector({low, high})}, at);
  return r.pure(ScalarType::b32, dotted({"cvt.rn", spelling(type), "f32"}), {high, low}, at);
}

std::array<F32, 2> unpacked_of(ScalarType type, const Value& pair, Here at) {
  Recorder& r = pair.recorder();
  const Operand both = use(r, pair, at);
  if (type == ScalarType::bf16x2) {  // a bf16 is the upper half of an f32
    const std::vector<Operand> halves = widen_pairs(r, {both}, at);
    return {as_f32(r, halves[0]), as_f32(r, halves[1])};
  }
  const bool is_wide = type == ScalarType::f32x2;
  const ScalarType half = is_wide ? ScalarType::f32 : ScalarType::b16;
  const Operand low = r.fresh(half), high = r.fresh(half);
  r.emit(is_wide ? "mov.b64" : "mov.b32", {Operand::vector({low, high}), both}, at);
  if (is_wide) return {F32(r, low), F32(r, high)};
  const auto widened = [&](const Operand& h) { return F32(r, r.pure(ScalarType::f32, "cvt.f32.f16", {h}, at)); };
  return {widened(low), widened(high)};
}

}  // namespace kiln::dsl
