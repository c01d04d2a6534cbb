// What fetches of textures and accesses of surfaces take: coordinates, levels, gradients, offsets and depths, as the
// geometry of the instruction has them.
#pragma once

#include "verifier/checks/given_operand.hpp"

namespace kiln::verifier::operands {

/// [texture, sampler, {coordinates}]
bool is_texture_address(const Given&);
/// In braces ptxas takes 1, 2 or 4 words, and uses the first.
bool is_level(const Given&);
/// A vector of floats, one for each direction of the geometry.
bool is_gradient(const Given&);
/// Offsets of a texel, in a vector that may be longer than there are directions.
bool is_texel_offset(const Given&);
/// What the depth of a texel is compared with: coordinates are floats then.
bool is_depth(const Given&);
/// One operand for either. ptxas takes an offset without braces too.
bool is_texel_offset_or_depth(const Given&);
/// [texture], named or in a register of 64 bits.
bool is_texture(const Given&);
/// {values}, or {values}|predicate.
bool is_fetched(const Given&);
/// A value of a surface: how many registers there are, and how wide they are, ptxas does not ask.
bool is_surface_value(const Given&);

}  // namespace kiln::verifier::operands
