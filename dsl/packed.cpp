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
  if (type != ScalarType::f32x2) {
    const bool is_bf16 = type == ScalarType::bf16x2;
    const std::vector<Operand> halves = widen_pairs(r, is_bf16 ? ScalarType::bf16 : ScalarType::f16, {both}, at);
    const auto as_float = [&](const Operand& half) { return is_bf16 ? as_f32(r, half) : F32(r, half); };
    return {as_float(halves[0]), as_float(halves[1])};
  }
  const Operand low = r.fresh(ScalarType::f32), high = r.fresh(ScalarType::f32);
  r.emit("mov.b64", {Operand::vector({low, high}), both}, at);
  return {F32(r, low), F32(r, high)};
}

}  // namespace kiln::dsl
