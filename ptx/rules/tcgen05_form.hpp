// Which modifiers and optional operands of a tcgen05 instruction go together. The rules about descriptors are in
// tcgen05_mma.hpp.
#pragma once

#include <algorithm>

#include "ptx/isa/collector.hpp"
#include "ptx/isa/mma_form.hpp"
#include "ptx/isa/zero_mask.hpp"
#include "ptx/rules/profile.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// The forms that have the scale-input-d operand. kind::i8 takes one and ignores it: ptxas accepts that, the stricter
/// profile does not.
constexpr Verdict scale_input_d(const isa::MmaForm& f, Profile profile = Profile::isa) {
  using isa::MmaKind;
  if (!f.scale_input_d || f.kind == MmaKind::f16 || f.kind == MmaKind::tf32) return legal;
  if (f.kind == MmaKind::i8 && profile == Profile::isa && !f.ws) return legal;
  return breaks(Rule::scale_input_d, int(f.kind));
}

inline constexpr int max_scale_input_d = 15;
/// Its value s: D is scaled by 2^-s.
constexpr Verdict scale_input_d_value(std::int64_t s) {
  if (s >= 0 && s <= max_scale_input_d) return legal;
  return breaks(Rule::scale_input_d, s, s < 0 ? 0 : max_scale_input_d);
}

constexpr Verdict block_scale(const isa::MmaForm& f) {
  return f.block_scale == isa::is_block_scaled(f.kind) ? legal : breaks(Rule::block_scale, int(f.kind));
}

/// The size as written against the kind.
constexpr Verdict scale_vector(const isa::MmaForm& f) {
  const bool scaled = isa::is_block_scaled(f.kind);
  if (!scaled) return f.scale_vector == isa::ScaleVector::none ? legal : breaks(Rule::scale_vector, int(f.scale_vector));
  return isa::scale_block(f.kind, f.scale_vector) ? legal : breaks(Rule::scale_vector, int(f.scale_vector));
}

constexpr Verdict ws_group(const isa::MmaForm& f) {
  return f.ws && f.group == isa::CtaGroup::two ? breaks(Rule::ws_cta_group, 2, 1) : legal;
}

constexpr Verdict ws_kind(const isa::MmaForm& f) {
  return f.ws && isa::is_block_scaled(f.kind) ? breaks(Rule::ws_kind, int(f.kind)) : legal;
}

/// .ashift against the place of A and the rest of the form.
constexpr Verdict ashift(const isa::MmaForm& f) {
  return f.ashift && (!f.a_in_tmem || f.block_scale || f.ws) ? breaks(Rule::ashift) : legal;
}
/// M of the instruction descriptor, under .ashift.
constexpr Verdict ashift_m(int m) { return m == 128 || m == 256 ? legal : breaks(Rule::ashift, m, 128); }

constexpr Verdict ashift_collector(const isa::MmaForm& f) {
  const auto use = isa::collector_use(f.collector);
  const bool holds = use == isa::CollectorUse::fill || use == isa::CollectorUse::use;
  return f.ashift && holds ? breaks(Rule::ashift_collector) : legal;
}

/// Buffers a and b belong to the forms that are not .ws, b0 to b3 to those that are. kind::i8, which the targets with
/// buffer b do not have, has none.
constexpr Verdict collector_buffer(const isa::MmaForm& f) {
  const bool b = f.collector_b != isa::CollectorB::none;
  if (b && (f.ws || f.kind == isa::MmaKind::i8)) return breaks(Rule::collector_buffer);
  if (f.collector == isa::Collector::none) return legal;
  return (isa::collector_buffer(f.collector, f.ws) > 0) == f.ws ? legal : breaks(Rule::collector_buffer);
}

/// Modifiers and optional operands of an MMA, in the order of the vendor compiler's ladder, then those that it does not
/// check.
constexpr Verdict mma_form(const isa::MmaForm& f, Profile profile) {
  const Verdict scales = f.block_scale ? block_scale(f) : legal;
  return first(scale_input_d(f, profile), scales, ashift(f), ws_group(f), ws_kind(f), ashift_collector(f), scale_vector(f),
               block_scale(f), collector_buffer(f));
}

