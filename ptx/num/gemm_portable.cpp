// The GEMM loops for any processor, four lanes at a time.
#include "ptx/num/gemm_panel.hpp"

#define KILN_LANES 4

namespace kiln::num::portable {

#include "ptx/num/gemm_lanes.inl"

}  // namespace kiln::num::portable
