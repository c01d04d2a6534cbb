#include "launch/operands.hpp"

#include <algorithm>

#include "ptx/diag/error.hpp"

namespace kiln::launch {
namespace {

using isa::MmaKind;
using isa::ScalarType;

bool is_scale_or_wide(ScalarType t) {
  return t == ScalarType::ue8m0 || t == ScalarType::ue4m3 || t == ScalarType::f32 || t == ScalarType::f64;
}

std::uint64_t padded(std::uint64_t n, std::uint64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

}  // namespace

MmaKind mma_kind(ScalarType a, ScalarType b, std::uint32_t block, std::uint32_t mma_k) {
  const int bits = std::max(isa::bits(a), isa::bits(b));
  if (isa::is_integer(a) && isa::is_integer(b))
    return bits == 8 && isa::bits(a) == isa::bits(b) ? MmaKind::i8 : MmaKind::none;
  if (!isa::is_floating(a) || !isa::is_floating(b) || is_scale_or_wide(a) || is_scale_or_wide(b)) return MmaKind::none;
  if (bits == 32) return MmaKind::tf32;
  if (bits == 16) return MmaKind::f16;
  if (block == 0) return MmaKind::f8f6f4;
  const auto byte_k = std::uint32_t(isa::mma_k(MmaKind::mxf8f6f4));
  if (bits > 4 || (mma_k == byte_k && block != 16)) return MmaKind::mxf8f6f4;
  return block == 16 ? MmaKind::mxf4nvf4 : MmaKind::mxf4;
}

Buffer scale_buffer(std::string name, ScalarType type, std::uint64_t rows, std::uint64_t scales,
                    std::uint64_t k_multiple) {
  return {std::move(name),
          type,
          {isa::scale_row_chunks(rows), padded(isa::scale_k_chunks(scales), k_multiple),
           std::uint64_t(isa::scale_chunk_bytes)}};
}

Buffer metadata_buffer(std::string name, MmaKind kind, std::uint64_t rows, std::uint64_t k, std::uint64_t k_multiple) {
  return {std::move(name),
          ScalarType::u32,
          {isa::metadata_row_images(rows), padded(isa::metadata_k_images(kind, k), k_multiple),
           std::uint64_t(isa::metadata_image_words)}};
}

void quantise(Contract& contract, const std::string& operand, const Quantisation& how, ScalarType scale_type,
              std::uint64_t k_multiple) {
  Buffer* matrix = contract.find(operand);
  if (!matrix || matrix->shape.size() != 2)
    throw diag::InputError("there is no matrix " + operand + " to quantise in the contract");
  matrix->init.quantised = how;
  const std::uint64_t rows = matrix->shape[0], stored = matrix->shape[1];
  const ScalarType type = matrix->dtype;  // no pointer into the buffers outlives the first one added
  const auto add = [&](Buffer filled) {
    filled.init.kind = Init::Kind::quantised;
    contract.buffers.push_back(std::move(filled));
  };
  if (!how.scales.empty()) {
    if (how.block == 0) throw diag::InputError("the scales of " + operand + " need a block");
    add(scale_buffer(how.scales, scale_type, rows, stored / how.block, k_multiple));
  }
  if (!how.metadata.empty()) {
    const MmaKind kind = mma_kind(type, type, how.block, how.mma_k);
    if (kind == MmaKind::none) throw diag::InputError("no MMA multiplies a sparse " + operand + " of its type");
    add(metadata_buffer(how.metadata, kind, rows, 2 * stored, k_multiple));
  }
  if (!how.global.empty()) add({how.global, ScalarType::f32, {1}});
}

}  // namespace kiln::launch
