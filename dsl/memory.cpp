#include "dsl/memory.hpp"

#include <string>

namespace kiln::dsl {

void require_k_slice(Recorder& r, const TileShape& tile, int k, Here at) {
  const int extent = tile.slice_extent();
  r.require(rules::tile_slice(tile.cols, k, extent), at,
            std::to_string(k) + " of " + std::to_string(tile.cols) + ", in steps of the " + std::to_string(extent) +
                " that one MMA takes");
}

}  // namespace kiln::dsl
