// Operands that were found right: a later one that lies the same way in whole tiles need not be checked piece by piece.
// Nearly all operands of a kernel are such.
#pragma once

#include <vector>

#include "ptx/tile/operand.hpp"

namespace kiln::tile {

class RightOperands {
 public:
  struct Known {
    // What the verdict depends on; addresses count from the first tile's.
    isa::SharedDescriptorFields descriptor{};
    isa::Major major = isa::Major::K;
    isa::MmaKind kind = isa::MmaKind::f16;
    int rows = 0, k_bytes = 0;
    Tile shape{};
    std::vector<std::uint32_t> tiles{};  // all that the operand lies in
    std::optional<TileOperand::Start> start{};
  };

  /// One like it, or null. `first` is the number of the tile that the operand begins in.
  const Known* find(const SharedOperand&, const CopiedTiles&, std::uint32_t first) const;
  /// Remembers an operand that is right, if it lies in whole tiles alone.
  void add(const SharedOperand&, const CopiedTiles&, const TileOperand&);

 private:
  std::vector<Known> known_;
};

}  // namespace kiln::tile
