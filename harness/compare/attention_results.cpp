// What attention has beside O, and its gradients. Each element comes with what a kernel may be off by, first order by
// first order; docs/tolerance.md says where each part comes from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "harness/compare/composed.hpp"
#include "harness/problem/attention_parts.hpp"
#include "harness/problem/element.hpp"

namespace kiln::harness {
namespace {

using isa::ScalarType;
using launch::AttentionResult;

double number(const launch::Buffer& b, std::uint64_t index) {
  return element_value(b.dtype, load_element(b.bytes, b.dtype, index));
}

// Matrices of an error beside those of values.
struct Estimates {
  Matrix value{}, error{};

  explicit Estimates(std::uint64_t rows, std::uint64_t columns)
      : value{rows, columns, std::vector<double>(rows * columns)}, error(value) {}
};

// One head of Q.
class Head {
 public:
  Head(const launch::Contract& contract, const launch::Expectation& e, const AttentionPart& part, std::uint64_t index,
       double scale, Accumulation accumulation)
      : contract_(contract),
        e_(e),
        part_(part),
        index_(index),
        scale_(scale),
        accumulation_(accumulation),
        scores_(multiply_transposed(values(part.q), values(part.k))),
        sizes_(multiply_transposed(magnitudes(part.q), magnitudes(part.k))),
        of_scores_(derive_tolerance(part.q.dtype, ScalarType::f32, part.q.shape[1], accumulation)) {}

  std::uint64_t rows() const { return scores_.rows; }
  std::uint64_t keys() const { return scores_.columns; }
  std::uint64_t end(std::uint64_t row) const { return e_.causal ? keys() - rows() + row + 1 : keys(); }

  // log of the sum of exp(scale * score), of what a row sees. Older weights are scaled whenever a maximum grows, so the
  // sum is off as that of O is.
  Estimate log_sum(std::uint64_t row) const {
    double most = -INFINITY, off = 0, size = 0, sum = 0;
    for (std::uint64_t j = 0; j < end(row); ++j) most = std::max(most, exponent(row, j));
    for (std::uint64_t j = 0; j < end(row); ++j) {
      off = std::max(off, score_error(row, j) + 4 * f32_rounding * (most - exponent(row, j)));
      size = std::max(size, std::abs(exponent(row, j)));
      sum += std::exp2(exponent(row, j) - most);
    }
    const double steps = double(keys());
    const double relative = std::exp(std::numbers::ln2 * (off + f32_rounding * size)) *
                                (1 + steps * (ex2_error + 2 * f32_rounding)) * (1 + steps * f32_rounding) -
                            1;
    const double log2 = most + std::log2(sum),
                 in_log2 = relative * std::numbers::log2e + lg2_error * (1 + std::log2(sum));
    return {log2 * std::numbers::ln2, in_log2 + 4 * f32_rounding * (std::abs(most) + std::log2(sum) + std::abs(log2))};
  }
  // The same in the exponent of two, as a kernel computes it from the given one.
  Estimate given_log_sum(std::uint64_t row) const {
    if (!e_.row_terms.empty()) return {term(row, 0), 0};
    const double log2 = number(contract_.at(e_.log_sums), index_ * rows() + row) * std::numbers::log2e;
    return {log2, 2 * f32_rounding * std::abs(log2)};
  }
  // The sum of O * dO of a row.
  Estimate dot(std::uint64_t row) const {
    if (!e_.row_terms.empty()) return {term(row, 1), 0};
    const launch::Buffer &o = contract_.at(e_.o), &d_o = contract_.at(e_.d_o);
    const std::uint64_t columns = o.shape.back(), first = (index_ * rows() + row) * columns;
    double sum = 0, size = 0;
    for (std::uint64_t i = first; i < first + columns; ++i) {
      const double product = number(o, i) * number(d_o, i);
      sum += product, size += std::abs(product);
    }
    return {sum, f32_rounding * double(columns) * size};
  }

