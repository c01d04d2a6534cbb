#include "kernels/gemm.hpp"

#include <algorithm>
#include <array>

namespace kiln::kernels {
namespace {

constexpr std::array options{dsl::SizeOption{"m", 512, "rows of A and D"},
                             dsl::SizeOption{"n", 512, "rows of B, columns of D; a multiple of 8"},
                             dsl::SizeOption{"k", 512, "columns of A and B; a multiple of 8"},
                             dsl::SizeOption{"ctas", 148, "CTAs at most; a B200 has 148 multiprocessors"}};

constexpr std::uint64_t elements_per_16_bytes = 8;

void check_extent(std::string_view name, std::uint64_t value, bool is_row) {
  const std::string option = "--" + std::string(name) + " " + std::to_string(value) + ": ";
  if (value == 0 || value > (std::uint64_t{1} << 31)) throw diag::InputError(option + "must be in [1, 2^31]");
  if (is_row && value % elements_per_16_bytes != 0)
    throw diag::InputError(option + "must be a multiple of 8: TMA needs rows of a multiple of 16 bytes [tma-stride]");
}

launch::Buffer matrix(const char* name, std::uint64_t rows, std::uint64_t cols, launch::Init init) {
  launch::Buffer b;
  b.name = name;
  b.dtype = isa::ScalarType::bf16;
  b.shape = {rows, cols};
  b.init = std::move(init);
  return b;
}

}  // namespace

std::span<const dsl::SizeOption> gemm_options() { return std::span(options).first(3); }
std::span<const dsl::SizeOption> persistent_options() { return options; }

GemmSizes gemm_sizes(const dsl::Sizes& sizes) {
  const GemmSizes s{sizes.at("m"), sizes.at("n"), sizes.at("k")};
  check_extent("m", s.m, false);
  check_extent("n", s.n, true);
  check_extent("k", s.k, true);
  return s;
}

launch::Contract gemm_buffers(const GemmSizes& s) {
  launch::Contract c;
  const auto normal = [](std::uint64_t seed) {
    launch::Init init;
    init.kind = launch::Init::Kind::normal;
    init.seed = seed;
    return init;
  };
  c.buffers = {matrix("A", s.m, s.k, normal(1)), matrix("B", s.n, s.k, normal(2)), matrix("D", s.m, s.n, {})};
  launch::Expectation product;
  product.output = "D";
  product.a = "A";
  product.b = "B";
  c.expectations.push_back(product);
  return c;
}

launch::Dim3 gemm_grid(const GemmSizes& s, std::uint64_t tile_m, std::uint64_t tile_n) {
  const std::uint64_t x = (s.m + tile_m - 1) / tile_m, y = (s.n + tile_n - 1) / tile_n;
  if (y > 65535)
    throw diag::InputError("--n " + std::to_string(s.n) + ": needs " + std::to_string(y) +
                           " tiles along y; a grid has at most 65535");
  return {std::uint32_t(x), std::uint32_t(y), 1};
}

launch::Dim3 persistent_grid(const dsl::Sizes& sizes, std::uint64_t tile_m, std::uint64_t tile_n, std::uint64_t group) {
  const GemmSizes s = gemm_sizes(sizes);
  const std::uint64_t ctas = sizes.at("ctas"), tiles = (s.m + tile_m - 1) / tile_m * ((s.n + tile_n - 1) / tile_n);
  if (ctas < group)
    throw diag::InputError("--ctas " + std::to_string(ctas) + ": " + std::to_string(group) + " CTAs share a tile");
  return {std::uint32_t(std::min(tiles, ctas / group) * group), 1, 1};
}

}  // namespace kiln::kernels
