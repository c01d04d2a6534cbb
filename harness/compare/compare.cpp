#include "harness/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "harness/compare/composed.hpp"
#include "harness/compare/quantised.hpp"
#include "harness/compare/reference.hpp"
#include "harness/compare/sample.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/parts.hpp"
#include "launch/operands.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/num/format.hpp"

namespace kiln::harness {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Expectation;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double f16_overflow = 65520;  // the least number that rounds to infinity

// What an element must be.
struct Wanted {
  double value = 0, bound = 0;
  ScalarType accumulate = ScalarType::f32;
  bool overflows = false;  // a partial sum may have, in some order of k
};

// What a number becomes on its way through the accumulator to the output.
double rounded(ScalarType type, ScalarType accumulate, double value) {
  if (accumulate == ScalarType::f16) value = element_value(accumulate, num::encode(accumulate, value));
  return element_value(type, num::encode(type, value));
}

// How far an element is from right, in units where up to 1 is right.
double judge(ScalarType type, std::uint64_t word, const Wanted& want) {
  const double got = element_value(type, word);
  if (std::isnan(got) || std::isnan(want.value)) return std::isnan(got) && std::isnan(want.value) ? 0 : infinity;
  if (got == want.value || (std::isinf(got) && want.overflows)) return 0;
  // A sum beyond the output type's range is right when it became what rounding makes of it.
  if (isa::is_floating(type) && got == rounded(type, want.accumulate, want.value)) return 0;
  const double error = std::abs(got - want.value);
  return want.bound > 0 ? error / want.bound : infinity;
}

std::vector<std::uint64_t> position(std::uint64_t index, const std::vector<std::uint64_t>& shape) {
  std::vector<std::uint64_t> at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0; index /= shape[i]) at[i] = index % shape[i];
  return at;
}

// Takes one element into account.
void add(Comparison& c, const Buffer& out, std::uint64_t index, const Wanted& want, double& worst) {
  const std::uint64_t word = load_element(out.bytes, out.dtype, index);
  const double got = element_value(out.dtype, word), error = std::abs(got - want.value);
  const double ratio = judge(out.dtype, word, want);
  if (error > c.max_error) c.max_error = error;
  if (!(ratio <= 1)) ++c.wrong;
  if (index != 0 && !(ratio > worst)) return;
  worst = ratio;
  c.worst = {index};
  c.got = got, c.want = want.value, c.error = error, c.bound = want.bound;
}

Deviation deviation(const std::vector<double>& got, const std::vector<double>& want) {
  Deviation d;
  double errors = 0, squares = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - want[i]);
    if (!std::isfinite(error)) continue;
    d.largest = std::max(d.largest, error);
    errors += error * error, squares += want[i] * want[i];
  }
  if (errors > 0) d.relative = squares > 0 ? std::sqrt(errors / squares) : infinity;
  return d;
}

// The product before quantisation, if there was one: an operand that was not quantised is what it is.
std::optional<Matrix> exact_product(const GemmProblem& p) {
  const Buffer &a = *p.a.elements, &b = *p.b.elements;
  if (a.exact.empty() && b.exact.empty()) return std::nullopt;
  const auto operand = [&](const Buffer& buffer, std::uint64_t rows, auto as_it_is) {
    return buffer.exact.empty() ? as_it_is(p).values : Matrix{rows, p.k(), buffer.exact};
  };
  Matrix product = multiply_transposed(operand(a, p.rows(), operand_a), operand(b, p.columns(), operand_b));
  for (const Buffer* f : p.factors) {
    const auto undoes = [f](const Buffer& x) { return x.init.quantised && x.init.quantised->global == f->name; };
    if (undoes(a) || undoes(b)) continue;
    for (double& x : product.at) x *= element_value(f->dtype, load_element(f->bytes, f->dtype, 0));
  }
  for (std::uint64_t i = 0; i < product.at.size(); ++i)
    product.at[i] = after_epilogue(p.epilogue, {product.at[i], 0}, i / p.columns(), i % p.columns()).value;
  return product;
}

void separate_errors(Comparison& c, const GemmProblem& p, const std::vector<Estimate>& want) {
  const std::optional<Matrix> exact = exact_product(p);
  if (!exact) return;
  std::vector<double> got(c.elements), expected(c.elements);
  for (std::uint64_t i = 0; i < c.elements; ++i) {
    got[i] = element_value(p.d->dtype, load_element(p.d->bytes, p.d->dtype, i));
    expected[i] = want[i].value;
  }
  c.kernel = deviation(got, expected);
  c.quantisation = deviation(expected, exact->at);
}

