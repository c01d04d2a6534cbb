// Rules of wgmma that only a run can check, and rules of kernels whose MMAs become wgmma. PTX ISA "Asynchronous
// Warpgroup Level Matrix Instructions".
#pragma once

#include "ptx/isa/mma_shape.hpp"
#include "ptx/isa/wgmma.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// `warps` of the CTA from the group's first on; a warpgroup begins at a warp whose number is a multiple of four.
constexpr Verdict wgmma_warpgroup(std::int64_t warps) {
  return warps >= isa::warps_per_warpgroup ? legal : breaks(Rule::wgmma_warpgroup, warps, isa::warps_per_warpgroup);
}

/// Whether wgmma has a type of A and B in a kind of tcgen05.mma.
constexpr bool wgmma_type(isa::MmaKind kind, isa::ScalarType t) {
  using isa::ScalarType;
  switch (kind) {
    case isa::MmaKind::f16: return t == ScalarType::f16 || t == ScalarType::bf16;
    case isa::MmaKind::tf32: return t == ScalarType::tf32;
    case isa::MmaKind::f8f6f4: return t == ScalarType::e4m3 || t == ScalarType::e5m2;
    case isa::MmaKind::i8: return t == ScalarType::u8 || t == ScalarType::s8;
    default: return false;
  }
}

/// An MMA that two warpgroups execute with wgmma, in so many instructions for 64 rows: 128 rows a CTA, columns in chunks
/// of 32.
constexpr Verdict wgmma_form(const isa::MmaForm& f, const isa::MmaShape& s, int parts) {
  isa::MmaForm plain;
  plain.kind = f.kind;
  plain.group = f.group;
  plain.collector = f.collector;  // a hint
  const int rows = s.m / (f.group == isa::CtaGroup::two ? 2 : 1);
  const bool types = wgmma_type(f.kind, s.a) && wgmma_type(f.kind, s.b) && isa::bits(s.d) == 32;
  // Along N, a part begins where a swizzle span does.
  const int step = s.b_major == isa::Major::K ? 32 : 64;
  const bool shape = rows == 2 * isa::wgmma_m && s.n % (step * parts) == 0;
  const bool k_major = s.a_major == isa::Major::K && s.b_major == isa::Major::K;
  const bool majors = k_major || (isa::wgmma_transposes(s.a) && isa::wgmma_transposes(s.b));
  return f == plain && types && shape && majors ? legal : breaks(Rule::wgmma_form, s.m, s.n);
}
constexpr Verdict wgmma_form(const isa::MmaForm& f, const isa::MmaShape& s) {
  return wgmma_form(f, s, isa::wgmma_parts(s.n));
}
/// `one`: the kernel has one accumulator, and one role issues its MMAs.
constexpr Verdict wgmma_sums(bool one) { return one ? legal : breaks(Rule::wgmma_sums); }
/// `in_order`: the accumulator is read from the first column to the last, in whole blocks.
constexpr Verdict wgmma_sums_order(bool in_order) { return in_order ? legal : breaks(Rule::wgmma_sums_order); }
/// Swizzle spans of K in one half of an operand. With more than one, the halves would not be contiguous.
constexpr Verdict wgmma_half(int blocks) { return blocks == 1 ? legal : breaks(Rule::wgmma_half, blocks, 1); }

}  // namespace kiln::rules
