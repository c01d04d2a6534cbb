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

// Buffers of two extents, or of three of which the first counts heads.
struct Inputs {
  const Buffer &q, &k, &v, &o;

  bool has_heads() const { return q.shape.size() == 3; }
  std::uint64_t heads() const { return has_heads() ? q.shape[0] : 1; }
  // Of K and V: each serves as many heads of Q that follow one another.
  std::uint64_t shared_heads() const { return has_heads() ? k.shape[0] : 1; }
};
Inputs inputs(const launch::Contract& c, const launch::Expectation& e) {
  if (c.at(e.a).shape.size() == 3) return {c.at(e.a), c.at(e.b), c.at(e.c), c.at(e.output)};
  return {matrix_buffer(c, e.a), matrix_buffer(c, e.b), matrix_buffer(c, e.c), matrix_buffer(c, e.output)};
}

std::uint64_t rows_of(const Buffer& b) { return b.shape[b.shape.size() - 2]; }
std::uint64_t columns_of(const Buffer& b) { return b.shape.back(); }

// One head's matrix.
Buffer head_of(const Buffer& all, std::uint64_t head) {
  Buffer one;
  one.name = all.name, one.dtype = all.dtype;
  one.shape = {rows_of(all), columns_of(all)};
  const auto bytes = std::ptrdiff_t(one.size());
  const auto first = all.bytes.begin() + std::ptrdiff_t(head) * bytes;
  one.bytes.assign(first, first + bytes);
  return one;
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
  const std::uint64_t keys = rows_of(x.k);
  constexpr std::uint64_t least_block = 16;  // keys of one MMA: no kernel looks for a new maximum more often
  const double blocks = double((keys + least_block - 1) / least_block);
  const num::Format f = num::format_of(x.v.dtype);
  Errors e;
  e.scores = derive_tolerance(x.q.dtype, ScalarType::f32, columns_of(x.q), accumulation);
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
  const Inputs x = inputs(contract, e);
  const auto [q, k, v, o] = x;
  for (const Buffer* b : {&k, &v, &o})
    if (b->shape.size() != q.shape.size())
      refuse("{} has {} extents, {} has {}", q.name, q.shape.size(), b->name, b->shape.size());
  if (!is_half(q.dtype) || q.dtype != k.dtype || !is_half(v.dtype))
    refuse("attention is of f16 or bf16, the same in {} and {}; got {}, {} and {}", q.name, k.name,
           isa::spelling(q.dtype), isa::spelling(k.dtype), isa::spelling(v.dtype));
  if (!isa::is_floating(o.dtype)) refuse("buffer {}: attention gives floats, not {}", o.name, isa::spelling(o.dtype));
  if (columns_of(q) != columns_of(k))
    refuse("{} has rows of {}, {} has rows of {}", q.name, columns_of(q), k.name, columns_of(k));
  if (rows_of(k) != rows_of(v) || rows_of(k) == 0)
    refuse("{} has {} keys, {} has {}; there must be as many, and one at least", k.name, rows_of(k), v.name,
           rows_of(v));
  if (x.has_heads() && (k.shape[0] != v.shape[0] || k.shape[0] == 0 || q.shape[0] % k.shape[0] != 0))
    refuse("{} has {} heads, {} has {} and {} {}; as many heads of {} must share each of {} and {}", q.name, q.shape[0],
           k.name, k.shape[0], v.name, v.shape[0], q.name, k.name, v.name);
  if (e.causal && rows_of(q) > rows_of(k))
    refuse("causal attention has no more rows than keys; {} has {}, {} has {}", q.name, rows_of(q), k.name, rows_of(k));
  if (rows_of(o) != rows_of(q) || columns_of(o) != columns_of(v) || (x.has_heads() && o.shape[0] != q.shape[0]))
    refuse("{} must be {}{} x {}; it is {}{} x {}", o.name, x.has_heads() ? fmt::format("{} x ", q.shape[0]) : "",
           rows_of(q), columns_of(v), x.has_heads() ? fmt::format("{} x ", o.shape[0]) : "", rows_of(o), columns_of(o));
}

namespace {

// Appends one head's elements.
void add_head(Composed& out, const Inputs& x, const launch::Expectation& e, double scale, const Errors& errors) {
  const Matrix scores = multiply_transposed(values(x.q), values(x.k));
  const Matrix scales = multiply_transposed(magnitudes(x.q), magnitudes(x.k));
  const Matrix v = values(x.v), sizes = magnitudes(x.v);
  const Tolerance output = rounding_tolerance(x.o.dtype);
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
}

}  // namespace

Composed attention_of(const launch::Contract& contract, const launch::Expectation& e, Accumulation accumulation) {
  check_attention(contract, e);
  const Inputs x = inputs(contract, e);
  const double scale = e.scale != 0 ? e.scale : 1 / std::sqrt(double(columns_of(x.q)));
  const Errors errors = errors_of(x, scale, accumulation);
  const std::size_t all_rows = x.heads() * rows_of(x.q), columns = columns_of(x.v);
  Composed out{{all_rows, columns, {}}, {all_rows, columns, {}}, {}};
  if (!x.has_heads()) add_head(out, x, e, scale, errors);
  for (std::uint64_t h = 0; x.has_heads() && h < x.heads(); ++h) {
    const std::uint64_t shared = h / (x.heads() / x.shared_heads());
    const Buffer q = head_of(x.q, h), k = head_of(x.k, shared), v = head_of(x.v, shared);
    add_head(out, {q, k, v, x.o}, e, scale, errors);
  }
  out.argument = fmt::format(
      "weights off by 2^x, x by {:.2g} of sum |q||k|; {:.2g} for rounding them to {}, {:.2g} for their "
      "products, {:.2g} for their sum{}",
      errors.exponent * errors.scores.of_scale, errors.rounding, isa::spelling(x.v.dtype), errors.products,
      errors.sum + errors.chain, rounding_tolerance(x.o.dtype).argument);
  return out;
}

}  // namespace kiln::harness
