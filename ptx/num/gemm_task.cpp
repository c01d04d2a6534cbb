#include "ptx/num/gemm_task.hpp"

namespace kiln::num {
namespace {

template <class T>
void widen(const GemmOperand& operand, int row, int first, int k, std::uint32_t* words) {
  const T* from = static_cast<const T*>(operand.elements) + std::size_t(row) * operand.stride + std::size_t(first);
  for (int i = 0; i < k; ++i) words[i] = from[i];
}

}  // namespace

std::span<const std::uint32_t> metadata_of(const GemmTask& task, int row, int step) {
  if (!task.spec.sparse) return {};
  // Every kind spends one nibble on each chunk of 1 (tf32), 2 or 4 (fp4) stored elements, so an instruction fills whole
  // words.
  const int kept = task.spec.kind == MmaKind::tf32 ? 1 : isa::container_bits(task.spec.kind) == 4 ? 4 : 2;
  const auto words = std::size_t(stored_k(task.spec) / kept / 8);
  const std::size_t first = std::size_t(row) * task.metadata_stride + std::size_t(step) * words;
  return {task.metadata + first, words};
}

std::span<const std::uint8_t> scales_of(const GemmOperand& operand, int row, int step, int count) {
  if (count == 0) return {};
  const auto first = std::size_t(row) * operand.scale_stride + std::size_t(step * count);
  return {operand.scales + first, std::size_t(count)};
}

void load_words(const GemmOperand& operand, ScalarType type, int row, int first, int k, std::uint32_t* words) {
  switch (isa::bits(type)) {
    case 32: widen<std::uint32_t>(operand, row, first, k, words); break;
    case 16: widen<std::uint16_t>(operand, row, first, k, words); break;
    default: widen<std::uint8_t>(operand, row, first, k, words); break;
  }
}

}  // namespace kiln::num
