// Which tile lies where: for every 16 bytes of shared memory the box of a tensor copy that they came with.
//
// A tag is set when the copy is issued and cleared by any other write, whose meaning is unknown. Both happen in the
// order of issue, which is the order of the data if there is no race. Nothing is kept before the first copy.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptx/isa/tma.hpp"
#include "ptx/tile/shared_operand.hpp"

namespace kiln::ir {
struct Operation;
}

namespace kiln::tile {

/// A box of a tensor as it lies in the shared memory of a CTA: rows of 16-byte pieces.
struct Tile {
  static constexpr std::uint32_t piece = piece_bytes;
  static constexpr int dims = isa::tma_max_rank - 1;
  /// Where something lies in the box: its piece of a row, the row, and that along the box's dimensions 1 and up.
  struct At {
    std::uint32_t piece = 0, row = 0;
    std::array<std::uint32_t, dims> along{};

    bool operator==(const At&) const = default;
  };

  const ir::Operation* operation = nullptr;
  isa::Swizzle swizzle = isa::Swizzle::none;
  std::uint32_t address = 0;
  std::uint32_t pitch = 0;   // bytes from row to row
  std::uint32_t pieces = 0;  // of a row
  std::uint32_t rows = 0;
  std::array<std::uint32_t, dims> extents{};  // rows along each dimension
  bool whole = true;                          // nothing else has been written to it

  bool same_shape(const Tile& o) const {
    return swizzle == o.swizzle && pitch == o.pitch && pieces == o.pieces && extents == o.extents;
  }
  /// The shared address of a piece.
  std::uint32_t at(std::uint32_t row, std::uint32_t column) const {
    return isa::swizzled(swizzle, address + row * pitch + column * piece);
  }
  /// What lies at an address of the tile.
  At find(std::uint32_t shared) const;
};

/// The tiles in one CTA's shared memory.
class CopiedTiles {
 public:
  /// `bytes` of shared memory, nothing copied.
  void reset(std::size_t bytes) { bytes_ = bytes, tags_.clear(), tiles_.clear(); }
  void add(const Tile& tile);
  /// Something else was written.
  void forget(std::uint64_t address, std::uint64_t bytes);
  bool empty() const { return tags_.empty(); }
  /// The tile that the 16 bytes at an address belong to, by number; 0: none.
  std::uint32_t number_at(std::uint32_t address) const {
    const std::size_t k = address / Tile::piece;
    return k < tags_.size() ? tags_[k] : 0;
  }
  const Tile& tile(std::uint32_t number) const { return tiles_[number - 1]; }

 private:
  void set(std::uint32_t& tag, std::uint32_t number) {
    if (tag) tiles_[tag - 1].whole = false;
    tag = number;
  }

  std::size_t bytes_ = 0;
  std::vector<std::uint32_t> tags_;
  std::vector<Tile> tiles_;
};

}  // namespace kiln::tile
