// Blocks of a tile in shared memory that the lanes of a warp hold together, as mma.sync and 16x256b lay them out. A
// Fragment says which element each lane holds; the tile's order says whether that takes .trans. PTX ISA "ldmatrix",
// "stmatrix".
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include "dsl/exchange.hpp"
#include "ptx/isa/matrix_move.hpp"

namespace kiln::dsl {

/// What a 32-bit register of a fragment holds.
///   runs   neighbours along the fragment's order: 8 lines of 16 bytes, four lanes a line
///   cells  of 8-bit elements, two neighbours and the same two eight lines further: 16 lines of 8 elements, as the sums
///          of an MMA lie after they are rounded to 8 bits
enum class Holds : unsigned char { runs, cells };

/// Where an element of a tile lies.
struct TilePosition {
  int row, column;
  constexpr bool operator==(const TilePosition&) const = default;
};

/// How the lanes of a warp hold a block of `Rows` x `Cols` elements of a tile of T. `order_`: K, and neighbours in a
/// register are neighbours of a row; MN, of a column. The registers go over the block across that order first: those of
/// a 16 x 16 block of bf16 are A of mma.sync.m16n8k16.
template <class T, int Rows, int Cols, Major order_ = Major::K, Holds holds_ = Holds::runs>
struct Fragment {
  using element = T;
  static constexpr int rows = Rows, cols = Cols;
  static constexpr Major order = order_;
  static constexpr Holds holds = holds_;
  static constexpr int per_register = 32 / T::bits;
  /// Extents across the order and along it: of the block, and of what the lanes' registers of one number hold.
  static constexpr int lines = order == Major::K ? Rows : Cols, run = order == Major::K ? Cols : Rows;
  static constexpr int lines_of_register = holds == Holds::runs ? 8 : 16;
  static constexpr int run_of_register = holds == Holds::runs ? isa::matrix_row_bytes * 8 / T::bits : 8;
  static_assert(lines % lines_of_register == 0 && run % run_of_register == 0 && (holds == Holds::runs || T::bits == 8),
                "a fragment is made of 8 lines of 16 bytes, of 8-bit cells of 16 lines of 8 [dsl-tile-type]");
  /// What one lane holds: elements, and registers.
  static constexpr int elements = Rows * Cols / isa::threads_per_warp, registers = elements / per_register;

  /// Element `i` of a lane: its place in the block.
  static constexpr TilePosition at(int lane, int i) {
    const int number = i / per_register, within = i % per_register;
    const isa::DataShape shape = holds == Holds::runs ? isa::DataShape::m8n8 : isa::DataShape::m16n8;
    const isa::MatrixByte byte = isa::matrix_byte(shape, false, lane, 0, within * T::bits / 8);
    const int stacked = lines / lines_of_register;
    const int line = number % stacked * lines_of_register + (holds == Holds::runs ? byte.row : byte.byte);
    const int along = number / stacked * run_of_register + (holds == Holds::runs ? byte.byte * 8 / T::bits : byte.row);
    return order == Major::K ? TilePosition{line, along} : TilePosition{along, line};
  }
  /// The same on the device, for the lane of this thread: g.lane().
  static U32 row(const U32& lane, int i, Here here = {}) { return place(lane, order == Major::K, at(0, i).row, here); }
  static U32 column(const U32& lane, int i, Here here = {}) {
    return place(lane, order != Major::K, at(0, i).column, here);
  }

 private:
  // Lane and number of an element add up to its place.
  static U32 place(const U32& lane, bool line, int first, Here here) {
    const U32 of_lane =
        line ? apply("shr", lane, 2, here)
             : apply("mul.lo", apply("and", lane, 3, here), holds == Holds::runs ? per_register : 2, here);
    return apply("add", of_lane, first, here);
  }
};

/// One ldmatrix or stmatrix of a fragment: which matrices it moves, and which rows of them the lanes name. Structural.
struct MatrixMove {
  isa::DataShape shape = isa::DataShape::m8n8;
  bool trans = false;
  int packed_bits = 0;     // of elements that are widened to bytes
  int lines = 0, run = 0;  // of one matrix
  int stacked = 0;         // matrices across the fragment's order
  int count = 0;           // matrices; 0: no instruction moves such a fragment
  int registers = 0;       // of a lane
  bool store = false;

