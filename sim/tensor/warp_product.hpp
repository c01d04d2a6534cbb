// The product of a matrix instruction of a warp, or of one warp's share of a wgmma, on gathered operands.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/lanes.hpp"
#include "sim/core/poison.hpp"
#include "sim/core/warp_mma.hpp"

namespace kiln::sim {

struct Grid;

/// Gathered operands: rows with K contiguous, one element per word. D holds C on entry.
struct WarpProduct {
  int m = 0, n = 0;
  std::vector<u32> a{}, b{}, d{};
  std::vector<u8> columns{};    // sparse: the column of B that each stored element of A meets
  std::vector<u32> metadata{};  // which gives those columns, one row of A after the other
  std::vector<u8> scale_a{}, scale_b{};
  std::vector<u8> poison_a{}, poison_b{}, poison_d{};  // rows of A, columns of B and cells of C that have some
  PoisonSource poison = 0;

  WarpProduct(const WarpMma& mma, int rows);
  u32& d_at(int row, int column) { return d[std::size_t(row * n + column)]; }

  /// Notes poison that was read by `s` in a row of A, a column of B, a cell of C.
  void add_poison_a(int row, PoisonSource s) { prepare_poison(s), poison_a[std::size_t(row)] = 1; }
  void add_poison_b(int column, PoisonSource s) { prepare_poison(s), poison_b[std::size_t(column)] = 1; }
  void add_poison_d(int row, int column, PoisonSource s) {
    prepare_poison(s), poison_d[std::size_t(row * n + column)] = 1;
  }
  /// Whether a cell of D is poison.
  bool is_poison(int row, int column) const {
    return poison &&
           (poison_a[std::size_t(row)] || poison_b[std::size_t(column)] || poison_d[std::size_t(row * n + column)]);
  }

 private:
  void prepare_poison(PoisonSource s);
};

/// The element that a container's bits hold: e2m1 in a byte lies in the middle of it. PTX ISA "Packing format used for
/// .e2m1".
u32 contained(const WarpMma& mma, isa::ScalarType type, u32 bits);

/// Fills `columns` and `metadata` out of the metadata that the 32 lanes hold; metadata without a meaning is not
/// modelled.
void select_columns(const WarpMma& mma, const u32* lanes, WarpProduct& p);

/// D = A * B + D, bit for bit as the target's hardware does it.
void multiply(Grid& grid, const WarpMma& mma, WarpProduct& p);

}  // namespace kiln::sim
