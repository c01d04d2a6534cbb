// The product is a panel-packed, register-blocked loop; vector types of the compiler stand in for intrinsics, and on
// x86 the same code is compiled once more for AVX2.
#include "harness/compare/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "harness/problem/element.hpp"
#include "harness/problem/parts.hpp"
#include "launch/operands.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/num/format.hpp"
#include "ptx/num/window.hpp"

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
  if (b.shape.size() != 2) diag::refuse("buffer {}: a matrix has 2 extents, this has {}", b.name, b.shape.size());
  if (!is_addressable(b.dtype) || isa::type_class(b.dtype) == isa::TypeClass::untyped)
    diag::refuse("buffer {}: {} is no type of numbers", b.name, isa::spelling(b.dtype));
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

// Operands and products as MMAs see them: scales, metadata, and sums of integers.

namespace {

using launch::Buffer;

// The nibbles of one row, eight to a word, as ptx/num takes them.
std::vector<std::uint32_t> selectors(const Buffer& metadata, isa::MmaKind kind, std::uint64_t row, std::uint64_t k) {
  const std::uint64_t chunks = k / std::uint64_t(isa::metadata_chunk(kind));
  std::vector<std::uint32_t> words((chunks + 7) / 8);
  for (std::uint64_t c = 0; c < chunks; ++c) {
    const isa::MetadataNibble at = isa::metadata_nibble(kind, row, c, metadata.shape[1]);
    const auto nibble = std::uint32_t(load_element(metadata.bytes, metadata.dtype, at.word) >> at.bit & 0xF);
    if (!isa::is_selector(kind, nibble))
      diag::refuse("buffer {}: the metadata of row {}, K {} to {}, is {:#x}, which means nothing", metadata.name, row,
                   c * std::uint64_t(isa::metadata_chunk(kind)), (c + 1) * std::uint64_t(isa::metadata_chunk(kind)) - 1,
                   nibble);
    words[c / 8] |= nibble << c % 8 * 4;
  }
  return words;
}

std::vector<std::uint32_t> kept_columns(const GemmProblem& p) {
  std::vector<std::uint32_t> kept;
  kept.reserve(p.rows() * p.products());
  for (std::uint64_t row = 0; row < p.rows(); ++row) {
    const std::vector<std::uint32_t> words = selectors(*p.a.metadata, p.kind, row, p.k());
    for (std::uint64_t slot = 0; slot < p.products(); ++slot)
      kept.push_back(std::uint32_t(num::sparse_column(num::mma_kind(p.kind), int(slot), words)));
  }
  return kept;
}

Matrix expanded(const Matrix& stored, const std::vector<std::uint32_t>& kept) {
  Matrix m{stored.rows, 2 * stored.columns, std::vector<double>(2 * stored.at.size(), 0.0)};
  for (std::uint64_t i = 0; i < stored.at.size(); ++i) m.at[i / stored.columns * m.columns + kept[i]] = stored.at[i];
  return m;
}

// `block` counts columns of this matrix.
void apply_scales(Operand& o, const Buffer& scales, std::uint64_t block) {
  for (std::uint64_t row = 0; row < o.values.rows; ++row)
    for (std::uint64_t first = 0; first < o.values.columns; first += block) {
      const std::uint64_t word =
          load_element(scales.bytes, scales.dtype, isa::scale_index(row, first / block, scales.shape[1]));
      const double scale = element_value(scales.dtype, word), size = magnitude(scales.dtype, word);
      for (std::uint64_t i = row * o.values.columns + first; i < row * o.values.columns + first + block; ++i)
        o.values.at[i] *= scale, o.magnitudes.at[i] *= size;
    }
}

// An f32 for so many rows and columns.
void apply_promoted_scales(Operand& o, const Buffer& scales, std::uint64_t rows) {
  for (std::uint64_t i = 0; i < o.values.at.size(); ++i) {
    const std::uint64_t row = i / o.values.columns / rows, block = i % o.values.columns / promoted_block;
    const std::uint64_t word = load_element(scales.bytes, scales.dtype, row * scales.shape[1] + block);
    o.values.at[i] *= element_value(scales.dtype, word);
    o.magnitudes.at[i] *= magnitude(scales.dtype, word);
  }
}

// Zeros of a sparse A times infinities of B are no NaN: the tensor core never sees those elements of B.
void skip_unseen(Product& product, const Operand& a, const Operand& b) {
  const std::uint64_t depth = b.values.columns, stored = a.kept.size() / std::max<std::uint64_t>(1, a.values.rows);
  for (std::uint64_t column = 0; column < b.values.rows; ++column) {
    const double* from = &b.values.at[column * depth];
    if (std::all_of(from, from + depth, [](double x) { return std::isfinite(x); })) continue;
    for (std::uint64_t row = 0; row < a.values.rows; ++row) {
      double sum = 0;
      for (std::uint64_t i = row * stored; i < (row + 1) * stored; ++i)
        sum += a.values.at[row * depth + a.kept[i]] * from[a.kept[i]];
      product.value.at[row * b.values.rows + column] = sum;
    }
  }
}

// One element of a chain of MMAs that clamp, each taking `step` elements of k.
double clamped_chain(const double* a, const double* b, std::uint64_t depth, std::uint64_t step) {
  using Limits = std::numeric_limits<std::int32_t>;
  double sum = 0;
  for (std::uint64_t k = 0; k < depth; ++k) {
    sum += a[k] * b[k];
    if ((k + 1) % step == 0 || k + 1 == depth) sum = std::clamp(sum, double(Limits::min()), double(Limits::max()));
  }
  return sum;
}

// Sums that leave s32 on the way; f64 holds them all exactly.
void bound_integers(const GemmProblem& p, const Operand& a, const Operand& b, Product& product) {
  const std::uint64_t step = std::uint64_t(p.mma_k) * (p.sparse() ? 2 : 1), n = p.columns();
  for (std::uint64_t i = 0; i < product.value.at.size(); ++i) {
    double& value = product.value.at[i];
    if (product.scale.at[i] <= std::numeric_limits<std::int32_t>::max()) continue;
    value = p.saturate ? clamped_chain(&a.values.at[i / n * p.k()], &b.values.at[i % n * p.k()], p.k(), step)
                       : double(std::int32_t(std::uint32_t(std::int64_t(value))));
  }
}

// Each row by the root of the mean square of its row of A.
void divide_rows(Product& product, const Matrix& a, double norm) {
  for (std::uint64_t row = 0; row < a.rows; ++row) {
    double squares = 0;
    for (std::uint64_t k = row * a.columns; k < (row + 1) * a.columns; ++k) squares += a.at[k] * a.at[k];
    const double factor = 1 / std::sqrt(squares / double(a.columns) + norm);
    const std::uint64_t n = product.value.columns;
    for (std::uint64_t i = row * n; i < (row + 1) * n; ++i)
      product.value.at[i] *= factor, product.scale.at[i] *= factor;
  }
}

Matrix oriented(Matrix m, bool transposed) {
  if (!transposed) return m;
  Matrix out{m.columns, m.rows, std::vector<double>(m.at.size())};
  for (std::uint64_t i = 0; i < m.at.size(); ++i) out.at[i % m.columns * m.rows + i / m.columns] = m.at[i];
  return out;
}

Operand elements_of(const GemmOperandBuffers& o) {
  return {oriented(values(*o.elements), o.transposed), oriented(magnitudes(*o.elements), o.transposed), {}};
}

// PTX ISA: the sign bit of a ue4m3 scale is reserved.
void check_signs(const Buffer& scales) {
  constexpr std::uint8_t sign = 0x80;
  if (scales.dtype != isa::ScalarType::ue4m3) return;
  const auto bad = std::find_if(scales.bytes.begin(), scales.bytes.end(), [](std::uint8_t x) { return x & sign; });
  if (bad != scales.bytes.end())
    diag::refuse("buffer {}: scale {} is {:#04x}; ue4m3 has no sign", scales.name, bad - scales.bytes.begin(), *bad);
}

}  // namespace

