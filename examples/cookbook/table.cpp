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
      Entry{"bias_gelu", "bf16 GEMM with a bias for each column and gelu", targets, cookbook::bias_gelu_options(),
            cookbook::bias_gelu, cookbook::bias_gelu_problem},
      Entry{"pair", "bf16 GEMM of CTA pairs that are handed tiles while it runs", targets, cookbook::pair_options(),
            cookbook::pair, cookbook::pair_problem},
      Entry{"mxfp8", "e4m3 GEMM whose scales for blocks of 32 the tensor core applies", targets,
            cookbook::mxfp8_options(), cookbook::mxfp8, cookbook::mxfp8_problem},
      Entry{"rms_norm", "rows divided by their root mean square", targets, cookbook::rms_norm_options(),
            cookbook::rms_norm, cookbook::rms_norm_problem},
      Entry{"softmax", "softmax of rows, through a ring that threads read", targets, cookbook::softmax_options(),
            cookbook::softmax, cookbook::softmax_problem},
      Entry{"argmax", "the column of the greatest number of each row", targets, cookbook::argmax_options(),
            cookbook::argmax, cookbook::argmax_problem},
      Entry{"gather", "rows picked by numbers in memory, by TMA gather4", targets, cookbook::gather_options(),
            cookbook::gather, cookbook::gather_problem},
  };
  return table;
}
