// What `kiln layout` draws: a tile of shared memory, a fragment in the registers of threads, an accumulator in tensor
// memory. Each is a map from indices to an offset, and the first rows of a picture.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/command/cute_layout.hpp"

namespace kiln::command {

/// One map, and its first rows drawn.
struct DrawnLayout {
  std::string name{};                     // "A", "tile"
  std::string maps{};                     // "(row, k) to elements of 16 bits"
  std::vector<LayoutMode> modes{};
  std::optional<CuteSwizzle> swizzle{};   // of byte addresses, after the layout
  std::vector<std::pair<std::string, std::string>> facts{};  // "bytes", "16384"
  std::vector<std::vector<std::string>> picture{};           // rows of cells; the first row and cell are headings
};

/// The layouts of a subject: "SharedTile<bf16, 128, 64, K_major, swizzle_128B>" (or its words alone), a tcgen05.ld, st or
/// mma, a wgmma.mma_async or an mma in PTX. Throws InputError for other text and for a tile that breaks a rule.
std::vector<DrawnLayout> layouts_of(const std::string& subject);

/// "Sw<3,4,3> o (128,64):(64,1)".
std::string notation(const DrawnLayout&);

}  // namespace kiln::command
