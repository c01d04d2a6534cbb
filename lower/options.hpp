// What lowering is asked for.
#pragma once

#include <cstdint>

#include "launch/contract.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::lower {

/// Where what was tensor memory is kept.
enum class Place : std::uint8_t { automatic, shared, global };

struct Options {
  isa::Target target = isa::sm_90a;
  Place image = Place::automatic;
  const launch::Contract* contract = nullptr;  // launches of the module; may be null
};

}  // namespace kiln::lower
