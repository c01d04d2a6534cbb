// Instructions and parts of instructions that some targets, or some PTX versions, lack. features.def is the table.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/isa/targets.hpp"

namespace kiln::isa {

enum class Feature : std::uint8_t {
#define FEATURE(id, spelling, major, minor, has) id,
#include "ptx/isa/features.def"
};

constexpr std::string_view spelling(Feature f) {
  constexpr std::string_view spellings[] = {
#define FEATURE(id, spelling, major, minor, has) spelling,
#include "ptx/isa/features.def"
  };
  return spellings[std::size_t(f)];
}

/// Whether a target has the feature; for parts of the tcgen05 family, whether one that has the family does.
constexpr bool has(Feature f, Target t) {
  const bool suffixed = t.suffix != TargetSuffix::none;
  switch (f) {
#define FEATURE(id, spelling, major, minor, condition) \
  case Feature::id:                                    \
    return condition;
#include "ptx/isa/features.def"
  }
  return false;
}

/// The lowest `.version` that knows the feature.
constexpr PtxVersion lowest_version(Feature f) {
  constexpr PtxVersion versions[] = {
#define FEATURE(id, spelling, major, minor, has) {major, minor},
#include "ptx/isa/features.def"
  };
  return versions[std::size_t(f)];
}

/// The lowest `.version` in which this target has it.
constexpr PtxVersion lowest_version(Feature f, [[maybe_unused]] Target t) {
#define FEATURE_LATER(id, major, minor, condition) \
  if (f == Feature::id && (condition)) return {major, minor};
#include "ptx/isa/features.def"
  return lowest_version(f);
}

}  // namespace kiln::isa