  /// Whether an instruction moves so many.
  constexpr bool ok() const { return count == 1 || count == 2 || (count == 4 && shape != isa::DataShape::m16n16); }

  /// That of a fragment in a tile.
  template <class Fragment, class Tile>
  static constexpr MatrixMove of(bool store) {
    constexpr TileShape tile = Tile::shape;
    MatrixMove m;
    m.store = store;
    m.trans = Fragment::order != tile.order;
    m.lines = Fragment::lines_of_register, m.run = Fragment::run_of_register;
    m.registers = Fragment::registers;
    const bool bytes = tile.element.bits == 8;
    if (tile.element.is_unpacked()) m.packed_bits = tile.element.packed_bits;
    const bool cells = Fragment::holds == Holds::cells;
    if (cells)
      m.shape = isa::DataShape::m16n8;
    else if (bytes && m.trans)
      m.shape = isa::DataShape::m16n16, m.lines = 16;
    else if (m.packed_bits)
      m.shape = isa::DataShape::m8n16;
    const bool moves = cells   ? store && m.trans && !m.packed_bits
                       : store ? !m.packed_bits && !(m.trans && tile.element.bits != 16)
                               : !m.trans || tile.element.bits <= 16;
    if (!moves || Fragment::lines % m.lines != 0 || Fragment::rows > tile.rows || Fragment::cols > tile.cols) return m;
    m.stacked = Fragment::lines / m.lines;
    m.count = m.stacked * (Fragment::run / m.run);
    return m;
  }
};

namespace detail {

/// Whether an instruction moves a fragment of a tile.
template <class F, class Tile, bool store>
inline constexpr bool moves =
    std::is_same_v<typename F::element, typename Tile::element> && MatrixMove::of<F, Tile>(store).ok();

}  // namespace detail

/// A warp that moves fragments.
class Matrices : public Exchange {
 public:
  using Exchange::Exchange;

