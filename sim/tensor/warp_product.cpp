#include "sim/tensor/warp_product.hpp"

#include "ptx/isa/mma_metadata.hpp"
#include "sim/core/machine.hpp"

namespace kiln::sim {
namespace {

using isa::ScalarType;

// The kind that decides how four bits of metadata choose.
num::MmaKind metadata_kind(int container) {
  return container == 32 ? num::MmaKind::tf32 : container == 4 ? num::MmaKind::mxf4 : num::MmaKind::f16;
}

// What four bits must say to have a meaning: tf32 one of two codes, else two different places of four.
bool has_meaning(const WarpMma& mma, u32 nibble) {
  const u32 low = nibble & 3, high = nibble >> 2;
  if (mma.container == 32) return nibble == 0x4 || nibble == 0xE;
  return mma.ordered ? low < high : low != high;
}

// K contiguous in the elements' own width, for GemmKernel.
template <class T>
std::vector<T> narrowed(const std::vector<u32>& words) {
  return {words.begin(), words.end()};
}

template <class T>
void run_kernel(Grid& grid, num::GemmTask& task, const WarpProduct& p) {
  const std::vector<T> a = narrowed<T>(p.a), b = narrowed<T>(p.b);
  task.a = {a.data(), p.a.size() / std::size_t(p.m), nullptr, 0};
  task.b = {b.data(), std::size_t(task.k), nullptr, 0};
  grid.gemm.run(task);
}

num::Arithmetic arithmetic(const Grid& grid) {
  return grid.options.arithmetic == Arithmetic::fast ? num::Arithmetic::fast : num::Arithmetic::exact;
}

// Elements of rows of `k` as the two windows of emulated fp8 (num::emulated_half), each filled up with zeros, which are
// smaller than any term, to the K of a kernel's step.
std::vector<u8> emulated_windows(const std::vector<u32>& words, std::size_t k, std::size_t step) {
  std::vector<u8> out(words.size() / k * 2 * step);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t row = i / k, at = i % k;
    out[(2 * row + num::emulated_half(at)) * step + at / 4 * 2 + at % 2] = u8(words[i]);
  }
  return out;
}

bool multiply_emulated(Grid& grid, const WarpMma& mma, WarpProduct& p) {
  num::GemmTask task;
  task.spec = num::window_spec(mma.spec);
  task.spec.read_c = false;
  const auto step = std::size_t(isa::mma_k(task.spec.kind)), k = std::size_t(mma.elements_k());
  if (mma.sparse || k / 2 > step || !num::has_vector_path(task.spec)) return false;
  const std::vector<u8> a = emulated_windows(p.a, k, step), b = emulated_windows(p.b, k, step);
  std::vector<u32> sums(p.d.size());
  task.m = p.m, task.n = p.n, task.k = int(2 * step);
  task.a = {a.data(), 2 * step, nullptr, 0};
  task.b = {b.data(), 2 * step, nullptr, 0};
  task.d = sums.data();
  task.d_stride = std::size_t(p.n);
  task.arithmetic = arithmetic(grid);
  grid.gemm.run(task);
  for (std::size_t i = 0; i < sums.size(); ++i) p.d[i] = num::emulated_sum(mma.spec, sums[i], p.d[i]);
  return true;
}

// The vectorised kernel where the instruction is one window of a kind it knows.
bool multiply_by_kernel(Grid& grid, const WarpMma& mma, WarpProduct& p) {
  if (num::is_emulated(mma.spec)) return multiply_emulated(grid, mma, p);
  num::GemmTask task;
  task.spec = num::window_spec(mma.spec);
  task.spec.sparse = mma.sparse;
  if (mma.spec.scale_vector || mma.stored_k() > num::window_length(mma.spec) || !num::has_vector_path(task.spec))
    return false;
  if (mma.container < 8 || mma.stored_k() != isa::mma_k(task.spec.kind)) return false;
  task.m = p.m, task.n = p.n, task.k = mma.elements_k();
  task.metadata = p.metadata.data();
  task.metadata_stride = p.metadata.size() / std::size_t(p.m);
  task.d = p.d.data();
  task.d_stride = std::size_t(p.n);
  task.arithmetic = arithmetic(grid);
  switch (mma.container) {
    case 32: run_kernel<u32>(grid, task, p); break;
    case 16: run_kernel<u16>(grid, task, p); break;
    default: run_kernel<u8>(grid, task, p); break;
  }
  return true;
}

}  // namespace

WarpProduct::WarpProduct(const WarpMma& mma, int rows) : m(rows), n(mma.shape.n) {
  a.resize(std::size_t(m * mma.stored_k()));
  b.resize(std::size_t(n * mma.elements_k()));
  d.resize(std::size_t(m * n));
}

void WarpProduct::prepare_poison(PoisonSource s) {
  if (!poison) poison_a.resize(std::size_t(m)), poison_b.resize(std::size_t(n)), poison_d.resize(std::size_t(m * n));
  poison = s;
}

u32 contained(const WarpMma& mma, ScalarType type, u32 bits) {
  const u32 low = mma.container == 32 ? bits : bits & ((1u << mma.container) - 1);
  return type == ScalarType::e2m1 && mma.container == 8 ? low >> 2 & 15 : low;
}

void select_columns(const WarpMma& mma, const u32* lanes, WarpProduct& p) {
  const int stored = mma.stored_k(), chunks = stored / isa::metadata_kept(mma.container);
  const num::MmaKind kind = metadata_kind(mma.container);
  p.columns.resize(std::size_t(p.m * stored));
  p.metadata.clear();
  for (int row = 0; row < p.m; ++row) {
    std::vector<u32> words(std::size_t((chunks + 7) / 8));  // eight chunks each
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const isa::MetadataBits at = isa::metadata_bits(mma.container, stored, row, chunk, mma.selector);
      const u32 nibble = lanes[at.lane] >> at.shift & 15;
      if (!has_meaning(mma, nibble)) unmodelled("sparsity metadata that the PTX ISA gives no meaning");
      words[std::size_t(chunk / 8)] |= nibble << 4 * (chunk % 8);
    }
    p.metadata.insert(p.metadata.end(), words.begin(), words.end());
    for (int slot = 0; slot < stored; ++slot)
      p.columns[std::size_t(row * stored + slot)] = u8(num::sparse_column(kind, slot, words));
  }
}

void multiply(Grid& grid, const WarpMma& mma, WarpProduct& p) {
  const auto stored = std::size_t(mma.stored_k()), k = std::size_t(mma.elements_k());
  const auto sv = std::size_t(mma.spec.scale_vector);
  grid.statistics.mma_flops += u64(2) * u64(p.m) * u64(p.n) * u64(mma.shape.k);
  if (multiply_by_kernel(grid, mma, p)) return;
  std::vector<u32> met(stored);
  for (std::size_t row = 0; row < std::size_t(p.m); ++row)
    for (std::size_t column = 0; column < std::size_t(p.n); ++column) {
      std::span<const u32> a(p.a.data() + row * stored, stored), b(p.b.data() + column * k, k);
      if (mma.sparse) {
        for (std::size_t i = 0; i < stored; ++i) met[i] = b[p.columns[row * stored + i]];
        b = met;
      }
      num::DotSides scales;
      if (sv) scales = {{p.scale_a.data() + row * sv, sv}, {p.scale_b.data() + column * sv, sv}, {}};
      u32& d = p.d[row * std::size_t(p.n) + column];
      d = num::warp_dot(mma.spec, a, b, d, scales);
    }
}

}  // namespace kiln::sim
