// Instructions that came with Hopper, as several earlier ones, for sm_89: of a kernel that is in no cluster and has no
// bulk copies, so that a cluster is its own CTA and only threads read or write shared memory.
#pragma once

#include "lower/earlier/writer.hpp"

namespace kiln::lower {

/// Writes an instruction with those of sm_80; null where there is no such form.
Writer form_before_hopper(const ir::Operation&);

/// The scope and the shared memory of a cluster are those of the CTA.
void say_cta_for_cluster(ir::Instruction&);

/// Every mbarrier.try_wait of a body as mbarrier.test_wait: a wait that never blocks is one that was always too short.
void test_instead_of_trying(std::vector<ir::Statement>&);

}  // namespace kiln::lower