// What each element must be and by how much it may be off, when a tolerance of the sums is given.
std::vector<Estimate> estimates(const GemmProblem& p, const Product& product, const Tolerance& t) {
  const Tolerance stored = rounding_tolerance(p.d->dtype);
  std::vector<Estimate> out(product.value.at.size());
  for (std::uint64_t i = 0; i < out.size(); ++i) {
    const double sum = product.value.at[i];
    out[i] = {sum, t.bound(sum, product.scale.at[i])};
    if (p.epilogue.has_steps()) out[i] = after_epilogue(p.epilogue, out[i], i / p.columns(), i % p.columns());
    if (!p.has_steps() || p.d_scales) continue;
    out[i].error = stored.bound(out[i].value, out[i].error);
  }
  return out;
}

// The same from an explicit rtol.
Tolerance set_relative(std::vector<Estimate>& want, const Expectation& e) {
  double squares = 0;
  for (const Estimate& x : want) squares += x.value * x.value;
  const double typical = want.empty() ? 0 : std::sqrt(squares / double(want.size()));
  for (Estimate& x : want) x.error = e.rtol * std::max(std::abs(x.value), typical);
  Tolerance t;
  t.argument = fmt::format("rtol {} of the larger of |D| and the root mean square of D, {:.4g}", e.rtol, typical);
  return t;
}

// The bound of a gemm's sums, and of what becomes of them.
Tolerance tolerance_of(const GemmProblem& p, Accumulation accumulation) {
  Tolerance t = derive_tolerance(p.arithmetic(), accumulation);
  if (p.norm > 0) add_norm(t, p.k());
  t.argument += epilogue_argument(p.epilogue);
  if (p.d_scales)
    t.argument += "; then quantised as the contract's operands are";
  else if (p.has_steps())
    t.argument += rounding_tolerance(p.d->dtype).argument;
  return t;
}

// The estimates of a gemm whose D is quantised, and where its scales lie.
struct QuantisedProduct {
  GemmProblem problem;
  Tolerance tolerance;
  std::vector<Estimate> want;

  QuantisedProduct(const Contract& contract, const Expectation& e, Accumulation accumulation)
      : problem(gemm_problem(contract, e)),
        tolerance(tolerance_of(problem, accumulation)),
        want(estimates(problem, product_of(problem), tolerance)) {}

  std::uint64_t blocks() const { return want.size() / problem.d_block(); }
  std::uint64_t scale_index(std::uint64_t block) const {
    const std::uint64_t in_row = problem.columns() / problem.d_block();
    return isa::scale_index(block / in_row, block % in_row, problem.d_scales->shape[1]);
  }
  double scale(std::uint64_t block) const {
    const Buffer& s = *problem.d_scales;
    return element_value(s.dtype, load_element(s.bytes, s.dtype, scale_index(block)));
  }
  std::span<const Estimate> of_block(std::uint64_t block) const {
    return std::span(want).subspan(block * problem.d_block(), problem.d_block());
  }
};

// Takes one output into account that is one of some numbers, of which `error` says how far it is off.
void add(Comparison& c, std::uint64_t index, double got, double error, const Allowed& allowed, double& worst) {
  if (error > c.max_error) c.max_error = error;
  const bool wrong = !allowed.has(got);
  if (wrong) ++c.wrong;
  const double distance = std::abs(got - allowed.value), bound = allowed.bound();
  const double ratio = wrong ? infinity : bound > 0 ? distance / bound : 0;
  if (index != 0 && !(ratio > worst)) return;
  worst = ratio;
  c.worst = {index};
  c.got = got, c.want = allowed.value, c.error = distance, c.bound = bound;
}

// How each of some elements is judged: what came out, what was to come out, and what may.
struct Judged {
  double got = 0, want = 0;
  Allowed allowed;
};
// `judge`: of an element of a quantised product; `place`: where it lies in a buffer of that shape.
template <class Judge, class Place>
Comparison compare_each(const Expectation& e, const QuantisedProduct& product, std::uint64_t elements,
                        const Judge& judge, const Place& place, const std::vector<std::uint64_t>& shape) {
  Comparison c;
  c.expectation = e;
  c.elements = elements;
  c.argument = product.tolerance.argument;
  double worst = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const Judged j = judge(i);
    add(c, i, j.got, std::abs(j.got - j.want), j.allowed, worst);
  }
  if (!c.worst.empty()) c.worst = position(place(c.worst[0]), shape);
  c.pass = c.wrong == 0;
  return c;
}

// D is right where each element is what rounding makes of a number that the sum may be, under the scale that is there.
Comparison compare_quantised(const Contract& contract, const Expectation& e, Accumulation accumulation) {
  const QuantisedProduct product(contract, e, accumulation);
  const Buffer& d = *product.problem.d;
  const auto judge = [&](std::uint64_t i) -> Judged {
    const double scale = product.scale(i / product.problem.d_block());
    const double got = element_value(d.dtype, load_element(d.bytes, d.dtype, i)) * scale;
    return {got, product.want[i].value, allowed_element(d.dtype, product.want[i], scale)};
  };
  return compare_each(e, product, d.elements(), judge, [](std::uint64_t i) { return i; }, d.shape);
}