  // 2^(scale * log2(e) * score - log_sum): what each key weighs, in f32.
  Estimates weights() const {
    Estimates p(rows(), keys());
    for (std::uint64_t i = 0; i < rows(); ++i) {
      const Estimate log_sum = given_log_sum(i);
      for (std::uint64_t j = 0; j < end(i); ++j) {
        const double x = exponent(i, j) - log_sum.value;
        const double off =
            score_error(i, j) + log_sum.error + f32_rounding * (2 * std::abs(exponent(i, j)) + std::abs(x));
        const double weight = std::exp2(x);
        p.value.at[i * keys() + j] = weight;
        p.error.at[i * keys() + j] = weight * (std::exp(std::numbers::ln2 * off) * (1 + ex2_error) - 1) + f32_flushed;
      }
    }
    return p;
  }
  // Weights times how far dO * V^T is from a row's dot: the gradient of the scaled scores.
  Estimates score_gradients() const {
    Estimates s = weights();
    const launch::Buffer d_o = rows_of(contract_.at(e_.d_o));
    const Matrix products = multiply_transposed(values(d_o), values(part_.v));
    const Matrix sizes = multiply_transposed(magnitudes(d_o), magnitudes(part_.v));
    const Tolerance t = derive_tolerance(part_.v.dtype, ScalarType::f32, part_.v.shape[1], accumulation_);
    for (std::uint64_t i = 0; i < rows(); ++i) {
      const Estimate of_row = dot(i);
      for (std::uint64_t j = 0; j < end(i); ++j) {
        const std::size_t at = i * keys() + j;
        const double weight = s.value.at[at], off = s.error.at[at], left = products.at[at] - of_row.value;
        const double error = t.bound(products.at[at], sizes.at[at]) + of_row.error + f32_rounding * std::abs(left);
        s.value.at[at] = weight * left;
        s.error.at[at] = (weight + off) * error + off * std::abs(left) + f32_rounding * std::abs(weight * left);
      }
    }
    return s;
  }
  launch::Buffer d_o() const { return rows_of(contract_.at(e_.d_o)); }

 private:
  double exponent(std::uint64_t row, std::uint64_t key) const {
    return scale_ * std::numbers::log2e * scores_.at[row * keys() + key];
  }
  // Of the exponent.
  double score_error(std::uint64_t row, std::uint64_t key) const {
    const std::size_t at = row * keys() + key;
    return std::abs(scale_) * std::numbers::log2e * of_scores_.bound(scores_.at[at], sizes_.at[at]);
  }
  double term(std::uint64_t row, std::uint64_t which) const {
    const launch::Buffer& b = contract_.at(e_.row_terms);
    return number(b, (index_ * b.shape[b.shape.size() - 2] + row) * 2 + which);
  }
  // This head's rows of a buffer like O.
  launch::Buffer rows_of(const launch::Buffer& all) const {
    launch::Buffer one;
    one.name = all.name, one.dtype = all.dtype, one.shape = {rows(), all.shape.back()};
    const std::size_t bytes = one.size();
    const auto begin = all.bytes.begin() + std::ptrdiff_t(index_ * bytes);
    one.bytes.assign(begin, begin + std::ptrdiff_t(bytes));
    return one;
  }

