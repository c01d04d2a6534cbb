// clusterlaunchcontrol on GPUs that start every cluster of a grid themselves.
#pragma once

#include "lower/code.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::lower {

/// clusterlaunchcontrol.try_cancel and .query_cancel where no cluster can be cancelled: the answer, 16 bytes of zeros,
/// says so, and arrives as the real one would, in each CTA of the cluster that is to have it. The guard is not part of
/// it. PTX ISA "clusterlaunchcontrol.try_cancel".
void write_without_launch_control(Builder&, const ir::Operation&);

}  // namespace kiln::lower
