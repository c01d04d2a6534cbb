// tcgen05.mma: shapes, types and the instruction descriptor.
#pragma once

#include <algorithm>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/scales.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// M of a dense or sparse MMA (not .ws), over both CTAs for cta_group::2.
constexpr Verdict mma_m(isa::CtaGroup group, int m, isa::MmaKind kind = isa::MmaKind::none, bool sparse = false) {
  const isa::MmaRows rows = isa::mma_rows(group, kind, sparse);
  return m == rows.small || m == rows.large ? legal : breaks(Rule::mma_m, m, m <= rows.small ? rows.small : rows.large);
}

/// M of tcgen05.mma.ws.
constexpr Verdict mma_ws_m(int m) {
  return m == 32 || m == 64 || m == 128 ? legal : breaks(Rule::mma_m, m, m <= 32 ? 32 : m <= 64 ? 64 : 128);
}

/// N of tcgen05.mma.ws.
constexpr Verdict mma_ws_n(int n, bool sparse) {
  const int most = sparse ? 128 : 256;
  return n == 64 || n == 128 || n == most ? legal : breaks(Rule::mma_n, n, n <= 64 ? 64 : n <= 128 ? 128 : most);
}

/// N of a dense or sparse MMA (not .ws). kind::i8 with cta_group::1 has 8, 16, 24, 32, then steps of 16.
constexpr Verdict mma_n(isa::MmaKind kind, isa::CtaGroup group, int n, bool byte_mn_major_b = false) {
  const isa::MmaColumns columns = isa::mma_columns(kind, group, byte_mn_major_b);
  const bool wide_i8 = kind == isa::MmaKind::i8 && group == isa::CtaGroup::one && n > 32;
  const int step = wide_i8 ? std::max(16, columns.step) : columns.step;
  if (n >= columns.first && n <= isa::mma_max_n && n % step == 0) return legal;
  return breaks(Rule::mma_n, n, std::clamp((n + step - 1) / step * step, columns.first, isa::mma_max_n));
}

/// `lane` is the lane field of an address in tensor memory: of D, A, the metadata or the scale factors. The check that
/// ptxas 13.0 compiles in (-g-tmem-access-check, "invalid_datapath_alignment") reads the same five bits and allows 16
/// for the same M: 64 with cta_group::1, sparse 128 with cta_group::2, and never for .ws.
constexpr Verdict mma_lane(isa::DataPath path, int lane) {
  const int in_quarter = lane % isa::tmem_lanes_per_warp;
  if (in_quarter == 0 || (in_quarter == 16 && isa::fills_half_the_lanes(path))) return legal;
  return breaks(Rule::mma_lane, lane, lane - in_quarter);
}

/// Element types of A and B under a kind.
constexpr Verdict mma_types(isa::MmaKind kind, isa::ScalarType a, isa::ScalarType b) {
  const bool known = isa::operand_type_code(kind, a) && isa::operand_type_code(kind, b);
  const bool alike = kind != isa::MmaKind::f16 || a == b;
  return known && alike ? legal : breaks(Rule::mma_types, int(a));
}

/// The type of D.
constexpr Verdict mma_accumulator(isa::MmaKind kind, isa::ScalarType a, isa::ScalarType d) {
  using isa::MmaKind, isa::ScalarType;
  if (kind == MmaKind::i8) return d == ScalarType::s32 ? legal : breaks(Rule::mma_accumulator, int(d));
  const bool half = (kind == MmaKind::f16 && a == ScalarType::f16) || kind == MmaKind::f8f6f4;
  return d == ScalarType::f32 || (half && d == ScalarType::f16) ? legal : breaks(Rule::mma_accumulator, int(d));
}

/// Reserved bits, and fields that the kind or form does not have.
constexpr Verdict idesc_reserved(isa::MmaKind kind, const isa::InstructionDescriptorFields& f, bool ws) {
  const bool selector = f.selector != 0 && (!f.sparse || (kind != isa::MmaKind::f16 && kind != isa::MmaKind::tf32));
  const bool saturate = f.saturate && kind != isa::MmaKind::i8;
  const bool negate = (f.negate_a || f.negate_b) && kind == isa::MmaKind::i8;
  const bool shift = f.max_shift != 0 && !ws;
  if (f.reserved == 0 && !selector && !saturate && !negate && !shift) return legal;
  return breaks(Rule::idesc_reserved, std::int64_t(f.reserved));
}

constexpr Verdict idesc_sparse(bool sparse_bit, bool sparse_form) {
  return sparse_bit == sparse_form ? legal : breaks(Rule::idesc_sparse, sparse_bit, sparse_form);
}

