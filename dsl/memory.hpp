// Handles: small copyable names for what the kernel builder owns. None of them frees anything.
#pragma once

#include <cstdint>
#include <utility>

#include "dsl/tile.hpp"
#include "dsl/value.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"

namespace kiln::dsl {

/// A slice of a shared tile along K: one operand of one MMA. Its tile is a value.
struct AnySlice {
  U32 address;  // of the tile
  int offset;   // bytes to the slice's first element
  TileShape shape;
};
/// The same of a tile that is a type.
template <class Tile>
struct KSlice {
  using tile = Tile;
  U32 address;
  int offset;
  AnySlice any() const { return {address, offset, Tile::shape}; }
};

/// The slice of one MMA that begins at element `k` must be one of the tile's.
void require_k_slice(Recorder& r, const TileShape& tile, int k, Here at);

/// A tile in shared memory whose shape is a value: what it breaks, build() reports.
struct AnyShared {
  U32 address;  // shared::cta, bytes; a multiple of the shape's alignment
  TileShape shape;

  /// The slice that begins at element `k` along K; the instruction's K decides how far it reaches.
  AnySlice k_slice(int k, Here at = {}) const {
    address.recorder().require(rules::tile_layout(shape.form != Layout::packed), at);
    require_k_slice(address.recorder(), shape, k, at);
    return {address, shape.slice_offset(k), shape};
  }
};
/// Whether a tensor core reads a tile, and whether a slice along K begins at `k`; of what is no tile nothing is known.
template <class Tile>
constexpr rules::Verdict k_layout() {
  if constexpr (requires { Tile::form; }) return rules::tile_layout(Tile::form != Layout::packed);
  else return rules::legal;
}
template <class Tile>
constexpr rules::Verdict k_start(int k) {
  if constexpr (requires { Tile::form; }) return rules::tile_slice(Tile::cols, k, Tile::shape.slice_extent());
  else return rules::legal;
}

/// A tile in shared memory whose shape is a type.
template <class Tile>
struct Shared {
  using tile = Tile;
  U32 address;

  AnyShared any() const { return {address, Tile::shape}; }

  /// Whether a slice of so many columns, or rows, is a tile.
  template <int N>
  static constexpr bool slices_columns =
      Tile::order == Major::K && N > 0 && N <= Tile::cols && N % (Tile::shape.span() * 8 / Tile::element::bits) == 0;
  template <int M>
  static constexpr bool slices_rows =
      Tile::order == Major::K && M > 0 && M <= Tile::rows && M % 8 == 0;

  /// `N` columns of a K-major tile from `at`, both whole spans of the swizzle: a tile of its own.
  template <int N>
    requires(slices_columns<N>)
  auto columns(int at, Here here = {}) const {
    constexpr int span = Tile::shape.span() * 8 / Tile::element::bits;
    Recorder& r = address.recorder();
    r.require(rules::tile_slice(Tile::cols, at, span), here);
    r.require(rules::tile_slice(Tile::cols, at + N - span, span), here);
    using Slice = SharedTile<typename Tile::element, Tile::rows, N, Tile::order, Tile::form, Tile::shape.readers,
                             N == span ? 0 : Tile::shape.whole>;
    return Shared<Slice>{apply("add", address, at / span * Tile::block_bytes, here)};
  }
  /// The same from a place that the kernel computes, which must be a multiple of the span inside of the tile.
  template <int N>
    requires(slices_columns<N>)
  auto columns(const U32& at, Here here = {}) const {
    constexpr int span = Tile::shape.span() * 8 / Tile::element::bits;
    const auto first = columns<N>(0, here);
    const U32 bytes = apply("mul.lo", apply("div", at, span, here), Tile::block_bytes, here);
    return decltype(first){apply("add", first.address, bytes, here)};
  }
  /// `M` rows of a K-major tile from `at`, both multiples of the 8 rows after which a swizzle repeats: a tile that lies
  /// in it.
  template <int M>
    requires(slices_rows<M>)
  auto rows(int at, Here here = {}) const {
    constexpr int repeat = 8;
    Recorder& r = address.recorder();
    r.require(rules::tile_slice(Tile::rows, at, repeat), here);
    r.require(rules::tile_slice(Tile::rows, at + M - repeat, repeat), here);
    constexpr int whole = Tile::shape.whole ? Tile::shape.whole : Tile::rows;
    using Slice = SharedTile<typename Tile::element, M, Tile::cols, Tile::order, Tile::form, Tile::shape.readers,
                             Tile::blocks == 1 || M == whole ? 0 : whole>;
    return Shared<Slice>{apply("add", address, at * Tile::row_pitch, here)};
  }
  /// The same from a row that the kernel computes, which must be a multiple of 8 inside of the tile.
  template <int M>
    requires(slices_rows<M>)
  auto rows(const U32& at, Here here = {}) const {
    const auto first = rows<M>(0, here);
    return decltype(first){apply("add", address, apply("mul.lo", at, Tile::row_pitch, here), here)};
  }

