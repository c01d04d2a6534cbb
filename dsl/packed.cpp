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

PredPair compared_pairs(ScalarType type, std::string_view relation, const Input& a, const Input& b) {
  Recorder& r = recorder_of(a, b);
  if (type == ScalarType::f32x2) {
    const auto x = unpacked_of(type, *a.value, a.at), y = unpacked_of(type, *b.value, a.at);
    const auto related = [&](int i) {
      return Pred(r, compare(ScalarType::f32, relation, {&x[std::size_t(i)], 0, a.at}, {&y[std::size_t(i)], 0, a.at}));
    };
    return {related(0), related(1)};
  }
  Operand both;
  both.kind = Operand::Kind::pair;
  both.items = {r.fresh(ScalarType::pred), r.fresh(ScalarType::pred)};
  r.emit(dotted({"setp", relation, spelling(type)}), {both, use(r, a), use(r, b)}, a.at);
  return {{r, both.items[0]}, {r, both.items[1]}};
}

ir::Operand selected_halves(ScalarType type, const PredPair& p, const Input& a, const Input& b) {
  Recorder& r = p.first.recorder();
  if (type == ScalarType::f32x2) {
    const auto x = unpacked_of(type, *a.value, a.at), y = unpacked_of(type, *b.value, a.at);
    const auto chosen = [&](const Pred& which, const F32& one, const F32& other) {
      return F32(r, selected(ScalarType::f32, which, {&one, 0, a.at}, {&other, 0, a.at}));
    };
    return packed_of(type, chosen(p.first, x[0], y[0]), chosen(p.second, x[1], y[1]), a.at);
  }
  // Bytes 0 to 3 are those of `a`, 4 to 7 those of `b`.
  const auto bytes = [&](const Pred& which, int of_a, int of_b) {
    return U32(r, selected(ScalarType::u32, which, {nullptr, of_a, a.at}, {nullptr, of_b, a.at}));
  };
  const U32 selector = apply("or", bytes(p.first, 0x0010, 0x0054), bytes(p.second, 0x3200, 0x7600), a.at);
  return r.pure(ScalarType::b32, "prmt.b32", {use(r, a), use(r, b), use(r, selector, a.at)}, a.at);
}

}  // namespace kiln::dsl
