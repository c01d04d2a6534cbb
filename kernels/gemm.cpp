#include "kernels/gemm.hpp"

#include <algorithm>
#include <array>

namespace kiln::kernels {
namespace {

constexpr std::array options{
    dsl::SizeOption{"m", 512, "rows of A and D"}, dsl::SizeOption{"n", 512, "rows of B, columns of D; a multiple of 8"},
    dsl::SizeOption{"k", 512, "columns of A and B; a multiple of 8"}, dsl::SizeOption{"ctas", 148, "CTAs at most"}};

// Numbers that a type holds well: a normal distribution, or small integers.
launch::Init numbers(isa::ScalarType type, std::uint64_t seed) {
  launch::Init init;
  init.kind = isa::is_floating(type) ? launch::Init::Kind::normal : launch::Init::Kind::integers;
  if (!isa::is_floating(type)) init.low = isa::is_signed(type) ? -8 : 0, init.high = 8;
  init.seed = seed;
  return init;
}

launch::Buffer buffer(const char* name, isa::ScalarType type, std::vector<std::uint64_t> shape,
                      std::optional<std::uint64_t> seed) {
  launch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.shape = std::move(shape);
  if (seed) b.init = numbers(type, *seed);
  return b;
}

launch::Buffer vector(const char* name, std::uint64_t elements, std::uint64_t seed) {
  return buffer(name, isa::ScalarType::f32, {elements}, seed);
}

}  // namespace

std::span<const dsl::SizeOption> gemm_options() { return std::span(options).first(3); }
std::span<const dsl::SizeOption> persistent_options() { return options; }

void check_extent(std::string_view name, std::uint64_t value, std::uint64_t multiple) {
  const std::string option = "--" + std::string(name) + " " + std::to_string(value) + ": ";
  if (value == 0 || value > (std::uint64_t{1} << 31)) throw diag::InputError(option + "must be in [1, 2^31]");
  if (value % multiple != 0)
    throw diag::InputError(option + "must be a multiple of " + std::to_string(multiple) +
                           ": TMA needs whole rows [tma-stride]");
}

GemmSizes gemm_sizes(const dsl::Sizes& sizes, std::uint64_t k_multiple, std::uint64_t m_multiple,
                     std::uint64_t n_multiple) {
  const GemmSizes s{sizes.at("m"), sizes.at("n"), sizes.at("k")};
  check_extent("m", s.m, m_multiple);
  check_extent("n", s.n, std::max<std::uint64_t>(8, n_multiple));
  check_extent("k", s.k, k_multiple);
  return s;
}

launch::Buffer matrix(const char* name, isa::ScalarType type, std::uint64_t rows, std::uint64_t cols,
                      std::optional<std::uint64_t> seed) {
  return buffer(name, type, {rows, cols}, seed);
}

launch::Contract gemm_buffers(const GemmSizes& s, isa::ScalarType a, isa::ScalarType b, isa::ScalarType d) {
  launch::Contract c;
  c.buffers = {matrix("A", a, s.m, s.k, 1), matrix("B", b, s.n, s.k, 2), matrix("D", d, s.m, s.n)};
  launch::Expectation product;
  product.output = "D";
  product.a = "A";
  product.b = "B";
  c.expectations.push_back(product);
  return c;
}

void store_transposed(launch::Contract& c, const std::string& operand) {
  launch::Expectation& product = c.expectations.front();
  (operand == product.a ? product.a_transposed : product.b_transposed) = true;
  std::vector<std::uint64_t>& shape = c.at(operand).shape;
  std::swap(shape[0], shape[1]);
}

void make_batch(launch::Contract& c, std::uint64_t matrices) {
  if (matrices == 0 || matrices > 65536)
    throw diag::InputError("--batch " + std::to_string(matrices) + ": must be in [1, 65536]");
  for (launch::Buffer& b : c.buffers) b.shape.insert(b.shape.begin(), matrices);
}

launch::TensorMap batched_map(launch::TensorMap one, std::uint64_t matrices) {
  one.rank = 3;
  one.dims[2] = matrices;
  one.strides[2] = one.strides[1] * one.dims[1];
  one.box[2] = 1;
  return one;
}

void add_bias(launch::Contract& c, const GemmSizes& s, launch::Activation activation) {
  c.buffers.push_back(vector("bias", s.n, 3));
  c.expectations.front().bias = "bias";
  c.expectations.front().activation = activation;
}

void add_alpha_beta(launch::Contract& c, const GemmSizes& s, isa::ScalarType type) {
  c.buffers.push_back(vector("alpha", 1, 3));
  c.buffers.push_back(vector("beta", 1, 4));
  c.buffers.push_back(matrix("C", type, s.m, s.n, 5));
  launch::Expectation& product = c.expectations.front();
  product.factors = {"alpha"};
  product.beta = "beta";
  product.c = "C";
}

void add_maxima(launch::Contract& c, const GemmSizes& s, std::uint32_t block) {
  c.buffers.push_back(matrix("S", isa::ScalarType::f32, s.m, pieces(s.n, block)));
  launch::Expectation maxima;
  maxima.kind = launch::Expectation::Kind::absmax;
  maxima.output = "S";
  maxima.a = "A";
  maxima.b = "B";
  maxima.block = block;
  c.expectations.push_back(maxima);
}

launch::Buffer& add_workspace(launch::Contract& c, const char* name, isa::ScalarType type, std::uint64_t elements,
                              launch::Init::Kind content) {
  c.buffers.push_back(buffer(name, type, {elements}, {}));
  c.buffers.back().init.kind = content;
  return c.buffers.back();
}

launch::Dim3 gemm_grid(const GemmSizes& s, std::uint64_t tile_m, std::uint64_t tile_n) {
  const std::uint64_t x = pieces(s.m, tile_m), y = pieces(s.n, tile_n);
  if (y > 65535)
    throw diag::InputError("--n " + std::to_string(s.n) + ": needs " + std::to_string(y) +
                           " tiles along y; a grid has at most 65535");
  return {std::uint32_t(x), std::uint32_t(y), 1};
}

launch::Dim3 persistent_grid(const dsl::Sizes& sizes, std::uint64_t tiles, std::uint64_t group) {
  const std::uint64_t ctas = sizes.at("ctas");
  if (ctas < group)
    throw diag::InputError("--ctas " + std::to_string(ctas) + ": a tile takes " + std::to_string(group));
  return {std::uint32_t(std::min(tiles, ctas / group) * group), 1, 1};
}

launch::Dim3 persistent_grid(const dsl::Sizes& sizes, std::uint64_t tile_m, std::uint64_t tile_n, std::uint64_t group) {
  return persistent_grid(sizes, pieces(sizes.at("m"), tile_m) * pieces(sizes.at("n"), tile_n), group);
}

}  // namespace kiln::kernels