  /// The same bytes as a tile of the other major, whose rows are this one's columns: load_row(tile.transposed(), k)
  /// reads column k of an MN-major tile, which lies in one piece.
  auto transposed() const {
    constexpr Major other = Tile::order == Major::K ? Major::MN : Major::K;
    using View = SharedTile<typename Tile::element, Tile::cols, Tile::rows, other, Tile::form, Tile::shape.readers,
                            Tile::shape.whole>;
    return Shared<View>{address};
  }

  // Here only to explain: no place, or no slice, or arithmetic with the tile itself. `Of` is what the messages of both
  // compilers then show beside the mistake.
  template <class X>
    requires(ReadsAsValue<X> || std::is_arithmetic_v<X>)
  KILN_REFUSED(value_kind, "load(tile) reads its elements, tile.address is a U32, tile.rows<M>(at) a part "
                           "[dsl-value-kind]")
  U32 operator+(const X&) const;
  template <class X>
    requires(ReadsAsValue<X> || std::is_arithmetic_v<X>)
  KILN_REFUSED(value_kind, "load(tile) reads its elements, tile.address is a U32 [dsl-value-kind]")
  U32 operator*(const X&) const;
  template <int N, class At, class Of = Tile>
    requires(!slices_columns<N> || std::is_floating_point_v<At> ||
             (std::is_class_v<At> && !std::is_convertible_v<At, U32>))
  KILN_REFUSED(tile_slice, "columns<N>(at) of a K-major tile: N and at are whole spans of the swizzle inside of the "
                           "tile, "
                           "`at` a host integer or a U32 [shared-tile-slice]")
  Shared columns(const At&, Here = {}) const;
  template <int M, class At, class Of = Tile>
    requires(!slices_rows<M> || std::is_floating_point_v<At> ||
             (std::is_class_v<At> && !std::is_convertible_v<At, U32>))
  KILN_REFUSED(tile_slice, "rows<M>(at) of a K-major tile: 8, 16, ... rows inside of the tile, `at` a host integer or "
                           "a U32 [shared-tile-slice]")
  Shared rows(const At&, Here = {}) const;

  /// As AnyShared::k_slice.
  KSlice<Tile> k_slice(int k, Here at = {}) const requires(k_layout<Tile>().ok()) {
    require_k_slice(address.recorder(), Tile::shape, k, at);
    return {address, Tile::shape.slice_offset(k)};
  }
  // Here only to explain: the kernel's values choose no slice.
  template <class K>
    requires(ReadsAsValue<K>)
  KILN_REFUSED(value_kind, "a slice begins at a host integer: `for (int k = 0; k < K; k += 16)` unrolls "
                           "[dsl-value-kind]")
  KSlice<Tile> k_slice(const K& k, Here at = {}) const;
  template <class K, class Of = Tile>
    requires(std::is_integral_v<K> && !k_layout<Tile>().ok())
  KILN_REFUSED(tile_layout, "a tensor core reads core-matrix or swizzled tiles; packed rows serve TMA and threads "
                            "alone "
                            "[shared-tile-layout]")
  KSlice<Tile> k_slice(const K& k, Here at = {}) const;
  /// The same, checked while compiling.
  template <int k>
    requires(k_layout<Tile>().ok() && k_start<Tile>(k).ok())
  KSlice<Tile> k_slice() const {
    return {address, Tile::shape.slice_offset(k)};
  }
  template <int k, class Of = Tile>
    requires(!k_start<Tile>(k).ok())
  KILN_REFUSED(tile_slice, "a K slice must start at a multiple of the instruction's K and lie inside the tile "
                           "[shared-tile-slice]")
  KSlice<Tile> k_slice() const;
};

/// Where a box lies in a global tensor: what AnyTensorMap::at returns.
struct AnyBox {
  TileShape shape;
  ir::Operand map;   // generic address of the tensor map
  U32 inner, outer;  // start coordinates, elements
};
/// The same of a tile that is a type: what TensorMap::at returns.
template <class Tile>
struct Box {
  ir::Operand map;
  U32 inner, outer;
  AnyBox any() const { return {Tile::shape, map, inner, outer}; }
};

/// A kernel parameter that describes a global tensor cut into boxes of one tile, whose shape is a value.
class AnyTensorMap {
 public:
  AnyTensorMap(Recorder& r, ir::Operand address, TileShape shape)
      : rec_(&r), address_(std::move(address)), shape_(shape) {}

