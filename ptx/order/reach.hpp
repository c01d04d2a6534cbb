// How far a scope reaches. PTX ISA "Scope".
#pragma once

#include <cstdint>

#include "ptx/isa/modifiers.hpp"

namespace kiln::order {

/// Which threads a scope includes, as seen from one of them. Everything beyond the cluster is one.
enum class Reach : std::uint8_t { cta, cluster, grid };
inline constexpr int reaches = 3;

/// Without a scope (volatile) an access reaches everywhere.
constexpr Reach reach_of(isa::Scope s) {
  return s == isa::Scope::cta ? Reach::cta : s == isa::Scope::cluster ? Reach::cluster : Reach::grid;
}

}  // namespace kiln::order