  /// What this lane holds of the fragment F that begins at (row, column) of a tile, wherever the swizzle put it:
  /// ldmatrix<Fragment<bf16, 16, 16>>(tile, 0, 32). One instruction of one, two or four matrices. Along the order in
  /// which the tile is contiguous, the fragment begins at a multiple of 16 bytes. Elements of 4 and 6 bits become bytes
  /// with the element in the low bits. PTX ISA "ldmatrix".
  template <class F, class Tile>
    requires(detail::moves<F, Tile, false>)
  Registers<typename F::element, F::elements> ldmatrix(const Shared<Tile>& from, OperandOf<U32> row,
                                                       OperandOf<U32> column, Here at = {}) {
    require_inside<F, Tile>(row, column, at);
    return {*rec_, load_matrices(MatrixMove::of<F, Tile>(false), Tile::shape, from.address, row, column, at)};
  }
  /// Writes a fragment in the same way. Other lanes of the warp read it after sync(). PTX ISA "stmatrix".
  template <class F, class Tile, LdState s>
    requires(detail::moves<F, Tile, true> && readable<s>)
  void stmatrix(const Shared<Tile>& to, OperandOf<U32> row, OperandOf<U32> column,
                const Registers<typename F::element, F::elements, s>& values, Here at = {}) {
    require_inside<F, Tile>(row, column, at);
    store_matrices(MatrixMove::of<F, Tile>(true), Tile::shape, to.address, row, column, values.operands(at), at);
  }
  // Here only to explain: a fragment that no instruction moves, or arguments that are missing, or others.
  template <class F, class Tile, class... Rest>
    requires(!detail::moves<F, Tile, false>)
  KILN_REFUSED(tile_type, "ldmatrix moves 1, 2 or 4 matrices of the tile's elements: 8 lines of 16 bytes; across the "
                          "tile's order 8 x 8 of 16 bits, or one or two 16 x 16 of 8 bits [dsl-tile-type]")
  Registers<typename F::element, F::elements> ldmatrix(const Shared<Tile>&, const Rest&...);
  template <class F, class Tile, class... Rest>
    requires(!detail::moves<F, Tile, true>)
  KILN_REFUSED(tile_type, "stmatrix moves 1, 2 or 4 matrices of the tile's elements: 8 lines of 16 bytes; across the "
                          "tile's order 8 x 8 of 16 bits, or Holds::cells of 8 bits [dsl-tile-type]")
  void stmatrix(const Shared<Tile>&, const Rest&...);
  template <class F, class Tile, class Row, class Column, class T, int N, LdState s>
    requires(detail::moves<F, Tile, true> && (!std::is_same_v<T, typename F::element> || N != F::elements))
  KILN_REFUSED(register_type, "the fragment holds other elements than the registers, or more or fewer: F::elements "
                              "[dsl-register-type]")
  void stmatrix(const Shared<Tile>&, const Row&, const Column&, const Registers<T, N, s>&, Here at = {});
  template <class F, class Tile, LdState s>
    requires(detail::moves<F, Tile, true> && !readable<s>)
  KILN_REFUSED(ld_wait, KILN_NOT_READABLE)
  void stmatrix(const Shared<Tile>&, OperandOf<U32> row, OperandOf<U32> column,
                const Registers<typename F::element, F::elements, s>&, Here at = {});
  template <class F>
    requires(true)
  KILN_REFUSED(arguments, "ldmatrix<F>(tile, row, column): a shared tile (of a slot: slot.get<Tile>()) and where the "
                          "fragment begins in it, in elements [dsl-arguments]")
  Registers<typename F::element, F::elements> ldmatrix(KILN_WHATEVER);
  template <class F>
    requires(true)
  KILN_REFUSED(arguments, "stmatrix<F>(tile, row, column, registers): a shared tile, where the fragment begins in it, "
                          "in "
                          "elements, then this lane's registers [dsl-arguments]")
  void stmatrix(KILN_WHATEVER);
  template <class F, class... Args>
    requires(sizeof...(Args) < 3)
  KILN_REFUSED(arguments, "ldmatrix<F>(tile, row, column): where the fragment begins in the tile, in elements "
                          "[dsl-arguments]")
  Registers<typename F::element, F::elements> ldmatrix(const Args&...);
  template <class F, class... Args>
    requires(sizeof...(Args) < 4)
  KILN_REFUSED(arguments, "stmatrix<F>(tile, row, column, registers): where the fragment begins in the tile, in "
                          "elements, then this lane's registers [dsl-arguments]")
  void stmatrix(const Args&...);

 private:
  template <class F, class Tile>
  void require_inside(const OperandOf<U32>& row, const OperandOf<U32>& column, Here at) const {
    constexpr int piece = isa::matrix_row_bytes * 8 / Tile::element::bits;
    constexpr bool k_inner = Tile::order == Major::K;
    require_start(row, Tile::rows, F::rows, k_inner ? 1 : piece, at);
    require_start(column, Tile::cols, F::cols, k_inner ? piece : 1, at);
  }
  // A place that host code knows is a multiple of `step`, and `extent` elements lie there.
  void require_start(const OperandOf<U32>& start, int elements, int extent, int step, Here at) const;
  U32 matrix_row(const MatrixMove& m, const TileShape& tile, const U32& base, const OperandOf<U32>& row,
                 const OperandOf<U32>& column, Here at);
  std::vector<ir::Operand> load_matrices(const MatrixMove& m, const TileShape& tile, const U32& from,
                                         const OperandOf<U32>& row, const OperandOf<U32>& column, Here at);
  void store_matrices(const MatrixMove& m, const TileShape& tile, const U32& to, const OperandOf<U32>& row,
                      const OperandOf<U32>& column, const std::vector<ir::Operand>& values, Here at);
};

}  // namespace kiln::dsl
