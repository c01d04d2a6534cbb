// Targets and PTX versions: what exists, what each can do, which version a target needs.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kiln::isa {

/// A PTX ISA version, as `.version` writes it.
struct PtxVersion {
  int major = 0;
  int minor = 0;
  constexpr auto operator<=>(const PtxVersion&) const = default;
};

/// The newest that ptxas 13.0 knows.
inline constexpr PtxVersion newest_version{9, 0};

/// How portable a target's code is: `none` runs on later architectures, `f` within its family, `a` on itself alone.
enum class TargetSuffix : char { none = 0, f = 'f', a = 'a' };

/// An `sm_NNN` target. PTX ISA ".target".
struct Target {
  int sm = 0;  // 100 for sm_100a
  TargetSuffix suffix = TargetSuffix::none;
  constexpr bool operator==(const Target&) const = default;
};

inline constexpr Target sm_80{80}, sm_90a{90, TargetSuffix::a};
inline constexpr Target sm_100a{100, TargetSuffix::a}, sm_100f{100, TargetSuffix::f}, sm_103a{103, TargetSuffix::a};
inline constexpr Target sm_103f{103, TargetSuffix::f}, sm_110a{110, TargetSuffix::a}, sm_110f{110, TargetSuffix::f};
inline constexpr Target sm_120a{120, TargetSuffix::a};

/// "sm_100a".
std::string spelling(Target);
/// The target that `text` spells; nothing for text that is not sm_ and digits and an optional a or f.
std::optional<Target> parse_target(std::string_view text);

/// sm_100, 101, 103 and 110 with a suffix carry the tcgen05 family; without a suffix nothing of it assembles.
constexpr bool has_tcgen05(Target t) {
  return t.suffix != TargetSuffix::none && (t.sm == 100 || t.sm == 101 || t.sm == 103 || t.sm == 110);
}
/// Bulk and tensor copies, mbarrier transaction counts, clusters: sm_90 and later.
constexpr bool has_tma(Target t) { return t.sm >= 90; }
constexpr bool has_clusters(Target t) { return t.sm >= 90; }

/// The lowest `.version` that names the target (measured with ptxas 13.0 for sm_100 and later).
constexpr PtxVersion lowest_version(Target t) {
  if (t.sm == 110) return {9, 0};
  if (t.sm == 103 || t.sm == 121 || t.suffix == TargetSuffix::f) return {8, 8};
  if (t.sm == 120) return {8, 7};
  if (t.sm == 100 || t.sm == 101) return {8, 6};
  if (t.sm == 90) return t.suffix == TargetSuffix::a ? PtxVersion{8, 0} : PtxVersion{7, 8};
  if (t.sm == 89) return {7, 8};
  if (t.sm >= 86) return {7, 1};
  return {7, 0};
}

/// Bytes of shared memory that a CTA may have, static and dynamic together (opt-in maximum of the architecture).
/// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr int max_shared_bytes(Target t) {
  switch (t.sm) {
    case 86: case 89: case 120: case 121: return 99 * 1024;
    case 80: case 87: return 163 * 1024;
    default: return 227 * 1024;
  }
}

/// The static part of it. Measured with ptxas 13.0: only a target with an a suffix may have all of it.
constexpr int max_static_shared_bytes(Target t) {
  return t.suffix == TargetSuffix::a ? max_shared_bytes(t) : 48 * 1024;
}

inline constexpr int max_threads_per_cta = 1024;
inline constexpr int threads_per_warp = 32;
/// Named barriers 0...15 of `bar` and `barrier`.
inline constexpr int named_barriers = 16;

/// Registers a thread that setmaxnreg asks for: multiples of the step from lowest to highest.
inline constexpr int setmaxnreg_lowest = 24, setmaxnreg_highest = 256, setmaxnreg_step = 8;

}  // namespace kiln::isa
