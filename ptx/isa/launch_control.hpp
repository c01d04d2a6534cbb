// What clusterlaunchcontrol leaves. PTX ISA "clusterlaunchcontrol.try_cancel".
#pragma once

namespace kiln::isa {

/// Bytes of the answer to a request to cancel a cluster, which the mbarrier counts.
inline constexpr int cancel_answer_bytes = 16;

}  // namespace kiln::isa