Comparison compare_scales(const Contract& contract, const Expectation& e, Accumulation accumulation) {
  const auto gemm = std::find_if(contract.expectations.begin(), contract.expectations.end(), [&](const Expectation& x) {
    return x.kind == Expectation::Kind::gemm && x.output == e.a && x.sfd == e.output;
  });
  if (gemm == contract.expectations.end())
    diag::refuse("{} is to hold the scales of {}: a gemm of {} must have \"sfd\": \"{}\"", e.output, e.a, e.a,
                 e.output);
  const QuantisedProduct product(contract, *gemm, accumulation);
  const Buffer& scales = *product.problem.d_scales;
  const auto judge = [&](std::uint64_t i) -> Judged {
    const Allowed allowed = allowed_scale(scales.dtype, product.problem.d->dtype, product.of_block(i));
    return {product.scale(i), allowed.value, allowed};
  };
  const auto place = [&](std::uint64_t i) { return product.scale_index(i); };
  return compare_each(e, product, product.blocks(), judge, place, scales.shape);
}

Comparison compare_product(const Contract& contract, const Expectation& e, Accumulation accumulation) {
  const GemmProblem p = gemm_problem(contract, e);
  if (p.d_scales) return compare_quantised(contract, e, accumulation);
  const Product product = product_of(p);
  Tolerance t = tolerance_of(p, accumulation);
  std::vector<Estimate> want = estimates(p, product, t);
  if (e.rtol > 0) t = set_relative(want, e);
  const ScalarType accumulate = p.has_steps() ? ScalarType::f32 : p.accumulate;
  Comparison c;
  c.expectation = e;
  c.elements = p.d->elements();
  c.argument = t.argument;
  double worst = 0;
  for (std::uint64_t i = 0; i < c.elements; ++i) {
    const double scale = product.scale.at[i];
    const bool overflows = p.accumulate == ScalarType::f16 && scale + want[i].error >= f16_overflow;
    add(c, *p.d, i, {want[i].value, want[i].error, accumulate, overflows}, worst);
    const double error = std::abs(element_value(p.d->dtype, load_element(p.d->bytes, p.d->dtype, i)) - want[i].value);
    if (scale > 0 && error > c.max_scaled_error * scale) c.max_scaled_error = error / scale;
  }
  if (!c.worst.empty()) c.worst = position(c.worst[0], p.d->shape);
  c.pass = c.wrong == 0;
  separate_errors(c, p, want);
  return c;
}

Comparison compare_convolution(const Contract& contract, const Expectation& e, Accumulation accumulation) {
  const Contract gemm = gemm_of_convolution(contract, e);
  Comparison c = compare_product(gemm, gemm.expectations[0], accumulation);
  c.expectation = e;
  return c;
}

Comparison compare_composed(const Contract& contract, const Expectation& e, const Composed& expected) {
  const Buffer& out = contract.at(e.output);
  Comparison c;
  c.expectation = e;
  c.elements = out.elements();
  std::vector<Estimate> want(c.elements);
  for (std::uint64_t i = 0; i < c.elements; ++i) want[i] = {expected.value.at[i], expected.bound.at[i]};
  c.argument = e.rtol > 0 ? set_relative(want, e).argument : expected.argument;
  double worst = 0;
  for (std::uint64_t i = 0; i < c.elements; ++i) add(c, out, i, {want[i].value, want[i].error}, worst);
  if (!c.worst.empty()) c.worst = position(c.worst[0], out.shape);
  c.pass = c.wrong == 0;
  return c;
}

// Whether an element is further off than another, measured by what is allowed.
bool is_worse(const Comparison& a, const Comparison& b) {
  const auto ratio = [](const Comparison& c) {
    if (std::isnan(c.error)) return infinity;
    return c.bound > 0 ? c.error / c.bound : c.error > 0 ? infinity : 0;
  };
  return ratio(a) > ratio(b);
}

// Matrices one by one; `one` compares the i-th, and says where its worst element is.
template <class One>
Comparison compare_each(std::uint64_t matrices, const One& compare_one) {
  Comparison all;
  for (std::uint64_t i = 0; i < matrices; ++i) {
    const Comparison one = compare_one(i);
    const bool is_worst = i == 0 || is_worse(one, all);
    const std::uint64_t elements = all.elements + one.elements, wrong = all.wrong + one.wrong;
    const double error = std::max(all.max_error, one.max_error);
    const double scaled = std::max(all.max_scaled_error, one.max_scaled_error);
    if (is_worst) all = one;
    all.elements = elements, all.wrong = wrong, all.max_error = error, all.max_scaled_error = scaled;
  }
  all.pass = all.wrong == 0;
  return all;
}

