// clusterlaunchcontrol on GPUs that start every cluster of a grid themselves.
#pragma once

#include "lower/text.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::lower {

/// clusterlaunchcontrol.try_cancel and .query_cancel where no cluster can be cancelled: the answer, 16 bytes of zeros,
/// says so, and arrives as the real one would, in each CTA of the cluster that is to have it. The guard is not part of
/// it. PTX ISA "clusterlaunchcontrol.try_cancel".
Text without_launch_control(const ir::Operation&);

}  // namespace kiln::lower
