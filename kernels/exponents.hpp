// 2^x by multiply-adds, two numbers at a time, for kernels whose unit for ex2 is busier than their issue slots. For
// kernels/*.cpp alone.
#pragma once

#include "dsl/packed.hpp"
#include "dsl/warp.hpp"

namespace kiln::kernels {

/// 2^x of a pair: x is split at the nearest whole number, the rest's power is a polynomial of the third degree, 1.1e-4
/// off at most (rounding to bf16 is 2e-3 off), and the whole number is added to its exponent. x of at most 127. From
/// -127 down the result is zero, so a key that a row does not see weighs nothing: for that the power of zero is one
/// exactly. A pair takes ten instructions in place of two of ex2. Made before a loop.
class ExponentsByFma {
 public:
  template <class Scope>
  explicit ExponentsByFma(Scope& g)
      : whole_(both(g, whole)),
        c0_(both(g, 1.0f)),
        c1_(both(g, 0.69328293f)),
        c2_(both(g, 0.24221096f)),
        c3_(both(g, 0.05500893f)) {}

  template <class Scope>
  dsl::F32x2 operator()(Scope& g, const dsl::F32& x, const dsl::F32& y) const {
    const dsl::F32x2 given = dsl::pack<dsl::F32x2>(max(x, least), max(y, least)), rounded = given + whole_,
                     rest = given - (rounded - whole_), power = fma(fma(fma(c3_, rest, c2_), rest, c1_), rest, c0_);
    const auto powers = unpack(power), steps = unpack(rounded);
    return dsl::pack<dsl::F32x2>(scaled(g, powers[0], steps[0]), scaled(g, powers[1], steps[1]));
  }

 private:
  static constexpr float least = -127;
  // What a sum with it loses are fractions: its last bits are the nearest whole number.
  static constexpr float whole = 12582912;  // 1.5 * 2^23

  template <class Scope>
  static dsl::F32x2 both(Scope& g, float value) {
    const dsl::F32 v = g.var(value);
    return dsl::pack<dsl::F32x2>(v, v);
  }
  template <class Scope>
  static dsl::F32 scaled(Scope& g, const dsl::F32& power, const dsl::F32& step) {
    using dsl::U32;
    constexpr std::uint32_t exponent = 1u << 23;  // one, as it is added to the bits of a float
    return dsl::bit_cast<dsl::F32>(g.template ptx<"mad.lo.u32", U32(U32, U32, U32)>(dsl::bit_cast<U32>(step), exponent,
                                                                                    dsl::bit_cast<U32>(power)));
  }

  dsl::F32x2 whole_, c0_, c1_, c2_, c3_;
};

}  // namespace kiln::kernels