  /// The box whose first element is (mn, k): row and column for a K-major tensor.
  AnyBox at(const OperandOf<U32>& mn, const OperandOf<U32>& k) const {
    const bool k_inner = shape_.order == Major::K;
    return {shape_, address_, coordinate(k_inner ? k : mn), coordinate(k_inner ? mn : k)};
  }

 private:
  U32 coordinate(const OperandOf<U32>& v) const { return {*rec_, use(*rec_, v.input())}; }
  Recorder* rec_;
  ir::Operand address_;
  TileShape shape_;
};
/// The same of a tile that is a type.
template <class Tile>
class TensorMap {
 public:
  using tile = Tile;
  TensorMap(Recorder& r, ir::Operand address) : map_(r, std::move(address), Tile::shape) {}
  /// A map that lies in global memory, written before this grid or acquired by fence_proxy_tensormap_generic.
  explicit TensorMap(const U64& address) : TensorMap(address.recorder(), address.operand()) {}

  /// As AnyTensorMap::at.
  Box<Tile> at(const OperandOf<U32>& mn, const OperandOf<U32>& k) const {
    AnyBox box = map_.at(mn, k);
    return {std::move(box.map), std::move(box.inner), std::move(box.outer)};
  }
  // Here only to explain: one coordinate.
  template <class At>
    requires(true)
  KILN_REFUSED(arguments, "at(row, column): where the box begins, in elements [dsl-arguments]")
  Box<Tile> at(const At&) const;
  KILN_OTHERWISE(arguments, "at(row, column): where the box begins, in elements [dsl-arguments]")
  Box<Tile> at(KILN_WHATEVER) const;

 private:
  AnyTensorMap map_;
};

/// Where a box of three dimensions lies: what TensorMap3d::at returns.
template <class Tile>
struct Box3d {
  ir::Operand map;
  U32 inner, outer, span;  // start coordinates: elements, elements, spans
};

/// The same tensor seen as three dimensions: the elements of a swizzle span (or of 16 bytes), rows, spans of a row. One
/// copy brings a whole tile of several spans. A row of the tensor must be a whole number of spans: what follows its
/// end is the next row to TMA.
template <class Tile>
class TensorMap3d {
 public:
  using tile = Tile;
  static_assert(Tile::shape.box_rows_pieces() == 1, "one box holds at most 256 rows");
  static constexpr int span_elements = Tile::box_inner;
  TensorMap3d(Recorder& r, ir::Operand address) : rec_(&r), address_(std::move(address)) {}

  /// The box whose first element is (mn, k), where `k` (or `mn`, if that is contiguous) is a multiple of the span.
  Box3d<Tile> at(OperandOf<U32> mn, OperandOf<U32> k) const {
    const bool k_inner = Tile::order == Major::K;
    const U32 outer = coordinate(k_inner ? mn : k), along = coordinate(k_inner ? k : mn);
    return {address_, {*rec_, ir::Operand::number(0)}, outer, apply("div", along, span_elements, Here::nowhere())};
  }