Comparison compare_batch(const Contract& contract, const Expectation& e, std::uint64_t matrices,
                         Accumulation accumulation) {
  return compare_each(matrices, [&](std::uint64_t i) {
    Comparison one = compare_product(matrix_of_batch(contract, e, i), e, accumulation);
    if (!one.worst.empty()) one.worst.insert(one.worst.begin(), i);
    return one;
  });
}

// A group that has no rows has nothing to compare.
Comparison compare_groups(const Contract& contract, const Expectation& e, Accumulation accumulation) {
  const std::vector<RowGroup> groups = row_groups(contract, e);
  return compare_each(groups.size(), [&](std::uint64_t i) {
    Comparison one = compare_product(matrices_of_group(contract, e, groups[i]), e, accumulation);
    if (!one.worst.empty())
      one.worst = place_in_groups(contract.at(e.output), one.worst[0] + groups[i].first, one.worst[1]);
    one.expectation = e;
    return one;
  });
}

// The bytes that a copy must leave: a's rows, each after its zeros.
std::vector<std::uint8_t> expected_copy(const Buffer& from, const Buffer& to, std::uint64_t zeros_before) {
  if (zeros_before == 0) return from.bytes;
  const std::uint64_t rows = from.shape.front(), row = from.size() / rows, out_row = to.size() / rows;
  std::vector<std::uint8_t> want(to.size());
  for (std::uint64_t r = 0; r < rows; ++r)
    std::copy_n(from.bytes.begin() + long(r * row), row, want.begin() + long((r + 1) * out_row - row));
  return want;
}

Comparison compare_copy(const Contract& contract, const Expectation& e) {
  const Buffer &from = contract.at(e.a), &to = contract.at(e.output);
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

// A gemm of which some elements can be compared: without a norm, whose rows of A count as a whole, and scales of D; of
// batches and groups without scales, and without those of whole tiles of B.
bool can_be_sampled(const Contract& contract, const Expectation& e) {
  if (e.kind != Expectation::Kind::gemm || e.norm > 0 || !e.sfd.empty()) return false;
  if (e.sfa.empty()) return true;
  return contract.at(e.output).shape.size() == 2 && !has_groups(e) && e.block != promoted_block;
}

}  // namespace

void check_copy(const Buffer& from, const Buffer& to, std::uint64_t zeros_before) {
  const auto refuse = [&](const std::string& why) {
    diag::refuse("{} cannot be a copy of {}: {}", to.name, from.name, why);
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

Comparison compare(const Contract& contract, const Expectation& e, Accumulation accumulation) {
  switch (e.kind) {
    case Expectation::Kind::gemm:
      if (has_groups(e)) return compare_groups(contract, e, accumulation);
      if (const auto matrices = batch_size(contract, e)) return compare_batch(contract, e, *matrices, accumulation);
      return compare_product(contract, e, accumulation);
    case Expectation::Kind::copy: return compare_copy(contract, e);
    case Expectation::Kind::attention: {
      const auto result_of = e.result == launch::AttentionResult::o ? attention_of : attention_result_of;
      return compare_composed(contract, e, result_of(contract, e, accumulation));
    }
    case Expectation::Kind::convolution: return compare_convolution(contract, e, accumulation);
    case Expectation::Kind::swiglu: return compare_composed(contract, e, swiglu_of(contract, e, accumulation));
    case Expectation::Kind::scales: return compare_scales(contract, e, accumulation);
    case Expectation::Kind::absmax: return compare_composed(contract, e, absmax_of(contract, e, accumulation));
  }
  throw diag::InternalError("an expectation of no kind");
}

Comparison compare_sample(const Contract& contract, const Expectation& e, const Sample& sample,
                          Accumulation accumulation) {
  const Buffer& d = contract.at(e.output);
  if (!can_be_sampled(contract, e) || d.elements() <= sample.elements) return compare(contract, e, accumulation);
  const std::vector<SampleBlock> blocks = choose_blocks(contract, e, sample.elements, sample.seed);
  Comparison all = compare_each(blocks.size(), [&](std::uint64_t i) {
    const Contract part = gemm_of_block(contract, e, blocks[i]);
    Comparison one = compare_product(part, part.expectations[0], accumulation);
    if (one.worst.empty()) return one;
    const std::uint64_t row = blocks[i].rows[one.worst[0]], column = blocks[i].columns[one.worst[1]];
    one.worst = has_groups(e) ? place_in_groups(d, row, column) : std::vector<std::uint64_t>{row, column};
    if (!has_groups(e) && d.shape.size() == 3) one.worst.insert(one.worst.begin(), blocks[i].matrix);
    return one;
  });
  all.expectation = e;
  all.whole = d.elements();
  return all;
}

}  // namespace kiln::harness
