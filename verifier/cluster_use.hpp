// What a kernel's instructions say of its cluster.
#pragma once

#include <cstdint>

#include "ptx/ops/operations.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier {

/// A tcgen05 instruction of a CTA pair.
bool is_of_pair(const ir::Operation&);

/// The CTA mask of a multicast, if there is one.
ops::Operand multicast_mask(const ir::Operation&);

/// The fewest CTAs of a cluster that the instructions make sense in: two where they name a pair or another CTA, more
/// where a constant mask or rank does, else one. Zero: nothing in the function depends on the cluster.
std::uint32_t fewest_ctas(const Facts&);

}  // namespace kiln::verifier