 private:
  U32 coordinate(const OperandOf<U32>& v) const { return {*rec_, use(*rec_, v.input())}; }
  Recorder* rec_;
  ir::Operand address_;
};

/// A kernel parameter that points to global memory; the type of its elements is a value.
class AnyPointer {
 public:
  AnyPointer(ElementType element, U64 address) : element_(element), address_(std::move(address)) {}

  /// The address of element `index`.
  U64 at(const U64& index, Here at = {}) const {
    return apply("add", address_, apply("mul.lo", index, element_.bits / 8, at), at);
  }
  const U64& address() const { return address_; }
  ElementType element() const { return element_; }

 private:
  ElementType element_;
  U64 address_;
};
/// The same where the type of its elements is a type.
template <class T>
class Pointer {
 public:
  using element = T;
  Pointer(Recorder& r, ir::Operand address) : pointer_(element_type<T>, U64(r, std::move(address))) {}

  /// As AnyPointer::at; a U32 is widened.
  U64 at(const OperandOf<U64>& index) const {
    return pointer_.at(index.value ? *index.value : U64(address().recorder(), ir::Operand::number(index.constant)),
                       index.at);
  }
  template <class Index>
    requires(std::is_same_v<read_as<Index>, U32>)
  U64 at(const Index& index, Here at = {}) const {
    return pointer_.at(widen(U32(index), at), at);
  }
  const U64& address() const { return pointer_.address(); }
  const AnyPointer& any() const { return pointer_; }
  // Here only to explain: no index, or a way to read that a pointer of the host has.
#define KILN_POINTER_TEXT                                                                                              \
  "pointer.at(index) is the address of an element, ld_global<f32>(pointer.at(index)) reads it, st_global(address, x) " \
  "writes it [dsl-arguments]"
  KILN_OTHERWISE(arguments, KILN_POINTER_TEXT)
  U64 at() const;
  KILN_OTHERWISE(arguments, KILN_POINTER_TEXT)
  rules::Refused operator*() const;
  template <class Index>
    requires(true)
  KILN_REFUSED(arguments, KILN_POINTER_TEXT)
  rules::Refused operator[](const Index&) const;
#undef KILN_POINTER_TEXT

 private:
  AnyPointer pointer_;
};

/// The address `columns` after the start of an allocation, whose address is in a register.
inline U32 tmem_address(Recorder& rec, const ir::Operand& base, int columns, Here here = {}) {
  if (columns == 0) return {rec, base};
  return {rec, rec.pure(ScalarType::b32, "add.u32", {base, ir::Operand::number(columns)}, here)};
}

/// Where something begins in tensor memory.
struct TmemPlace {
  Recorder* rec;
  ir::Operand base;  // the register that holds the allocation's address
  int first = 0;     // columns from the allocation's start

  /// The address of the first cell; the lane is in the upper half.
  U32 address(Here here = {}) const { return tmem_address(*rec, base, first, here); }
  /// The same of a column from there on.
  U32 address_of(int column, Here here) const { return tmem_address(*rec, base, first + column, here); }
  /// The same of the `index`-th of equal blocks that follow one another.
  U32 address_of(const U32& index, int columns, Here here) const {
    const U32 start = address(here);
    return apply("add", apply("mul.lo", index, columns, here), start, here);
  }
};

/// A block of cells in tensor memory whose element type and extents are values: 128 lanes, `count` columns of 32 bits.
struct AnyTmem : TmemPlace {
  ElementType element;
  int count;

