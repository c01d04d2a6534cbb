// The product is a panel-packed, register-blocked loop; vector types of the compiler stand in for intrinsics, and on
// x86 the same code is compiled once more for AVX2.
#include "harness/compare/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "harness/problem/element.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/num/format.hpp"

namespace kiln::harness {
namespace {

constexpr std::size_t block_rows = 4, block_columns = 8;
constexpr std::size_t max_threads = 16;

typedef double Lanes __attribute__((vector_size(32)));
typedef double LooseLanes __attribute__((vector_size(32), aligned(8), may_alias));  // anywhere in an array of doubles
constexpr std::size_t lane_count = sizeof(Lanes) / sizeof(double);
constexpr std::size_t vectors = block_columns / lane_count;

// Rows of a packed panel: for each k, one element of each of `width` matrix rows; missing rows are zero.
std::vector<double> pack(const Matrix& m, std::size_t width) {
  const std::size_t panels = (m.rows + width - 1) / width;
  std::vector<double> out(panels * width * m.columns, 0.0);
  for (std::size_t r = 0; r < m.rows; ++r)
    for (std::size_t k = 0; k < m.columns; ++k)
      out[(r / width * m.columns + k) * width + r % width] = m.at[r * m.columns + k];
  return out;
}

// The sums are variables of their own: as an array g++ keeps them in memory.
__attribute__((always_inline)) inline void multiply_block(const double* a, const double* b, std::size_t depth,
                                                          double* out) {
  static_assert(block_rows == 4 && vectors == 2);
  Lanes s00{}, s01{}, s10{}, s11{}, s20{}, s21{}, s30{}, s31{};
  for (std::size_t k = 0; k < depth; ++k, a += block_rows, b += block_columns) {
    const Lanes left = *reinterpret_cast<const LooseLanes*>(b);
    const Lanes right = *reinterpret_cast<const LooseLanes*>(b + lane_count);
    s00 += a[0] * left, s01 += a[0] * right;
    s10 += a[1] * left, s11 += a[1] * right;
    s20 += a[2] * left, s21 += a[2] * right;
    s30 += a[3] * left, s31 += a[3] * right;
  }
  LooseLanes* to = reinterpret_cast<LooseLanes*>(out);  // spelled out: `auto` would lose the alignment
  to[0] = s00, to[1] = s01, to[2] = s10, to[3] = s11;
  to[4] = s20, to[5] = s21, to[6] = s30, to[7] = s31;
}

using Block = void (*)(const double*, const double*, std::size_t, double*);

void block_portable(const double* a, const double* b, std::size_t depth, double* out) {
  multiply_block(a, b, depth, out);
}

#if defined(__x86_64__)
// No fma here: results must not depend on the processor.
__attribute__((target("avx2"))) void block_avx2(const double* a, const double* b, std::size_t depth, double* out) {
  multiply_block(a, b, depth, out);
}
Block best_block() { return __builtin_cpu_supports("avx2") ? block_avx2 : block_portable; }
#else
Block best_block() { return block_portable; }
#endif

struct Work {
  const std::vector<double>&a, &b;
  std::size_t depth;
  Matrix& out;
};

void multiply_panel(const Work& w, Block block, std::size_t row) {
  double sums[block_rows * block_columns];
  const std::size_t rows = std::min(block_rows, w.out.rows - row);
  for (std::size_t column = 0; column < w.out.columns; column += block_columns) {
    block(&w.a[row * w.depth], &w.b[column * w.depth], w.depth, sums);
    const std::size_t columns = std::min(block_columns, w.out.columns - column);
    for (std::size_t r = 0; r < rows; ++r)
      std::copy_n(&sums[r * block_columns], columns, &w.out.at[(row + r) * w.out.columns + column]);
  }
}

void check_matrix(const launch::Buffer& b) {
  if (b.shape.size() != 2)
    throw diag::InputError(fmt::format("buffer {}: a matrix has 2 extents, this has {}", b.name, b.shape.size()));
  if (!is_addressable(b.dtype) || isa::type_class(b.dtype) == isa::TypeClass::untyped)
    throw diag::InputError(fmt::format("buffer {}: {} is no type of numbers", b.name, isa::spelling(b.dtype)));
}

template <class Map>
Matrix read_matrix(const launch::Buffer& b, Map map) {
  check_matrix(b);
  Matrix m{b.shape[0], b.shape[1], std::vector<double>(b.elements())};
  for (std::uint64_t i = 0; i < m.at.size(); ++i) m.at[i] = map(b.dtype, load_element(b.bytes, b.dtype, i));
  return m;
}

}  // namespace

Matrix values(const launch::Buffer& b) { return read_matrix(b, element_value); }

double magnitude(isa::ScalarType type, std::uint64_t word) {
  const double x = element_value(type, word);
  if (!isa::is_floating(type) || x == 0) return std::abs(x);
  return std::max(std::abs(x), std::ldexp(1, num::format_of(type).emin()));
}

Matrix magnitudes(const launch::Buffer& b) {
  return read_matrix(b, [](isa::ScalarType type, std::uint64_t word) { return magnitude(type, word); });
}

Matrix multiply_transposed(const Matrix& a, const Matrix& b) {
  Matrix out{a.rows, b.rows, std::vector<double>(a.rows * b.rows, 0.0)};
  if (out.at.empty() || a.columns == 0) return out;
  const std::vector<double> rows = pack(a, block_rows), columns = pack(b, block_columns);
  const Work work{rows, columns, a.columns, out};
  const std::size_t panels = (a.rows + block_rows - 1) / block_rows;
  const std::size_t count =
      std::min({panels, max_threads, std::size_t(std::max(1u, std::thread::hardware_concurrency()))});
  const Block block = best_block();
  const auto run = [&](std::size_t first) {
    for (std::size_t p = first; p < panels; p += count) multiply_panel(work, block, p * block_rows);
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < count; ++t) threads.emplace_back(run, t);
  run(0);
  for (std::thread& t : threads) t.join();
  return out;
}

}  // namespace kiln::harness
