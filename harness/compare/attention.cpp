// The softmax of a row is written with weights w_j that sum to 1. A kernel's weights are off by (1 + f_j), its sum of
// them by (1 + g); docs/tolerance.md says where each part comes from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "harness/compare/composed.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/num/format.hpp"

namespace kiln::harness {
namespace {

using diag::refuse;
using isa::ScalarType;
using launch::Buffer;

bool is_half(ScalarType t) { return t == ScalarType::f16 || t == ScalarType::bf16; }

struct Inputs {
  const Buffer &q, &k, &v, &o;
};
Inputs inputs(const launch::Contract& c, const launch::Expectation& e) {
  return {matrix_buffer(c, e.a), matrix_buffer(c, e.b), matrix_buffer(c, e.c), matrix_buffer(c, e.output)};
}

// What does not depend on the row: errors as parts of what they belong to.
struct Errors {
  Tolerance scores{};
  double exponent = 0;   // what one unit of a score is in the exponent of two
  double chain = 0;      // 2^x, and the scaling of older weights whenever the maximum grows
  double rounding = 0;   // of a weight to the type of V
  double products = 0;   // of weights times values
  double underflow = 0;  // of a weight, absolute
  double sum = 0;        // of the weights
};

Errors errors_of(const Inputs& x, double scale, Accumulation accumulation) {
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

// One row's weights and what they may be off by.
struct Row {
  std::vector<double> weights, errors;  // errors: of what is multiplied with values
  double error_of_sum = 0;
};

Row row_of(const double* scores, const double* scales, std::size_t keys, const Errors& e, double sign) {
  std::vector<double> x(keys);
  for (std::size_t j = 0; j < keys; ++j) x[j] = sign * e.exponent * scores[j];
  const auto [least, greatest] = std::minmax_element(x.begin(), x.end());
  const double most = *greatest, size = std::max(std::abs(*least), std::abs(most));
  Row r{std::vector<double>(keys), std::vector<double>(keys), 0};
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
    const double of_v = sizes.at[j * v.columns + column];
    value += row.weights[j] * v.at[j * v.columns + column];
    numerator += row.weights[j] * row.errors[j] * of_v;
    size += of_v, most = std::max(most, of_v);
  }
  const double of_sum = row.error_of_sum;
  // Scores of which so little is known say no more than that a mean is no greater than the greatest.
  if (!(of_sum < 0.5)) return {value, 2 * most};
  const double bound = (numerator + of_sum * std::abs(value) + e.underflow * size) / (1 - of_sum);
  return {value, bound + (rcp_error + f32_rounding) * (std::abs(value) + bound)};
}

}  // namespace

void check_attention(const launch::Contract& contract, const launch::Expectation& e) {
  const auto [q, k, v, o] = inputs(contract, e);
  if (!is_half(q.dtype) || q.dtype != k.dtype || !is_half(v.dtype))
    refuse("attention is of f16 or bf16, the same in {} and {}; got {}, {} and {}", q.name, k.name,
           isa::spelling(q.dtype), isa::spelling(k.dtype), isa::spelling(v.dtype));
  if (!isa::is_floating(o.dtype)) refuse("buffer {}: attention gives floats, not {}", o.name, isa::spelling(o.dtype));
  if (q.shape[1] != k.shape[1]) refuse("{} has rows of {}, {} has rows of {}", q.name, q.shape[1], k.name, k.shape[1]);
  if (k.shape[0] != v.shape[0] || k.shape[0] == 0)
    refuse("{} has {} keys, {} has {}; there must be as many, and one at least", k.name, k.shape[0], v.name,
           v.shape[0]);
  if (e.causal && q.shape[0] > k.shape[0])
    refuse("causal attention has no more rows than keys; {} has {}, {} has {}", q.name, q.shape[0], k.name, k.shape[0]);
  if (o.shape[0] != q.shape[0] || o.shape[1] != v.shape[1])
    refuse("{} must be {} x {}; it is {} x {}", o.name, q.shape[0], v.shape[1], o.shape[0], o.shape[1]);
}

Composed attention_of(const launch::Contract& contract, const launch::Expectation& e, Accumulation accumulation) {
  check_attention(contract, e);
  const Inputs x = inputs(contract, e);
  const double scale = e.scale != 0 ? e.scale : 1 / std::sqrt(double(x.q.shape[1]));
  const Errors errors = errors_of(x, scale, accumulation);
  const Matrix scores = multiply_transposed(values(x.q), values(x.k));
  const Matrix scales = multiply_transposed(magnitudes(x.q), magnitudes(x.k));
  const Matrix v = values(x.v), sizes = magnitudes(x.v);
  const Tolerance output = rounding_tolerance(x.o.dtype);
  Composed out{{x.q.shape[0], v.columns, {}}, {x.q.shape[0], v.columns, {}}, {}};
  for (std::size_t i = 0; i < scores.rows; ++i) {
    const std::size_t seen = e.causal ? scores.columns - scores.rows + i + 1 : scores.columns;
    const Row row =
        row_of(&scores.at[i * scores.columns], &scales.at[i * scores.columns], seen, errors, scale < 0 ? -1 : 1);
    for (std::size_t column = 0; column < v.columns; ++column) {
      const Estimate element = element_of(row, v, sizes, column, errors);
      out.value.at.push_back(element.value);
      out.bound.at.push_back(element.error + output.bound(std::abs(element.value) + element.error, 0));
    }
  }
  out.argument = fmt::format(
      "weights off by 2^x, x by {:.2g} of sum |q||k|; {:.2g} for rounding them to {}, {:.2g} for their "
      "products, {:.2g} for their sum{}",
      errors.exponent * errors.scores.of_scale, errors.rounding, isa::spelling(x.v.dtype), errors.products,
      errors.sum + errors.chain, output.argument);
  return out;
}

}  // namespace kiln::harness
