// One tile's accumulation, step by step: which bytes of shared memory each MMA along K reads under a layout, and the
// sums after it. Bytes come from the simulator's own walk over an operand, sums from its own arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/isa/shared_descriptor.hpp"

namespace kiln::sim {

/// bf16 operands, f32 sums, four MMAs along K.
struct AccumulationShape {
  int m = 128, n = 32;
  int steps = 4;
  int step_k() const;
  int k() const { return steps * step_k(); }
};

/// Sixteen bytes that an MMA reads: those of one row and eight elements along K, or of eight rows at one element.
struct OperandPiece {
  std::uint32_t address = 0;  // from the tile's start
  int step = 0;
  int row = 0, k = 0;  // of its first element
  bool operator==(const OperandPiece&) const = default;
};

/// How a tile of `rows` x `k` elements lies in shared memory when the tensor core reads it by slices.
struct TilePieces {
  isa::Major major = isa::Major::K;
  isa::Swizzle swizzle = isa::Swizzle::none;
  int rows = 0;
  std::uint32_t bytes = 0;             // of shared memory, holes included
  std::vector<OperandPiece> pieces{};  // in the order of reading
};
TilePieces tile_pieces(isa::Major major, isa::Swizzle swizzle, int rows, const AccumulationShape& shape);

/// Operands and sums. D of a smaller tile is a part of this one's.
struct Accumulation {
  std::vector<int> a{}, b{};               // [row][k]; small integers
  std::vector<std::vector<float>> sums{};  // [step][m][n]: D after that step
};
Accumulation accumulate(const AccumulationShape& shape);

}  // namespace kiln::sim
