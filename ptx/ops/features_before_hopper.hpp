// What sm_90 and older targets have, and some of them, or some PTX versions before 8.3, lack.
#pragma once

#include <vector>

#include "ptx/ir/code.hpp"
#include "ptx/isa/features.hpp"

namespace kiln::ops {

/// Adds what `op` needs that came with sm_80 to sm_89, or with PTX 6.4 to 8.3 for targets that were there before.
void add_features_before_hopper(const ir::Operation& op, std::vector<isa::Feature>& out);

}  // namespace kiln::ops
