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

/// How many CTAs of a cluster the instructions make sense in; zeros where nothing in the function depends on the
/// cluster.
struct ClusterUse {
  std::uint32_t fewest = 0;  // two for a pair, more where a constant mask or rank says so, else one
  std::uint32_t meant = 0;   // two also where another CTA is named: a kernel for any cluster may name itself there
};
ClusterUse cluster_use(const Facts&);

}  // namespace kiln::verifier