  const launch::Contract& contract_;
  const launch::Expectation& e_;
  const AttentionPart& part_;
  std::uint64_t index_;
  double scale_;
  Accumulation accumulation_;
  Matrix scores_, sizes_;
  Tolerance of_scores_;
};

Matrix transposed(const Matrix& m) {
  Matrix out{m.columns, m.rows, std::vector<double>(m.at.size())};
  for (std::uint64_t i = 0; i < m.rows; ++i)
    for (std::uint64_t j = 0; j < m.columns; ++j) out.at[j * m.rows + i] = m.at[i * m.columns + j];
  return out;
}
void add(Matrix& to, const Matrix& from) {
  if (to.at.empty()) to = Matrix{from.rows, from.columns, std::vector<double>(from.at.size())};
  for (std::size_t i = 0; i < to.at.size(); ++i) to.at[i] += from.at[i];
}

// A gradient while its heads are added: sums of rounded factors times rows of an operand.
class Sums {
 public:
  // Adds factors^T * x, or factors * x.
  void add_product(const Estimates& factors, bool is_transposed, const launch::Buffer& x) {
    const Tolerance r = rounding_tolerance(x.dtype);
    Matrix w = factors.value, off = factors.error, size = factors.value;
    for (std::size_t i = 0; i < w.at.size(); ++i) {
      size.at[i] = std::abs(w.at[i]) + off.at[i];
      off.at[i] += r.of_result * size.at[i] + r.absolute;
      size.at[i] += off.at[i];
    }
    if (is_transposed) w = transposed(w), off = transposed(off), size = transposed(size);
    const Matrix columns = transposed(values(x)), sizes = transposed(magnitudes(x));
    add(value_, multiply_transposed(w, columns));
    add(error_, multiply_transposed(off, sizes));
    add(size_, multiply_transposed(size, sizes));
    products_ += w.columns;
    type_ = x.dtype;
  }
  // Appends the elements, times a factor, as an output of a type has them, and begins anew.
  void finish(double factor, ScalarType output, Accumulation accumulation, Composed& out) {
    const Tolerance t = derive_tolerance(type_, ScalarType::f32, products_, accumulation);
    const Tolerance rounding = rounding_tolerance(output);
    for (std::size_t i = 0; i < value_.at.size(); ++i) {
      const double value = factor * value_.at[i];
      double error = std::abs(factor) * (error_.at[i] + t.bound(value_.at[i], size_.at[i]));
      if (factor != 1) error += f32_rounding * (2 * std::abs(value) + error);
      out.value.at.push_back(value);
      out.bound.at.push_back(error * second_order + rounding.bound(std::abs(value) + error, 0));
    }
    *this = Sums();
  }

 private:
  Matrix value_{}, error_{}, size_{};
  std::uint64_t products_ = 0;
  ScalarType type_ = ScalarType::bf16;
};

void append(const Estimate& element, Composed& out) {
  out.value.at.push_back(element.value);
  out.bound.at.push_back(element.error * second_order);
}

std::string argument_of(const launch::Contract& contract, const launch::Expectation& e) {
  using enum AttentionResult;
  if (e.result == log_sums || e.result == row_terms) return "f32 arithmetic on sums of products";
  return fmt::format("{:.2g} for rounding what is multiplied to {}, exponents and products as in attention{}",
                     rounding_tolerance(contract.at(e.c).dtype).of_result, isa::spelling(contract.at(e.c).dtype),
                     rounding_tolerance(contract.at(e.output).dtype).argument);
}

}  // namespace

Composed attention_result_of(const launch::Contract& contract, const launch::Expectation& e,
                             Accumulation accumulation) {
  using enum AttentionResult;
  const launch::Buffer &q = contract.at(e.a), &k = contract.at(e.b), &output = contract.at(e.output);
  const double scale = e.scale != 0 ? e.scale : 1 / std::sqrt(double(q.shape.back()));
  const std::uint64_t sharing = q.shape.size() == 3 ? q.shape[0] / k.shape[0] : 1;
  Composed out;
  Sums sums;
  std::uint64_t index = 0;
  each_attention_part(contract, e, [&](const AttentionPart& part) {
    const Head head(contract, e, part, index++, scale, accumulation);
    switch (e.result) {
      case o: break;
      case log_sums:
        for (std::uint64_t i = 0; i < head.rows(); ++i) append(head.log_sum(i), out);
        break;
      case row_terms: {
        for (std::uint64_t i = 0; i < head.rows(); ++i) append(head.given_log_sum(i), out), append(head.dot(i), out);
        const std::uint64_t all = output.shape[output.shape.size() - 2];
        for (std::uint64_t i = head.rows(); i < all; ++i) append({launch::no_row, 0}, out), append({0, 0}, out);
        break;
      }
      case dq:
        sums.add_product(head.score_gradients(), false, part.k);
        sums.finish(scale, output.dtype, accumulation, out);
        break;
      case dk:
        sums.add_product(head.score_gradients(), true, part.q);
        if (index % sharing == 0) sums.finish(scale, output.dtype, accumulation, out);
        break;
      case dv:
        sums.add_product(head.weights(), true, head.d_o());
        if (index % sharing == 0) sums.finish(1, output.dtype, accumulation, out);
        break;
    }
  });
  out.value.columns = out.bound.columns = output.shape.back();
  out.value.rows = out.bound.rows = out.value.at.size() / output.shape.back();
  out.argument = argument_of(contract, e);
  return out;
}

}  // namespace kiln::harness
