// The versions of PTX that Kiln knows, as text.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "ptx/isa/targets.hpp"

namespace kiln::isa {

/// The oldest that Kiln writes and judges texts of.
inline constexpr PtxVersion oldest_version{6, 0};

/// Whether there is such a version, from the oldest to the newest that Kiln knows. PTX ISA "Release Notes".
constexpr bool is_known(PtxVersion v) {
  const int last = v.major == 6 ? 5 : v.major < newest_version.major ? 8 : newest_version.minor;
  return v >= oldest_version && v <= newest_version && v.minor >= 0 && v.minor <= last;
}

inline std::string spelling(PtxVersion v) { return std::to_string(v.major) + "." + std::to_string(v.minor); }

/// "9.4", of a version that Kiln knows.
inline std::optional<PtxVersion> parse_ptx_version(std::string_view text) {
  PtxVersion v;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, v.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
  const auto minor = std::from_chars(major.ptr + 1, end, v.minor);
  if (minor.ec != std::errc{} || minor.ptr != end || !is_known(v)) return std::nullopt;
  return v;
}

}  // namespace kiln::isa
