// The versions of ptxas that Kiln knows, by the CUDA release that they came with. Each knows one .version more than the one
// before.
#pragma once

#include <charconv>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "ptx/isa/targets.hpp"

namespace kiln::isa {

/// "13.4": of ptxas, not of PTX.
struct PtxasVersion {
  int major = 13, minor = 0;
  constexpr auto operator<=>(const PtxasVersion&) const = default;
};

inline constexpr PtxasVersion oldest_ptxas{13, 0}, newest_ptxas{13, 5};

/// The newest `.version` that a ptxas takes.
constexpr PtxVersion newest_version_of(PtxasVersion p) { return {9, p.minor}; }

/// The oldest ptxas that takes a `.version`; nothing when it is newer than those that Kiln knows.
constexpr std::optional<PtxasVersion> oldest_ptxas_for(PtxVersion v) {
  if (v > newest_version_of(newest_ptxas)) return std::nullopt;
  return v.major < 9 ? oldest_ptxas : PtxasVersion{13, v.minor};
}

/// Some versions in a row, both ends included.
struct PtxasRange {
  PtxasVersion first = oldest_ptxas, last = newest_ptxas;
  constexpr bool has(PtxasVersion v) const { return first <= v && v <= last; }
};

/// "13.4" or "13.4.92", of a version that Kiln knows.
inline std::optional<PtxasVersion> parse_ptxas_version(std::string_view text) {
  PtxasVersion v{0, 0};
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, v.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, v.minor);
  if (minor.ec != std::errc{} || (minor.ptr != end && *minor.ptr != '.')) return std::nullopt;
  return v < oldest_ptxas || newest_ptxas < v ? std::nullopt : std::optional(v);
}
inline std::string spelling(PtxasVersion v) { return std::to_string(v.major) + "." + std::to_string(v.minor); }

}  // namespace kiln::isa
