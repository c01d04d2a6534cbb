// Instructions that came with Hopper and are several older ones, for sm_89: of a kernel that is in no cluster and has
// no bulk copies, so that a cluster is its own CTA and nobody but threads reads or writes shared memory.
#pragma once

#include <optional>

#include "lower/text.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::lower {

/// The same with instructions of sm_80; nothing for what has no such form. The guard is not part of it.
std::optional<Text> without_hopper(const ir::Operation&);

/// The scope and the shared memory of a cluster are those of the CTA.
void say_cta_for_cluster(ir::Instruction&);

/// Every mbarrier.try_wait of a body as mbarrier.test_wait: a wait that never blocks is one that was always too short.
void test_instead_of_trying(std::vector<ir::Statement>&);

}  // namespace kiln::lower
