// D = A * B^T with B held in the tensor core: tcgen05.mma.ws.
#pragma once

#include "kernels/gemm.hpp"

namespace kiln::kernels {

dsl::Kernel gemm_ws(isa::Target, const dsl::Sizes&);
launch::Contract gemm_ws_problem(const dsl::Kernel&, const dsl::Sizes&);
dsl::Kernel gemm_ws_m64(isa::Target, const dsl::Sizes&);
launch::Contract gemm_ws_m64_problem(const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels
