// The softmax of a row is written with weights w_j that sum to 1. A kernel's weights are off by (1 + f_j), its sum of
// them by (1 + g); docs/tolerance.md says where each part comes from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "harness/compare/composed.hpp"
#include "harness/problem/attention_parts.hpp"
#include "ptx/num/format.hpp"

namespace kiln::harness {
namespace {

using isa::ScalarType;

// What does not depend on the row of a sequence: errors as parts of what they belong to.
struct Errors {
  Tolerance scores{};
  double exponent = 0;   // what one unit of a score is in the exponent of two
  double chain = 0;      // 2^x, and the scaling of older weights whenever the maximum grows
  double rounding = 0;   // of a weight to the type of V
  double products = 0;   // of weights times values
  double underflow = 0;  // of a weight, absolute
  double sum = 0;        // of the weights
};

Errors errors_of(const AttentionPart& x, double scale, Accumulation accumulation) {
  const std::uint64_t keys = x.k.shape[0];
  constexpr std::uint64_t least_block = 16;  // keys of one MMA: no kernel looks for a new maximum more often
  const double blocks = double((keys + least_block - 1) / least_block);
  const num::Format f = num::format_of(x.v.dtype);
  Errors e;
  e.scores = derive_tolerance(x.q.dtype, ScalarType::f32, x.q.shape[1], accumulation);
  e.exponent = std::abs(scale) * std::numbers::log2e;
  e.chain = (1 + blocks) * ex2_error + blocks * f32_rounding;
  e.rounding = std::ldexp(1, -f.fraction_bits - 1);
  e.products = derive_tolerance(x.v.dtype, ScalarType::f32, keys, accumulation).of_scale;
  e.underflow = f32_flushed + std::ldexp(1, f.emin() - f.fraction_bits - 1) + e.products * std::ldexp(1, f.emin());
  e.sum = double(keys) * f32_rounding;
  return e;
}

// The weights of the keys that a row sees, and what they may be off by.
struct Row {
  std::size_t first = 0;  // key
  std::vector<double> weights{}, errors{};  // errors: of what is multiplied with values
  double error_of_sum = 0;
};

Row row_of(const double* scores, const double* scales, std::size_t first, std::size_t keys, const Errors& e,
           double sign) {
  std::vector<double> x(keys);
  for (std::size_t j = 0; j < keys; ++j) x[j] = sign * e.exponent * scores[j];
  const auto [least, greatest] = std::minmax_element(x.begin(), x.end());
  const double most = *greatest, size = std::max(std::abs(*least), std::abs(most));
  Row r{first, std::vector<double>(keys), std::vector<double>(keys), 0};
  double sum = 0;
  for (std::size_t j = 0; j < keys; ++j) sum += r.weights[j] = std::exp2(x[j] - most);
  for (std::size_t j = 0; j < keys; ++j) {
    r.weights[j] /= sum;
    const double off = e.exponent * e.scores.bound(scores[j], scales[j]) + f32_rounding * (4 * (most - x[j]) + size);
    const double weight = std::exp(std::numbers::ln2 * off) * (1 + e.chain);
    r.errors[j] = weight * (1 + e.rounding) * (1 + e.products) - 1;
    r.error_of_sum += r.weights[j] * (weight * (1 + e.sum) - 1);
  }
  return r;
}

// One element before it is rounded to the output's type.
Estimate element_of(const Row& row, const Matrix& v, const Matrix& sizes, std::size_t column, const Errors& e) {
  double value = 0, numerator = 0, size = 0, most = 0;
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    const std::size_t at = (row.first + j) * v.columns + column;
    const double of_v = sizes.at[at];
    value += row.weights[j] * v.at[at];
    numerator += row.weights[j] * row.errors[j] * of_v;
    size += of_v, most = std::max(most, of_v);
  }
  const double of_sum = row.error_of_sum;
  // Scores of which so little is known say no more than that a mean is no greater than the greatest.
  if (!(of_sum < 0.5)) return {value, 2 * most};
  const double bound = (numerator + of_sum * std::abs(value) + e.underflow * size) / (1 - of_sum);
  return {value, bound + (rcp_error + f32_rounding) * (std::abs(value) + bound)};
}

// Appends one head's elements.
void add_part(Composed& out, const AttentionPart& x, const launch::Expectation& e, ScalarType type, double scale,
              const Errors& errors) {
  const Matrix scores = multiply_transposed(values(x.q), values(x.k));
  const Matrix scales = multiply_transposed(magnitudes(x.q), magnitudes(x.k));
  const Matrix v = values(x.v), sizes = magnitudes(x.v);
  const Tolerance output = rounding_tolerance(type);
  for (std::size_t i = 0; i < scores.rows; ++i) {
    const std::size_t end = e.causal ? scores.columns - scores.rows + i + 1 : scores.columns;
    const std::size_t seen = e.window == 0 ? end : std::min<std::size_t>(e.window, end), first = end - seen;
    const std::size_t at = i * scores.columns + first;
    const Row row = row_of(&scores.at[at], &scales.at[at], first, seen, errors, scale < 0 ? -1 : 1);
    for (std::size_t column = 0; column < v.columns; ++column) {
      const Estimate element = element_of(row, v, sizes, column, errors);
      out.value.at.push_back(element.value);
      out.bound.at.push_back(element.error + output.bound(std::abs(element.value) + element.error, 0));
    }
  }
}

}  // namespace

Composed attention_of(const launch::Contract& contract, const launch::Expectation& e, Accumulation accumulation) {
  const launch::Buffer &q = contract.at(e.a), &o = contract.at(e.output);
  Composed out;
  Errors worst;  // of the sequence with the most keys
  double scale = e.scale;
  each_attention_part(contract, e, [&](const AttentionPart& part) {
    if (scale == 0) scale = 1 / std::sqrt(double(q.shape.back()));
    const Errors errors = errors_of(part, scale, accumulation);
    if (errors.sum >= worst.sum) worst = errors;
    add_part(out, part, e, o.dtype, scale, errors);
  });
  out.value.columns = out.bound.columns = o.shape.back();
  out.value.rows = out.bound.rows = out.value.at.size() / o.shape.back();
  out.argument = fmt::format(
      "weights off by 2^x, x by {:.2g} of sum |q||k|; {:.2g} for rounding them to {}, {:.2g} for their "
      "products, {:.2g} for their sum{}",
      worst.exponent * worst.scores.of_scale, worst.rounding, isa::spelling(contract.at(e.c).dtype), worst.products,
      worst.sum + worst.chain, rounding_tolerance(o.dtype).argument);
  return out;
}

}  // namespace kiln::harness