/// `a_in_tmem`: A comes from tensor memory, where it is row-major only.
constexpr Verdict idesc_transpose(isa::MmaKind kind, isa::Major a, isa::Major b, bool a_in_tmem) {
  using isa::Major;
  const bool packed = isa::container_bits(kind) < 8;
  if (a == Major::MN && (packed || a_in_tmem)) return breaks(Rule::idesc_transpose, 1, 0);
  return b == Major::MN && packed ? breaks(Rule::idesc_transpose, 1, 0) : legal;
}

/// Scale format, scale ids and the K bit of a block-scaled descriptor. `vector` as written; without one the kind's
/// default holds, and mxf4nvf4 has none.
constexpr Verdict idesc_scale(isa::MmaKind kind, isa::ScaleVector vector, const isa::InstructionDescriptorFields& f) {
  using isa::MmaKind, isa::ScaleVector;
  if (!isa::is_block_scaled(kind)) return legal;
  const bool fine = vector == ScaleVector::x4 || vector == ScaleVector::block16;
  const bool packed = kind != MmaKind::mxf8f6f4;
  const isa::ScalarType scale = isa::scale_format(f.scale_format);
  if (scale == isa::ScalarType::none) return breaks(Rule::idesc_scale, f.scale_format, 1);
  if (scale != isa::ScalarType::ue8m0 && (kind != MmaKind::mxf4nvf4 || (!fine && vector != ScaleVector::none)))
    return breaks(Rule::idesc_scale, f.scale_format, 1);
  // Scales are read from byte `id` on: one, two or four bytes must stay within a cell, except where K = 96 spills over.
  const int bytes = !packed || (f.k96 && !fine) ? 1 : fine && !f.k96 ? 4 : 2;
  const int step = f.wide && bytes < 4 ? 2 * bytes : bytes;
  if (f.sfa_id % step != 0) return breaks(Rule::idesc_scale, f.sfa_id, f.sfa_id / step * step);
  return f.sfb_id % step == 0 ? legal : breaks(Rule::idesc_scale, f.sfb_id, f.sfb_id / step * step);
}

/// Scales of ue5m3 are for sm_107.
constexpr Verdict scale_format_target(isa::Target target, isa::ScalarType scale) {
  return scale != isa::ScalarType::ue5m3 || target.sm == 107 ? legal : breaks(Rule::idesc_scale, target.sm, 107);
}

/// K = 96: where it exists, and with which M.
constexpr Verdict mma_k96(isa::Target target, isa::CtaGroup group, bool sparse, int m) {
  if (sparse || target.sm != 103 || target.suffix != isa::TargetSuffix::a) return breaks(Rule::mma_k96, 96, 64);
  const int want = group == isa::CtaGroup::two ? 256 : 128;
  return m == want ? legal : breaks(Rule::mma_k96, m, want);
}

/// Twice the K, 64 bytes of it: where it exists. A sparse MMA has it of mxf8f6f4 alone.
constexpr Verdict mma_wide(isa::Target target, isa::MmaKind kind, bool sparse) {
  if (target.sm != 107) return breaks(Rule::mma_wide, target.sm, 107);
  const bool legal_form = isa::idesc_wide_bit(kind) != 0 && (!sparse || kind == isa::MmaKind::mxf8f6f4);
  return legal_form ? legal : breaks(Rule::mma_wide, int(kind));
}

/// Every rule that one instruction descriptor can break, in the order in which a reader would ask.
constexpr Verdict instruction_descriptor(isa::MmaKind kind, isa::CtaGroup group, std::uint32_t word, bool sparse,
                                         bool ws, bool a_in_tmem, isa::ScaleVector vector = isa::ScaleVector::none) {
  const auto f = isa::unpack(word, kind);
  const auto a = isa::operand_type(kind, f.a_type), b = isa::operand_type(kind, f.b_type);
  const bool byte_b = isa::container_bits(kind) == 8 && f.b_major == isa::Major::MN;
  const Verdict common = first(idesc_reserved(kind, f, ws), idesc_sparse(f.sparse, sparse), mma_types(kind, a, b),
                               idesc_transpose(kind, f.a_major, f.b_major, a_in_tmem));
  const Verdict d = isa::is_block_scaled(kind) ? idesc_scale(kind, vector, f)
                                               : mma_accumulator(kind, a, isa::d_type(f.d_type));
  if (!common.ok() || !d.ok()) return first(common, d);
  if (ws) return first(mma_ws_m(f.m), mma_ws_n(f.n, sparse));
  return first(mma_m(group, f.m, kind, sparse), mma_n(kind, group, f.n, byte_b));
}

}  // namespace kiln::rules
