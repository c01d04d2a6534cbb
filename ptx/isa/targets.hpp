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

/// The newest that Kiln knows. What a text has beyond it is `incomplete`.
inline constexpr PtxVersion newest_version{9, 5};

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
inline constexpr Target sm_107a{107, TargetSuffix::a}, sm_107f{107, TargetSuffix::f};
inline constexpr Target sm_120a{120, TargetSuffix::a};

/// "sm_100a".
std::string spelling(Target);
/// The target that `text` spells; nothing for text that is not sm_ and digits and an optional a or f.
std::optional<Target> parse_target(std::string_view text);

/// Whether Kiln knows what the target has. Architectures with code of a family begin with sm_100. PTX ISA "Targets" of
/// 9.5, and sm_101, which later versions call sm_110.
constexpr bool is_known(Target t) {
  constexpr int architectures[] = {10, 11, 12, 13, 20, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75,
                                   80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121};
  bool listed = false;
  for (const int sm : architectures) listed |= sm == t.sm;
  return listed && (t.suffix == TargetSuffix::none || t.sm >= 100 || (t.sm == 90 && t.suffix == TargetSuffix::a));
}

/// Whether code for one target runs on another. Without a suffix it runs on all later ones, with an f on those of its
/// family, with an a on its own. sm_103 and sm_107 are of the family of sm_100, sm_121 is of that of sm_120.
constexpr bool runs_on(Target code, Target machine) {
  if (machine.sm < code.sm) return false;
  const auto family = [](int sm) { return sm == 103 || sm == 107 ? 100 : sm == 121 ? 120 : sm; };
  switch (code.suffix) {
    case TargetSuffix::none: return true;
    case TargetSuffix::f: return machine.suffix != TargetSuffix::none && family(code.sm) == family(machine.sm);
    case TargetSuffix::a: return machine == code;
  }
  return false;
}

/// sm_100, 101, 103, 107 and 110 with a suffix carry the tcgen05 family; without a suffix nothing of it assembles.
constexpr bool has_tcgen05(Target t) {
  return t.suffix != TargetSuffix::none && (t.sm == 100 || t.sm == 101 || t.sm == 103 || t.sm == 107 || t.sm == 110);
}
/// Bulk and tensor copies, mbarrier transaction counts, clusters: sm_90 and later.
constexpr bool has_tma(Target t) { return t.sm >= 90; }
constexpr bool has_clusters(Target t) { return t.sm >= 90; }

/// The lowest `.version` that names the target, from the oldest that Kiln judges (measured with ptxas 13.5 for sm_75 and later).
constexpr PtxVersion lowest_version(Target t) {
  if (t.sm == 107) return {9, 4};
  if (t.sm == 110) return {9, 0};
  if (t.sm == 103 || t.sm == 121 || t.suffix == TargetSuffix::f) return {8, 8};
  if (t.sm == 120) return {8, 7};
  if (t.sm == 100 || t.sm == 101) return {8, 6};
  if (t.sm == 90) return t.suffix == TargetSuffix::a ? PtxVersion{8, 0} : PtxVersion{7, 8};
  if (t.sm == 89) return {7, 8};
  if (t.sm == 88) return {9, 0};
  if (t.sm == 87) return {7, 4};
  if (t.sm == 86) return {7, 1};
  if (t.sm == 80) return {7, 0};
  if (t.sm == 75) return {6, 3};
  return t.sm == 72 ? PtxVersion{6, 1} : PtxVersion{6, 0};
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
