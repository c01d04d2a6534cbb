#include "harness/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/fill.hpp"
#include "harness/reference.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/num/format.hpp"

namespace kiln::harness {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Expectation;

constexpr double infinity = std::numeric_limits<double>::infinity();
// Covers the second-order terms of the bound and the f64 rounding of the reference itself.
constexpr double slack = 1 + 0x1p-10;

const Buffer& find(const Contract& contract, const std::string& name) {
  if (const Buffer* b = contract.find(name)) return *b;
  throw diag::InputError(fmt::format("the expectation names buffer {}, which the contract does not have", name));
}

// K of one dense tcgen05.mma or wgmma; 0 for types that no tensor core multiplies.
int instruction_k(ScalarType input) {
  if (input == ScalarType::f32 || input == ScalarType::f64) return 0;
  return 256 / std::max(4, isa::bits(input) == 6 ? 8 : isa::bits(input));
}

// The product's value and scale for each element, next to what came out.
struct Expected {
  Matrix value, scale;
};

Expected expected_product(const Buffer& a, const Buffer& b, const Buffer& d) {
  const auto is_matrix = [](const Buffer& x) { return x.shape.size() == 2; };
  if (!is_matrix(a) || !is_matrix(b) || !is_matrix(d) || a.shape[1] != b.shape[1] || d.shape[0] != a.shape[0] ||
      d.shape[1] != b.shape[0])
    throw diag::InputError(fmt::format("{} [{}] is not {} [{}] times the transpose of {} [{}]", d.name,
                                       fmt::join(d.shape, ", "), a.name, fmt::join(a.shape, ", "), b.name,
                                       fmt::join(b.shape, ", ")));
  return {multiply_transposed(values(a), values(b)), multiply_transposed(magnitudes(a), magnitudes(b))};
}

// How far an element is from right, in units where up to 1 is right.
double judge(ScalarType type, std::uint64_t word, double want, double bound) {
  const double got = element_value(type, word);
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : infinity;
  if (got == want) return 0;
  // A sum beyond the output type's range is right when it became what rounding makes of it.
  if (isa::is_floating(type) && got == element_value(type, num::encode(type, want))) return 0;
  const double error = std::abs(got - want);
  return bound > 0 ? error / bound : infinity;
}

std::vector<std::uint64_t> position(std::uint64_t index, const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; index /= shape[i]) at[i] = index % shape[i];
  return at;
}

// Takes one element into account.
void add(Comparison& c, const Buffer& out, std::uint64_t index, double want, double bound, double& worst) {
  const std::uint64_t word = load_element(out.bytes, out.dtype, index);
  const double got = element_value(out.dtype, word), error = std::abs(got - want);
  const double ratio = judge(out.dtype, word, want, bound);
  if (error > c.max_error) c.max_error = error;
  if (!(ratio <= 1)) ++c.wrong;
  if (index != 0 && !(ratio > worst)) return;
  worst = ratio;
  c.worst = {index};
  c.got = got, c.want = want, c.error = error, c.bound = bound;
}

double root_mean_square(const Matrix& m) {
  double sum = 0;
  for (double x : m.at) sum += x * x;
  return m.at.empty() ? 0 : std::sqrt(sum / double(m.at.size()));
}

Comparison compare_product(const Contract& contract, const Expectation& e, Accumulation accumulation) {
  const Buffer &a = find(contract, e.a), &b = find(contract, e.b), &d = find(contract, e.output);
  if (!is_addressable(d.dtype))
    throw diag::InputError(fmt::format("buffer {}: {} cannot be compared", d.name, isa::spelling(d.dtype)));
  const Expected expected = expected_product(a, b, d);
  const ScalarType coarser = isa::bits(a.dtype) > isa::bits(b.dtype) ? a.dtype : b.dtype;
  const Tolerance derived = derive_tolerance(coarser, d.dtype, a.shape[1], accumulation);
  const double typical = root_mean_square(expected.value);
  Comparison c;
  c.expectation = e;
  c.elements = d.elements();
  c.argument = e.rtol > 0
                   ? fmt::format("rtol {} of the larger of |D| and the root mean square of D, {:.4g}", e.rtol, typical)
                   : derived.argument;
  double worst = 0;
  for (std::uint64_t i = 0; i < c.elements; ++i) {
    const double want = expected.value.at[i], scale = expected.scale.at[i];
    const double bound = e.rtol > 0 ? e.rtol * std::max(std::abs(want), typical) : derived.bound(want, scale);
    add(c, d, i, want, bound, worst);
    const double error = std::abs(element_value(d.dtype, load_element(d.bytes, d.dtype, i)) - want);
    if (scale > 0 && error > c.max_scaled_error * scale) c.max_scaled_error = error / scale;
  }
  if (!c.worst.empty()) c.worst = position(c.worst[0], d.shape);
  c.pass = c.wrong == 0;
  return c;
}

