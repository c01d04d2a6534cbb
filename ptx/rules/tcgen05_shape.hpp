// A whole tcgen05.mma as types know it: form, shape and operands are asked together, in the order in which a reader
// asks.
#pragma once

#include "ptx/isa/mma_shape.hpp"
#include "ptx/isa/sparse.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tcgen05_form.hpp"
#include "ptx/rules/tcgen05_mma.hpp"

namespace kiln::rules {

/// Element types, extents and the other fields of the descriptor.
constexpr Verdict mma_shape(const isa::MmaForm& f, const isa::MmaShape& s) {
  const bool scaled = isa::is_block_scaled(f.kind);
  const auto fields = isa::InstructionDescriptor::of(f, s).fields();
  const Verdict types = first(mma_types(f.kind, s.a, s.b), mma_accumulator(f.kind, s.a, s.d));
  if (!types.ok()) return types;
  if (scaled && f.block_scale)
    if (const Verdict v = scale_types(f.kind, s.scale_block, s.scale, s.scale, s.k96, s.wide); !v.ok()) return v;
  if (const Verdict v = idesc_reserved(f.kind, fields, f.ws); !v.ok()) return v;
  // The target is asked when the instruction is written.
  if (s.k96)
    if (const Verdict v = mma_k96(isa::sm_103a, f.group, f.sparse, s.m); !v.ok()) return v;
  if (s.wide)
    if (const Verdict v = mma_wide(isa::sm_107a, f.kind, f.sparse); !v.ok()) return v;
  if (f.ashift)
    if (const Verdict v = ashift_m(s.m); !v.ok()) return v;
  const bool byte_b = isa::container_bits(f.kind) == 8 && s.b_major == isa::Major::MN;
  const Verdict extents = f.ws ? first(mma_ws_m(s.m), mma_ws_n(s.n, f.sparse))
                               : first(mma_m(f.group, s.m, f.kind, f.sparse), mma_n(f.kind, f.group, s.n, byte_b));
  return first(extents, idesc_transpose(f.kind, s.a_major, s.b_major, f.a_in_tmem));
}

/// Whether the call gives the operands that the form takes.
constexpr Verdict mma_extras(const isa::MmaForm& f, bool scales, bool metadata) {
  return scales == f.block_scale && metadata == f.sparse ? legal : breaks(Rule::mma_extras);
}

/// A copy of metadata images from a tile that holds `held` columns of each row to `columns` columns of tensor memory,
/// for MMAs of this form and M.
constexpr Verdict metadata_image(const isa::MmaForm& f, int m, int columns, int held) {
  const isa::DataPath path = isa::data_path(m, f.group, f.sparse, f.ws);
  if (path != isa::DataPath::A && path != isa::DataPath::D) return breaks(Rule::metadata_image, m);
  return columns == held && columns % isa::metadata_image_columns == 0 ? legal
                                                                      : breaks(Rule::metadata_image, columns, held);
}

/// One operand as its handle describes it: a slice of a shared tile, or of a block of tensor memory. `bits` is what an
/// element takes where it is stored; `k` how many elements the handle holds along K.
struct MmaOperand {
  bool in_tmem = false;
  isa::ScalarType element = isa::ScalarType::none;
  int bits = 0;
  int rows = 0;
  int k = 0;
  isa::Major major = isa::Major::K;
  isa::Swizzle swizzle = isa::Swizzle::none;
};

/// A of an MMA, against the form and shape: each CTA of a pair holds half of the rows.
constexpr Verdict mma_a(const isa::MmaForm& f, const isa::MmaShape& s, const MmaOperand& a) {
  const int ctas = f.group == isa::CtaGroup::two ? 2 : 1, k = isa::mma_k(f, s);
  if (a.element != s.a) return breaks(Rule::mma_types, int(a.element), int(s.a));
  if (a.bits != isa::container_bits(f.kind)) return breaks(Rule::mma_container, a.bits, isa::container_bits(f.kind));
  if (a.rows != s.m / ctas) return breaks(Rule::mma_operands, a.rows, s.m / ctas);
  if (a.k < (f.sparse ? k / 2 : k)) return breaks(Rule::mma_operands, a.k, f.sparse ? k / 2 : k);
  return a.in_tmem ? legal : sdesc_atom32(f.kind, a.major, a.swizzle);
}

/// B: always in shared memory, half of its columns in each CTA of a pair, never sparse.
constexpr Verdict mma_b(const isa::MmaForm& f, const isa::MmaShape& s, const MmaOperand& b) {
  const int ctas = f.group == isa::CtaGroup::two ? 2 : 1, k = isa::mma_k(f, s);
  if (b.in_tmem) return breaks(Rule::mma_b_shared);
  if (b.element != s.b) return breaks(Rule::mma_types, int(b.element), int(s.b));
  if (b.bits != isa::container_bits(f.kind)) return breaks(Rule::mma_container, b.bits, isa::container_bits(f.kind));
  if (b.rows != s.n / ctas) return breaks(Rule::mma_operands, b.rows, s.n / ctas);
  if (b.k < k) return breaks(Rule::mma_operands, b.k, k);
  return sdesc_atom32(f.kind, b.major, b.swizzle);
}

}  // namespace kiln::rules