  /// `width` columns from `at`.
  AnyTmem columns(int at, int width, Here here = {}) const {
    rec->require(rules::tmem_range(at, width, count), here);
    return {{rec, base, first + at}, element, width};
  }
  /// `width` columns from a place that the kernel computes, which must lie inside.
  AnyTmem columns(const U32& at, int width, Here here = {}) const {
    rec->require(rules::tmem_range(0, width, count), here);
    return {{rec, apply("add", address(here), at, here).operand(), 0}, element, width};
  }
};

/// How the rows and columns of a CTA's sums lie in the 128 lanes. PTX ISA "Data Path Layout Organization".
///   rows             row r in lane r, all columns: M = 128, and M = 256 of a pair
///   half_of_lanes    row r in lane 32 (r / 16) + r % 16, all columns; the other lanes hold nothing: M = 64
///   column_halves    row r in lane r the first half of the columns, in lane 64 + r the second: M = 128 of a pair,
///                    M = 64 with .ws
///   column_quarters  row r in lanes r, 32 + r, 64 + r and 96 + r a quarter of the columns each: M = 32 with .ws
enum class SumsLayout : unsigned char { rows, half_of_lanes, column_halves, column_quarters };

/// The layout that a data path of an MMA writes.
constexpr SumsLayout sums_layout(isa::DataPath path) {
  switch (path) {
    case isa::DataPath::C:
    case isa::DataPath::F: return SumsLayout::half_of_lanes;
    case isa::DataPath::B:
    case isa::DataPath::E: return SumsLayout::column_halves;
    case isa::DataPath::G: return SumsLayout::column_quarters;
    default: return SumsLayout::rows;
  }
}
/// The layout that a block with so many rows has where no MMA says otherwise.
constexpr SumsLayout sums_layout(int rows) { return rows == 64 ? SumsLayout::half_of_lanes : SumsLayout::rows; }

/// An accumulator (or any block of cells) in tensor memory: M lanes that hold something, N columns of 32 bits.
template <class T, int M, int N, SumsLayout layout_ = sums_layout(M)>
struct Tmem : TmemPlace {
  using element = T;
  static constexpr SumsLayout layout = layout_;
  static constexpr int lanes = M, columns_held = N;
  /// How many columns of its row one thread of a warpgroup holds.
  static constexpr int thread_columns = layout == SumsLayout::half_of_lanes ? N / 2 : N;

  AnyTmem any() const {
    static_assert(layout != SumsLayout::half_of_lanes, "half of the lanes hold nothing: use the type");
    return {*this, element_type<T>, N};
  }

  /// `Width` columns from `at`.
  template <int Width>
  Tmem<T, M, Width, layout> columns(int at, Here here = {}) const {
    rec->require(rules::tmem_range(at, Width, N), here);
    return {{rec, base, first + at}};
  }
  /// `Width` columns from a place that the kernel computes, which must lie inside.
  template <int Width>
    requires(rules::tmem_range(0, Width, N).ok())
  Tmem<T, M, Width, layout> columns(const U32& at, Here here = {}) const {
    return {{rec, apply("add", address(here), at, here).operand(), 0}};
  }
  // Here only to explain: a place of another kind, or more columns than there are `Of`.
  template <int Width, class At>
    requires(std::is_floating_point_v<At> || (std::is_class_v<At> && !std::is_convertible_v<At, U32>))
  KILN_REFUSED(value_kind, "a column is a host integer or a U32 [dsl-value-kind]")
  Tmem<T, M, Width, layout> columns(const At& at, Here here = {}) const;
  template <int Width, class At, class Of = Tmem>
    requires(std::is_convertible_v<At, U32> && !rules::tmem_range(0, Width, N).ok())
  KILN_REFUSED(tmem_range, "the columns used must lie inside the allocation [tcgen05-tmem-range]")
  Tmem<T, M, Width, layout> columns(const At& at, Here here = {}) const;
  KILN_OTHERWISE_OF(arguments, "columns<Width>(at): so many columns from one on, a host integer or a U32 "
                               "[dsl-arguments]", int Width)
  Tmem<T, M, Width, layout> columns() const;
};

/// Where a block of sums begins: `base` is a register or, where columns have no address, a number.
struct SumsPlace {
  ir::Operand base;
  int first = 0;  // columns from there
};

/// Equal blocks of tensor memory that follow one another, of which the kernel chooses: those of a ring's slots.
struct AnyTmemArray : TmemPlace {
  int columns = 0;  // of a block

  /// The place of one.
  TmemPlace at(const U32& index, Here here = {}) const {
    return {rec, address_of(index, columns, here).operand(), 0};
  }
};
/// `count` blocks of tensor memory whose type is known.
template <int count, class Handle>
struct TmemArray : TmemPlace {
  /// One of them.
  Handle at(const U32& index, Here here = {}) const {
    return {{rec, address_of(index, Handle::columns_held, here).operand(), 0}};
  }
  /// The same where the host knows which.
  Handle at(int index) const { return {{rec, base, first + index * Handle::columns_held}}; }
};

}  // namespace kiln::dsl
