#include "ptx/tile/copied.hpp"

#include <algorithm>

namespace kiln::tile {

Tile::At Tile::find(std::uint32_t shared) const {
  const std::uint32_t offset = isa::swizzled(swizzle, shared) - address;
  At at;
  at.row = offset / pitch;
  at.piece = offset % pitch / piece;
  at.along[0] = at.row;
  if (extents[0] == rows) return at;
  std::uint32_t left = at.row;
  for (std::size_t d = 0; d < extents.size(); left /= extents[d++]) at.along[d] = left % extents[d];
  return at;
}

void CopiedTiles::add(const Tile& tile) {
  if (tags_.empty()) tags_.resize(bytes_ / Tile::piece + 1);
  tiles_.push_back(tile);
  for (std::uint32_t row = 0; row < tile.rows; ++row)
    for (std::uint32_t column = 0; column < tile.pieces; ++column)
      if (const std::size_t k = tile.at(row, column) / Tile::piece; k < tags_.size())
        set(tags_[k], std::uint32_t(tiles_.size()));
}

void CopiedTiles::forget(std::uint64_t address, std::uint64_t bytes) {
  if (tags_.empty() || bytes == 0) return;
  const std::size_t last = std::min<std::size_t>((address + bytes - 1) / Tile::piece, tags_.size() - 1);
  for (std::size_t k = address / Tile::piece; k <= last; ++k) set(tags_[k], 0);
}

}  // namespace kiln::tile
