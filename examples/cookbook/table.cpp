// The cookbook as a command: `cookbook run residual --m 300`, `cookbook check block_scaled`, ...
#include <array>

#include "cookbook.hpp"

std::span<const kiln::dsl::Entry> kiln::dsl::kernel_table() {
  static constexpr std::array targets{sm_100a};
  static const std::array table{
      Entry{"residual", "bf16 GEMM, a tile added, rows scaled, sums of squares of rows", targets,
            cookbook::residual_options(), cookbook::residual, cookbook::residual_problem},
      Entry{"block_scaled", "e4m3 GEMM of CTA pairs with scales for blocks of 128 along K", targets,
            cookbook::block_scaled_options(), cookbook::block_scaled, cookbook::block_scaled_problem},
      Entry{"paged_decode", "attention of 64 query rows over paged keys and values", targets,
            cookbook::paged_decode_options(), cookbook::paged_decode, cookbook::paged_decode_problem},
  };
  return table;
}