void check_contents(const launch::Contract& contract) {
  const auto is_input = [](const Buffer* b) { return b && b->init.kind != launch::Init::Kind::poison; };
  for (const launch::Expectation& e : contract.expectations) {
    const bool is_gemm = e.kind == launch::Expectation::Kind::gemm;
    if (!is_gemm || has_groups(e) || batch_size(contract, e)) continue;  // batches and groups have neither
    const GemmProblem p = gemm_problem(contract, e);
    if (is_input(p.a.metadata)) kept_columns(p);
    for (const Buffer* scales : {p.a.scales, p.b.scales})
      if (is_input(scales)) check_signs(*scales);
  }
}

Operand operand_a(const GemmProblem& p) {
  Operand o = elements_of(p.a);
  if (p.sparse()) {
    o.kept = kept_columns(p);
    o.values = expanded(o.values, o.kept);
    o.magnitudes = expanded(o.magnitudes, o.kept);
  }
  if (p.promoted)
    apply_promoted_scales(o, *p.a.scales, 1);
  else if (p.a.scales)
    apply_scales(o, *p.a.scales, p.block * (p.sparse() ? 2 : 1));
  return o;
}

Operand operand_b(const GemmProblem& p) {
  Operand o = elements_of(p.b);
  if (p.promoted)
    apply_promoted_scales(o, *p.b.scales, promoted_block);
  else if (p.b.scales)
    apply_scales(o, *p.b.scales, p.block * (p.sparse() ? 2 : 1));
  return o;
}

Product product_of(const GemmProblem& p) {
  const Operand a = operand_a(p), b = operand_b(p);
  Product product{multiply_transposed(a.values, b.values), multiply_transposed(a.magnitudes, b.magnitudes)};
  if (p.sparse()) skip_unseen(product, a, b);
  if (p.kind == isa::MmaKind::i8) bound_integers(p, a, b, product);
  if (p.norm > 0) divide_rows(product, a.values, p.norm);
  double factor = 1;
  for (const Buffer* f : p.factors) factor *= element_value(f->dtype, load_element(f->bytes, f->dtype, 0));
  if (!p.factors.empty())
    for (std::uint64_t i = 0; i < product.value.at.size(); ++i)
      product.value.at[i] *= factor, product.scale.at[i] *= std::abs(factor);
  return product;
}

}  // namespace kiln::harness
