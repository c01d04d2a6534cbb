#include "dsl/math.hpp"

#include <numbers>
#include <vector>

#include "dsl/operands.hpp"

namespace kiln::dsl {

namespace {

Recorder& first_recorder(std::initializer_list<Input> inputs) {
  for (const Input& in : inputs)
    if (in.value) return in.value->recorder();
  return recorder_of({}, {});
}

U32 word(std::string_view mnemonic, std::initializer_list<Input> inputs) {
  return {first_recorder(inputs), computed(ScalarType::u32, mnemonic, inputs)};
}

}  // namespace

Operand computed(ScalarType type, std::string_view mnemonic, std::initializer_list<Input> inputs) {
  Recorder& r = first_recorder(inputs);
  std::vector<Operand> operands;
  for (const Input& in : inputs) operands.push_back(use(r, in));
  return r.pure(type, mnemonic, std::move(operands), inputs.begin()->at);
}

F32 erf(const OperandOf<F32>& a) {
  const Here at = a.at;
  const auto in = [at](const auto& x) { return OperandOf<F32>(x, at); };
  const auto times = [&](const F32& x, const auto& y) { return F32::binary("mul.rn.f32", in(x), in(y)); };
  const F32 x = abs(a), t = F32::unary("rcp.approx.ftz.f32", in(fma(in(x), in(0.3275911f), in(1))));
  std::vector<F32> sums{fma(in(t), in(1.061405429f), in(-1.453152027f))};
  for (const float c : {1.421413741f, -0.284496736f, 0.254829592f}) sums.push_back(fma(in(sums.back()), in(t), in(c)));
  const F32 power = F32::unary("ex2.approx.ftz.f32", in(times(times(x, x), -std::numbers::log2e_v<float>)));
  const F32 tail = times(times(sums.back(), t), power);
  return copysign(in(F32::binary("sub.rn.f32", in(1), in(tail))), a);
}

Operand converted(ScalarType to, ScalarType from, Rounding rounding, const Input& in) {
  Recorder& r = recorder_of(in, in);
  const auto is_word = [](ScalarType t) { return t == ScalarType::u32 || t == ScalarType::s32; };
  if (to == from || (is_word(to) && is_word(from))) return use(r, in);
  const std::string_view modifier = rounding == Rounding::none ? "" : isa::spelling(rounding);
  return computed(to, dotted({"cvt", modifier, spelling(to), spelling(from)}), {in});
}

U32 popc(const OperandOf<U32>& a) { return word("popc.b32", {a.input()}); }
U32 clz(const OperandOf<U32>& a) { return word("clz.b32", {a.input()}); }
U32 brev(const OperandOf<U32>& a) { return word("brev.b32", {a.input()}); }
U32 bfe(const OperandOf<U32>& a, const OperandOf<U32>& from, const OperandOf<U32>& length) {
  return word("bfe.u32", {a.input(), from.input(), length.input()});
}
U32 bfi(const OperandOf<U32>& field, const OperandOf<U32>& into, const OperandOf<U32>& from,
        const OperandOf<U32>& length) {
  return word("bfi.b32", {field.input(), into.input(), from.input(), length.input()});
}
U32 prmt(const OperandOf<U32>& a, const OperandOf<U32>& b, const OperandOf<U32>& selector) {
  return word("prmt.b32", {a.input(), b.input(), selector.input()});
}
U32 shf_l_wrap(const OperandOf<U32>& low, const OperandOf<U32>& high, const OperandOf<U32>& count) {
  return word("shf.l.wrap.b32", {low.input(), high.input(), count.input()});
}
U32 shf_r_wrap(const OperandOf<U32>& low, const OperandOf<U32>& high, const OperandOf<U32>& count) {
  return word("shf.r.wrap.b32", {low.input(), high.input(), count.input()});
}

}  // namespace kiln::dsl
