// What the kernels compute, once more and independently: plain loops in double precision.
#include <cmath>
#include <stdexcept>

#include "harness/problem/element.hpp"
#include "tests/interop/interop.hpp"

namespace kiln::test::interop {
namespace {

using launch::Buffer;
using launch::Contract;

double at(const Buffer& b, std::uint64_t index) {
  return harness::element_value(b.dtype, harness::load_element(b.bytes, b.dtype, index));
}
std::vector<double> all(const Contract& c, const std::string& name) {
  const Buffer& b = *c.find(name);
  std::vector<double> values(b.elements());
  for (std::uint64_t i = 0; i < values.size(); ++i) values[i] = at(b, i);
  return values;
}

// A matrix times its scales, each for `vector` elements of a row. A chunk of 512 scales is 32 x 4 x 4: row % 32,
// row / 32 % 4, scale % 4; chunks follow each other along K, then along the rows.
std::vector<double> scaled(const Contract& c, const std::string& matrix, const std::string& scales, unsigned vector) {
  const Buffer& m = *c.find(matrix);
  const std::uint64_t rows = m.shape[0], columns = m.shape[1], chunks = c.find(scales)->shape[1];
  std::vector<double> out = all(c, matrix);
  const std::vector<double> factors = all(c, scales);
  for (std::uint64_t row = 0; row < rows; ++row)
    for (std::uint64_t k = 0; k < columns; ++k) {
      const std::uint64_t scale = k / vector, chunk = row / 128 * chunks + scale / 4;
      out[row * columns + k] *= factors[chunk * 512 + row % 32 * 16 + row % 128 / 32 * 4 + scale % 4];
    }
  return out;
}

bool is_close(double got, double want, double bound) { return std::abs(got - want) <= bound; }  // false for NaN

std::uint64_t wrong_in_scaled_gemm(const Contract& c, unsigned vector) {
  const std::vector<double> a = scaled(c, "A", "SFA", vector), b = scaled(c, "B", "SFB", vector), d = all(c, "D");
  const std::uint64_t m = c.find("D")->shape[0], n = c.find("D")->shape[1], depth = c.find("A")->shape[1];
  std::uint64_t wrong = 0;
  for (std::uint64_t row = 0; row < m; ++row)
    for (std::uint64_t column = 0; column < n; ++column) {
      double sum = 0, size = 0;
      for (std::uint64_t k = 0; k < depth; ++k) {
        const double product = a[row * depth + k] * b[column * depth + k];
        sum += product;
        size += std::abs(product);
      }
      // 20 MMAs, each cutting at most 65 terms at 2^-25 of the greatest.
      wrong += !is_close(d[row * n + column], sum, 20 * 65 * std::ldexp(size, -25));
    }
  return wrong;
}

std::uint64_t wrong_in_attention(const Contract& c) {
  const std::vector<double> q = all(c, "Q"), k = all(c, "K"), v = all(c, "V"), o = all(c, "O");
  const std::uint64_t depth = 64, queries = c.find("Q")->shape[0], keys = c.find("K")->shape[0];
  std::uint64_t wrong = 0;
  std::vector<double> weights(keys), value(depth), size(depth);
  for (std::uint64_t row = 0; row < queries; ++row) {
    double total = 0;
    value.assign(depth, 0), size.assign(depth, 0);
    for (std::uint64_t key = 0; key < keys; ++key) {
      double score = 0;
      for (std::uint64_t i = 0; i < depth; ++i) score += q[row * depth + i] * k[key * depth + i];
      weights[key] = std::exp(score / 8);  // the root of the depth
      total += weights[key];
    }
    for (std::uint64_t key = 0; key < keys; ++key)
      for (std::uint64_t i = 0; i < depth; ++i) {
        const double part = weights[key] / total * v[key * depth + i];
        value[i] += part;
        size[i] += std::abs(part);
      }
    // bf16 weights are off by 2^-9 at most; scores and sums are f32.
    for (std::uint64_t i = 0; i < depth; ++i)
      wrong += !is_close(o[row * depth + i], value[i], std::ldexp(size[i], -9) * (1 + 1.0 / 64));
  }
  return wrong;
}

}  // namespace

std::uint64_t wrong_elements(const Kernel& kernel, const Contract& contract) {
  if (kernel.name == "gemm_mxf8") return wrong_in_scaled_gemm(contract, 32);
  if (kernel.name == "gemm_nvf4") return wrong_in_scaled_gemm(contract, 16);
  if (kernel.name == "attention_chain") return wrong_in_attention(contract);
  throw std::runtime_error(kernel.name + " has neither an expectation nor a reference");
}

}  // namespace kiln::test::interop