// The bytes that a copy must leave: a's rows, each behind its zeros.
std::vector<std::uint8_t> expected_copy(const Buffer& from, const Buffer& to, std::uint64_t zeros_before) {
  if (zeros_before == 0) return from.bytes;
  const std::uint64_t rows = from.shape.front(), row = from.size() / rows, out_row = to.size() / rows;
  std::vector<std::uint8_t> want(to.size());
  for (std::uint64_t r = 0; r < rows; ++r)
    std::copy_n(from.bytes.begin() + long(r * row), row, want.begin() + long((r + 1) * out_row - row));
  return want;
}

Comparison compare_copy(const Contract& contract, const Expectation& e) {
  const Buffer &from = find(contract, e.a), &to = find(contract, e.output);
  kiln::harness::check_copy(from, to, e.zeros_before);
  const std::vector<std::uint8_t> wanted = expected_copy(from, to, e.zeros_before);
  Comparison c;
  c.expectation = e;
  c.argument = "byte for byte";
  const bool whole = is_addressable(to.dtype) && from.dtype == to.dtype;
  const ScalarType type = whole ? to.dtype : ScalarType::u8;
  c.elements = whole ? to.elements() : to.bytes.size();
  if (wanted != to.bytes)
    for (std::uint64_t i = 0; i < c.elements; ++i) {
      const std::uint64_t got = load_element(to.bytes, type, i), want = load_element(wanted, type, i);
      if (got == want || c.wrong++ != 0) continue;
      c.got = element_value(type, got), c.want = element_value(type, want);
      c.error = c.max_error = std::abs(c.got - c.want);
      c.worst = whole ? position(i, to.shape) : std::vector<std::uint64_t>{i};
    }
  c.pass = c.wrong == 0;
  return c;
}

}  // namespace

void check_copy(const Buffer& from, const Buffer& to, std::uint64_t zeros_before) {
  const auto refuse = [&](const std::string& why) {
    throw diag::InputError(fmt::format("{} cannot be a copy of {}: {}", to.name, from.name, why));
  };
  if (zeros_before == 0) {
    if (from.size() != to.size()) refuse(fmt::format("{} bytes against {}", to.size(), from.size()));
    return;
  }
  const bool matrices = from.shape.size() == 2 && to.shape.size() == 2 && from.dtype == to.dtype;
  if (!matrices || from.shape[0] != to.shape[0] || from.shape[1] + zeros_before != to.shape[1] || from.shape[0] == 0 ||
      isa::bits(from.dtype) % 8 != 0)
    refuse(fmt::format("with {} zeros before each row it needs the same rows and type and {} more columns",
                       zeros_before, zeros_before));
}

double Tolerance::bound(double want, double scale) const {
  const double sum = of_scale * scale + absolute;
  return sum + of_result * (std::abs(want) + sum);
}

Tolerance derive_tolerance(ScalarType input, ScalarType output, std::uint64_t k, Accumulation accumulation) {
  if (!isa::is_floating(input)) return {0, 0, 0, "integers: exact"};
  Tolerance t;
  const int step = instruction_k(input);
  if (accumulation == Accumulation::f32_chain || step == 0) {
    t.of_scale = slack * double(k) * 0x1p-24;
    t.absolute = double(k) * 0x1p-150;
    t.argument =
        fmt::format("{} f32 multiply-adds rounded to nearest: {} * 2^-24 = {:.2g} of sum |a||b|", k, k, t.of_scale);
  } else {
    const std::uint64_t count = (k + std::uint64_t(step) - 1) / std::uint64_t(step);
    const double each = 4 + step + 1;  // in units of 2^-25
    t.of_scale = slack * double(count) * each * 0x1p-25;
    t.absolute = double(count) * 0x1p-148;
    t.argument = fmt::format(
        "{} MMAs of K={}, each cutting {} terms at 2^-25 and the sum at 2^-23: {} * {} * 2^-25 = {:.2g} "
        "of sum |a||b|",
        count, step, step + 1, count, each, t.of_scale);
  }
  if (!isa::is_floating(output) || isa::bits(output) >= 32) return t;
  const num::Format f = num::format_of(output);
  t.of_result = std::ldexp(1, -f.fraction_bits - 1);
  t.absolute += std::ldexp(1, f.emin() - f.fraction_bits - 1);
  t.argument += fmt::format("; then {} rounding, 2^{} of |D|", isa::spelling(output), -f.fraction_bits - 1);
  return t;
}

Comparison compare(const Contract& contract, const Expectation& e, Accumulation accumulation) {
  return e.kind == Expectation::Kind::copy ? compare_copy(contract, e) : compare_product(contract, e, accumulation);
}

}  // namespace kiln::harness
