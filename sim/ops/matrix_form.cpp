#include "sim/ops/matrix_form.hpp"

#include "ptx/isa/scales.hpp"
#include "sim/ops/binder.hpp"

namespace kiln::sim {
namespace {

using isa::MmaKind;

// The kind as written, where it says block scales or mixed types; else that of the type.
MmaKind number_kind(MmaKind written, ScalarType a) {
  if (isa::is_block_scaled(written) || written == MmaKind::f8f6f4) return written;
  if (isa::is_integer(a) || a == ScalarType::b1) return MmaKind::i8;
  if (a == ScalarType::tf32) return MmaKind::tf32;
  return isa::bits(a) == 16 ? MmaKind::f16 : MmaKind::f8f6f4;
}

int container_bits(MmaKind written, ScalarType a) {
  if (a == ScalarType::b1) return 32;
  const bool bytes = written == MmaKind::f8f6f4 || written == MmaKind::mxf8f6f4;
  return bytes ? 8 : isa::bits(a);
}

num::BitProduct bit_product(const isa::Modifiers& m) {
  if (m.type() != ScalarType::s32 || m.types[1] != ScalarType::b1) return num::BitProduct::none;
  if (m.repeated.size() != 1 || m.repeated.front() != "popc") throw Gap{"this product of bits"};
  if (m.combine == Combine::xor_) return num::BitProduct::xor_popc;
  if (m.combine == Combine::and_) return num::BitProduct::and_popc;
  throw Gap{"this product of bits"};
}

}  // namespace

WarpMma describe_mma(const ir::Operation& op, int sm) {
  const isa::Modifiers& m = op.modifiers;
  WarpMma mma;
  for (const std::string& text : m.others) {
    if (text == "sp::ordered_metadata")
      mma.sparse = mma.ordered = true;
    else if (const auto shape = isa::parse_matrix_shape(text))
      mma.shape = *shape;
    else
      throw Gap{"the modifier ." + text};
  }
  if (mma.shape.m == 0) throw Gap{"no shape"};
  mma.sparse = mma.sparse || op.opcode == Opcode::mma_sp || op.opcode == Opcode::wgmma_mma_async_sp;
  num::WarpDotSpec& s = mma.spec;
  s.sm = sm;
  s.d = m.types[0], s.a = m.types[1], s.b = m.types[2];
  if (m.types.count == 2) s.a = s.b = ScalarType::f16;  // wmma of f16 names D and C alone
  s.kind = number_kind(m.kind, s.a);
  s.bits = bit_product(m);
  s.saturate = m.satfinite;
  mma.container = container_bits(m.kind, s.a);
  if (isa::is_block_scaled(m.kind)) {
    s.scale = m.types[4];
    s.scale_vector = isa::scales_per_row(m.kind, m.scale_vector);
  }
  return mma;
}

}  // namespace kiln::sim
