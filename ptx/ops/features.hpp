// What an instruction asks of the target and the `.version`.
#pragma once

#include <vector>

#include "ptx/ir/code.hpp"
#include "ptx/isa/features.hpp"

namespace kiln::ops {

/// The features that an instruction needs, none for what every target has.
std::vector<isa::Feature> features(const ir::Operation&);

}  // namespace kiln::ops
