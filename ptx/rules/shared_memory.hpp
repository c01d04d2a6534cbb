// Shared-memory operands: matrix descriptors, tiles, budgets.
#pragma once

#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

constexpr Verdict sdesc_fixed(const isa::SharedDescriptorFields& f) {
  if (f.version != isa::descriptor_version) return breaks(Rule::sdesc_fixed, f.version, isa::descriptor_version);
  return f.reserved == 0 ? legal : breaks(Rule::sdesc_fixed, std::int64_t(f.reserved), 0);
}

constexpr Verdict sdesc_swizzle(std::uint8_t code) {
  return isa::descriptor_swizzle(code) ? legal : breaks(Rule::sdesc_swizzle, code, code == 3 ? 2 : code == 5 ? 4 : 6);
}

/// The 32-byte-atom swizzle and MN-major tf32 belong together.
constexpr Verdict sdesc_atom32(isa::MmaKind kind, isa::Major major, isa::Swizzle s) {
  const bool needs = kind == isa::MmaKind::tf32 && major == isa::Major::MN;
  return needs == (s == isa::Swizzle::b128_atom32) ? legal : breaks(Rule::sdesc_atom32, int(s));
}

/// `start` is the operand's shared address; the first row of a pattern is one span long.
constexpr Verdict sdesc_alignment(isa::Swizzle s, std::uint32_t start, std::uint32_t base_offset) {
  const auto in_pattern = start % std::uint32_t(isa::period_bytes(s));
  if (s == isa::Swizzle::none || in_pattern >> 7 == base_offset ) return legal;
  return breaks(Rule::sdesc_alignment, start, start - in_pattern);
}

/// A tile's row in bytes against its swizzle.
constexpr Verdict tile_span(isa::Swizzle s, std::int64_t row_bytes) {
  const int span = isa::span_bytes(s);
  if (row_bytes <= span || row_bytes % span == 0) return legal;
  return breaks(Rule::tile_span, row_bytes, (row_bytes + span - 1) / span * span);
}

/// `core_matrices`: the tile is swizzled, or made of 16-byte columns.
constexpr Verdict tile_layout(bool core_matrices) { return core_matrices ? legal : breaks(Rule::tile_layout); }

/// A slice of `extent` elements from `at` of a tile with `k` elements along K.
constexpr Verdict tile_slice(std::int64_t k, std::int64_t at, std::int64_t extent) {
  if (at >= 0 && at % extent == 0 && at + extent <= k) return legal;
  return breaks(Rule::tile_slice, at, at < 0 || at + extent > k ? k - extent : at / extent * extent);
}

constexpr Verdict shared_budget(isa::Target t, std::int64_t bytes) {
  const int most = isa::max_shared_bytes(t);
  return bytes <= most ? legal : breaks(Rule::shared_budget, bytes, most);
}

/// Static shared memory that a kernel names.
constexpr Verdict shared_static(std::int64_t bytes, isa::Target t) {
  const int most = isa::max_static_shared_bytes(t);
  return bytes <= most ? legal : breaks(Rule::shared_static, bytes);
}

/// A warp's access takes `wavefronts` of shared memory; `least` would be enough.
constexpr Verdict shared_bank_conflict(std::int64_t wavefronts, std::int64_t least) {
  return wavefronts <= least ? legal : breaks(Rule::shared_bank_conflict, wavefronts, least);
}

}  // namespace kiln::rules
