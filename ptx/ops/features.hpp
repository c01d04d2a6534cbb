// What an instruction asks of the target and the `.version`.
#pragma once

#include <vector>

#include "ptx/ir/code.hpp"
#include "ptx/isa/features.hpp"

namespace kiln::ops {

/// The features that an instruction needs, none for what every target has.
std::vector<isa::Feature> features(const ir::Operation&);
/// Those, and what the types of its registers ask for.
std::vector<isa::Feature> features(const ir::Code&, const ir::Operation&);

/// The lowest `.version` that knows the target of a module and all that its instructions need. Of instructions that Kiln
/// does not know it says nothing.
isa::PtxVersion lowest_version(const ir::Module&);

}  // namespace kiln::ops
