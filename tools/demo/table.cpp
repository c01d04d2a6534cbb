// The kernels of the demo.
#include "kernels/demo_rows.hpp"

namespace kiln::dsl {

std::span<const Entry> kernel_table() {
  static const std::array table{kernels::gemm_bf16_row(), kernels::gemm_bf16_basic_row()};
  return table;
}

}  // namespace kiln::dsl
