#include "sim/views/accumulation.hpp"

#include <bit>

#include "ptx/isa/tcgen05.hpp"
#include "ptx/num/gemm_kernel.hpp"
#include "sim/tensor/operands.hpp"

namespace kiln::sim {
namespace {

constexpr auto kind = isa::MmaKind::f16;
constexpr auto type = isa::ScalarType::bf16;
constexpr int element_bytes = isa::bits(type) / 8;

// Rows of one swizzle span, as a DSL tile has them.
isa::OperandTile layout_of(isa::Major major, isa::Swizzle swizzle, int rows, int k) {
  const auto pitch = std::uint32_t(isa::span_bytes(swizzle));
  return {major, swizzle, pitch, pitch * std::uint32_t(major == isa::Major::K ? rows : k)};
}

std::vector<int> small_numbers(int count, std::uint32_t seed) {
  std::vector<int> out(static_cast<std::size_t>(count));
  for (int& v : out) {
    seed = seed * 1664525 + 1013904223;
    v = int(seed >> 24) % 7 - 3;
  }
  return out;
}

std::vector<std::uint16_t> words_of(const std::vector<int>& numbers) {
  std::vector<std::uint16_t> out;
  for (const int v : numbers) out.push_back(std::uint16_t(num::encode(type, v)));
  return out;
}

}  // namespace

int AccumulationShape::step_k() const { return isa::mma_k(kind); }

TilePieces tile_pieces(isa::Major major, isa::Swizzle swizzle, int rows, const AccumulationShape& shape) {
  const isa::OperandTile layout = layout_of(major, swizzle, rows, shape.k());
  const bool k_major = major == isa::Major::K;
  const auto inner = std::uint32_t((k_major ? shape.k() : rows) * element_bytes);
  TilePieces out{major, swizzle, rows, (inner + layout.row_pitch - 1) / layout.row_pitch * layout.block_bytes, {}};
  constexpr int per_piece = int(swizzle_piece) / element_bytes;
  for (int step = 0; step < shape.steps; ++step) {
    const int first_k = step * shape.step_k();
    const isa::SharedDescriptorFields d =
        isa::SharedDescriptor::of(layout).at(isa::slice_offset(layout, first_k, isa::bits(type))).fields();
    const SharedOperand operand{d, swizzle, major, kind, type, rows, isa::mma_k_bytes};
    int order = 0;
    for_pieces(operand, [&](int row, std::uint32_t address) {
      const int k =
          k_major ? order % (shape.step_k() / per_piece) * per_piece : order / ((rows + per_piece - 1) / per_piece);
      out.pieces.push_back({address, step, row, first_k + k});
      ++order;
    });
  }
  return out;
}

Accumulation accumulate(const AccumulationShape& shape) {
  Accumulation out{small_numbers(shape.m * shape.k(), 1), small_numbers(shape.n * shape.k(), 2), {}};
  const std::vector<std::uint16_t> a = words_of(out.a), b = words_of(out.b);
  std::vector<std::uint32_t> d(std::size_t(shape.m * shape.n));
  num::GemmKernel gemm;
  num::GemmTask task;
  task.spec.kind = num::MmaKind::f16;
  task.spec.a = task.spec.b = type;
  task.m = shape.m, task.n = shape.n, task.k = shape.step_k();
  task.a.stride = task.b.stride = std::size_t(shape.k());
  task.d = d.data();
  task.d_stride = std::size_t(shape.n);
  for (int step = 0; step < shape.steps; ++step) {
    task.a.elements = a.data() + step * shape.step_k();
    task.b.elements = b.data() + step * shape.step_k();
    task.spec.read_c = step != 0;
    gemm.run(task);
    std::vector<float> sums;
    for (const std::uint32_t word : d) sums.push_back(std::bit_cast<float>(word));
    out.sums.push_back(std::move(sums));
  }
  return out;
}

}  // namespace kiln::sim
