#include "harness/problem/tolerance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "launch/operands.hpp"
#include "ptx/num/format.hpp"

namespace kiln::harness {
namespace {

using isa::MmaKind;
using isa::ScalarType;

// What one MMA cuts before it rounds: how many terms, and at 2^-width of the largest.
struct Cuts {
  int terms = 0, width = 0;
};

Cuts cuts_of(const GemmArithmetic& g) {
  constexpr int fp4_group = 16, fp4_width = 35, width = 25;
  if (g.width != 0) return {g.mma_k + 1, g.width};
  if (g.kind == MmaKind::mxf4 || g.kind == MmaKind::mxf4nvf4) return {g.mma_k / fp4_group + 1, fp4_width};
  return {g.mma_k + 1, width};
}

Tolerance of_chain(const GemmArithmetic& g) {
  Tolerance t;
  const double k = double(g.products);
  t.of_scale = second_order * k * f32_rounding;
  t.absolute = k * f32_least / 2;
  t.argument = fmt::format("{} f32 multiply-adds rounded to nearest: {} * 2^-24 = {:.2g} of sum |a||b|", g.products,
                           g.products, t.of_scale);
  return t;
}

Tolerance of_mmas(const GemmArithmetic& g) {
  Tolerance t;
  const auto step = std::uint64_t(g.mma_k), count = (g.products + step - 1) / step;
  const Cuts cut = cuts_of(g);
  const double lost = cut.terms * std::ldexp(1, -cut.width);
  const std::string how = fmt::format("{} MMAs of K={}, each cutting {} {} at 2^-{} and ", count, step, cut.terms,
                                      cut.terms == g.mma_k + 1 ? "terms" : "sums", cut.width);
  if (g.accumulate == ScalarType::f16) {
    // Rounding errors of 2^-11 are large enough for those of one MMA to count in the next.
    const double each = 0x1p-11 + lost;
    t.of_scale = second_order * std::expm1(double(count) * std::log1p(each));
    t.absolute = second_order * double(count) * (1 + t.of_scale) * (0x1p-25 + cut.terms * 0x1p-39);
    t.argument = how + fmt::format("rounding the sum to f16: (1 + {:.4g} * 2^-11)^{} - 1 = {:.2g} of sum |a||b|",
                                   each * 0x1p11, count, t.of_scale);
    return t;
  }
  const int sum_bits = g.width != 0 ? g.width : 23, shown = g.width != 0 ? g.width : 25;
  const double each = std::ldexp(1, -sum_bits) + lost;
  t.of_scale = second_order * double(count) * each;
  t.absolute = double(count) * (0x1p-149 + cut.terms * std::ldexp(1, -126 - cut.width));
  t.argument = how + fmt::format("the sum at 2^-{}: {} * {:.4g} * 2^-{} = {:.2g} of sum |a||b|", sum_bits, count,
                                 std::ldexp(each, shown), shown, t.of_scale);
  return t;
}

// Blocks of MMAs, each then scaled by two rounded products, and added by an fma.
Tolerance of_blocks(const GemmArithmetic& g) {
  GemmArithmetic block = g;
  block.products = std::min(g.promoted, g.products);
  const std::uint64_t count = (g.products + g.promoted - 1) / g.promoted;
  Tolerance t = of_mmas(block);
  const double steps = double(count) + 2;
  t.of_scale += second_order * steps * f32_rounding;
  t.absolute = t.absolute * double(count) + double(count) * f32_least;
  t.argument += fmt::format(" in each block; then {} blocks scaled and added in f32, {} * 2^-24", count, count + 2);
  return t;
}

void add_rounding(Tolerance& t, ScalarType output) {
  const num::Format f = num::format_of(output);
  t.of_result += std::ldexp(1, -f.fraction_bits - 1);
  t.absolute += std::ldexp(1, f.emin() - f.fraction_bits - 1);
  t.argument += fmt::format("; then {} rounding, 2^{} of |D|", isa::spelling(output), -f.fraction_bits - 1);
}

void add_factors(Tolerance& t, int factors) {
  if (factors == 0) return;
  t.of_result += second_order * factors * f32_rounding;
  t.absolute += factors * f32_least;
  t.argument += fmt::format("; then {} f32 product{}, 2^-24 of |D| each", factors, factors == 1 ? "" : "s");
}

}  // namespace

double Tolerance::bound(double want, double scale) const {
  const double sum = of_scale * scale + absolute;
  return sum + of_result * (std::abs(want) + sum);
}

Tolerance derive_tolerance(const GemmArithmetic& g, Accumulation accumulation) {
  const bool rounds = isa::is_floating(g.output) && isa::bits(g.output) <= 32;
  if (g.integers) {
    Tolerance t{0, 0, 0, "integers: exact"};
    add_factors(t, g.factors);
    if (rounds) add_rounding(t, g.output);
    return t;
  }
  const bool half = g.accumulate == ScalarType::f16;
  // No f16 accumulator has a fast path, so a simulation that need not be exact rounds it all the same.
  const bool chain = g.kind == MmaKind::none || (accumulation == Accumulation::f32_chain && !half);
  Tolerance t = chain ? of_chain(g) : g.promoted != 0 ? of_blocks(g) : of_mmas(g);
  add_factors(t, g.factors);
  if (rounds && isa::bits(g.output) < 32 && !(half && g.output == ScalarType::f16 && g.factors == 0))
    add_rounding(t, g.output);
  return t;
}

// A root has half the relative error of what it is of.
void add_norm(Tolerance& t, std::uint64_t squares) {
  const double of_mean = double(squares + 2) * f32_rounding;
  t.of_result += second_order * (of_mean / 2 + rsqrt_error + f32_rounding);
  t.argument += fmt::format("; then / sqrt(mean of {} squares), ({} * 2^-25 + 2^-22) of |D|", squares, squares + 4);
}

Tolerance rounding_tolerance(ScalarType output) {
  Tolerance t{1, 0, 0, {}};
  if (isa::is_floating(output) && isa::bits(output) < 32) add_rounding(t, output);
  return t;
}

Tolerance derive_tolerance(ScalarType input, ScalarType output, std::uint64_t k, Accumulation accumulation) {
  GemmArithmetic g;
  g.kind = launch::mma_kind(input, input);
  g.output = output;
  g.products = k;
  g.mma_k = isa::mma_k(g.kind);
  g.integers = !isa::is_floating(input);
  return derive_tolerance(g, accumulation);
}

}  // namespace kiln::harness