/// How many lane masks disable-output-lane has: four, eight for a CTA pair.
constexpr Verdict output_lanes(const isa::MmaForm& f, std::int64_t masks) {
  const int want = f.group == isa::CtaGroup::two ? 8 : 4;
  if (f.ws || f.block_scale) return breaks(Rule::output_lanes, masks, 0);
  return masks == want ? legal : breaks(Rule::output_lanes, masks, want);
}

/// The zero-column mask of .ws on its own.
constexpr Verdict zero_mask_fields(const isa::ZeroMaskFields& f) {
  return f.reserved == 0 ? legal : breaks(Rule::zero_mask, std::int64_t(f.reserved), 0);
}
/// Its shift against M, and against the greatest shift that the instruction descriptor allows (0, 8, 16 or 32 columns).
constexpr Verdict zero_mask_shift(int shift, int m, int allowed) {
  const int most = std::min(isa::zero_mask_max_shift(m), allowed);
  return shift <= most ? legal : breaks(Rule::zero_mask, shift, most);
}

/// Shape, multicast and decompression of tcgen05.cp. The two source formats come with .b8x16 and on any shape.
constexpr Verdict cp_shape(isa::DataShape shape, isa::CpMulticast multicast, bool destination_format, bool source_format) {
  using isa::CpMulticast, isa::DataShape;
  const bool pair = multicast == CpMulticast::warpx2_02_13 || multicast == CpMulticast::warpx2_01_23;
  const bool fits = shape == DataShape::s64x128b   ? pair
                    : shape == DataShape::s32x128b ? multicast == CpMulticast::warpx4
                    : shape == DataShape::s128x256b || shape == DataShape::s4x256b || shape == DataShape::s128x128b
                        ? multicast == CpMulticast::none
                        : false;
  return fits && destination_format == source_format ? legal : breaks(Rule::cp_shape, int(shape));
}

/// tcgen05.ld.red: min or max over the loaded values. Which shapes have it; .abs and .NaN are for f32 alone.
constexpr Verdict ld_reduction(isa::DataShape shape, int repeat, isa::ScalarType type, bool absolute, bool propagate_nan) {
  using isa::DataShape, isa::ScalarType;
  if (shape != DataShape::s32x32b && shape != DataShape::s16x32bx2) return breaks(Rule::ld_red, int(shape));
  if (repeat < 2) return breaks(Rule::ld_red, repeat, 2);
  const bool integer = type == ScalarType::u32 || type == ScalarType::s32;
  if (type != ScalarType::f32 && !integer) return breaks(Rule::ld_red, int(type));
  return integer && (absolute || propagate_nan) ? breaks(Rule::ld_red, int(type)) : legal;
}

struct CollectorStep {
  isa::CollectorState next;
  Verdict verdict;
};

/// One MMA on its buffer; `owner` names the operand that the buffer serves.
constexpr CollectorStep step(isa::CollectorState s, isa::CollectorUse use, std::uint64_t owner = 0) {
  using isa::CollectorUse;
  if (use == CollectorUse::fill) return {{true, owner}, legal};
  if (use == CollectorUse::discard) return {{}, legal};
  const bool other = s.owner != 0 && owner != 0 && s.owner != owner;
  const Verdict v = s.filled && !other ? legal : breaks(Rule::collector_fill, int(use));
  // After a report the buffer counts as filled, so that a chain is reported once.
  return {use == CollectorUse::lastuse ? isa::CollectorState{} : isa::CollectorState{true, owner ? owner : s.owner}, v};
}

/// Where two paths meet.
constexpr isa::CollectorState join(isa::CollectorState a, isa::CollectorState b) {
  return {a.filled && b.filled, a.owner == b.owner ? a.owner : 0};
}

/// Types of the two operands' scales and how many elements share one, against the kind.
constexpr Verdict scale_types(isa::MmaKind kind, int block, isa::ScalarType sfa, isa::ScalarType sfb, bool k96 = false,
                              bool wide = false) {
  const auto scaling = isa::block_scaling(kind, block, k96, wide);
  if (!scaling) return breaks(Rule::scale_types, block);
  const bool fine = sfa == isa::ScalarType::ue4m3 || sfa == isa::ScalarType::ue5m3;
  const bool known = sfa == isa::ScalarType::ue8m0 || (fine && scaling->ue4m3);
  return known && sfa == sfb ? legal : breaks(Rule::scale_types, int(sfa));
}

}  // namespace kiln::rules
