// Handles: small copyable names for what the kernel builder owns. None of them frees anything.
#pragma once

#include <cstdint>
#include <utility>

#include "dsl/tile.hpp"
#include "dsl/value.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"

namespace kiln::dsl {

/// A slice of a shared tile along K: one operand of one MMA.
template <class Tile>
struct KSlice {
  using tile = Tile;
  U32 address;  // of the tile
  int offset;   // bytes to the slice's first element
};

/// A tile in shared memory.
template <class Tile>
struct Shared {
  using tile = Tile;
  static constexpr int extent = isa::mma_k_bytes * 8 / Tile::element::bits;  // K of one instruction
  U32 address;  // shared::cta, bytes; a multiple of Tile::alignment

  /// The slice that begins at element `k` along K; the instruction's K decides how far it reaches.
  KSlice<Tile> k_slice(int k, Here at = {}) const {
    rules::require<rules::tile_layout(Tile::form != Layout::packed)>();
    address.recorder().require(rules::tile_slice(Tile::cols, k, extent), at);
    return {address, Tile::slice_offset(k)};
  }
  /// The same, checked while compiling.
  template <int k>
  KSlice<Tile> k_slice() const {
    rules::require<rules::first(rules::tile_layout(Tile::form != Layout::packed),
                                rules::tile_slice(Tile::cols, k, extent))>();
    return {address, Tile::slice_offset(k)};
  }
};

/// Where a box lies in a global tensor: what TensorMap::at returns.
template <class Tile>
struct Box {
  ir::Operand map;  // generic address of the tensor map
  U32 inner, outer; // start coordinates, elements
};

/// A kernel parameter that describes a global tensor cut into boxes of one tile.
template <class Tile>
class TensorMap {
 public:
  using tile = Tile;
  TensorMap(Recorder& r, ir::Operand address) : rec_(&r), address_(std::move(address)) {}

  /// The box whose first element is (mn, k): row and column for a K-major tensor.
  Box<Tile> at(OperandOf<U32> mn, OperandOf<U32> k) const {
    const bool k_inner = Tile::order == Major::K;
    return {address_, coordinate(k_inner ? k : mn), coordinate(k_inner ? mn : k)};
  }

 private:
  U32 coordinate(const OperandOf<U32>& v) const { return {*rec_, use(*rec_, v.input())}; }
  Recorder* rec_;
  ir::Operand address_;
};

/// Where a box of three dimensions lies: what TensorMap3d::at returns.
template <class Tile>
struct Box3d {
  ir::Operand map;
  U32 inner, outer, span;  // start coordinates: elements, elements, spans
};

/// The same tensor seen as three dimensions: the elements of a swizzle span (or of 16 bytes), rows, spans of a row. One
/// copy brings a whole tile of several spans. A row of the tensor must be a whole number of spans: what lies behind its
/// end is the next row to TMA.
template <class Tile>
class TensorMap3d {
 public:
  using tile = Tile;
  static_assert(Tile::box_rows_pieces == 1, "one box holds at most 256 rows");
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

/// A kernel parameter that points to global memory.
template <class T>
class Pointer {
 public:
  using element = T;
  Pointer(Recorder& r, ir::Operand address) : address_(r, std::move(address)) {}

  /// The address of element `index`.
  U64 at(const U64& index, Here at = {}) const {
    return apply("add", address_, apply("mul.lo", index, T::bits / 8, at), at);
  }
  const U64& address() const { return address_; }

 private:
  U64 address_;
};

/// The address `columns` behind the start of an allocation.
inline U32 tmem_address(Recorder& rec, const ir::Operand& base, int columns, Here here = {}) {
  if (columns == 0) return {rec, base};
  return {rec, rec.pure(ScalarType::b32, "add.u32", {base, ir::Operand::number(columns)}, here)};
}

/// An accumulator (or any block of cells) in tensor memory: M lanes, N columns of 32 bits.
template <class T, int M, int N>
struct Tmem {
  using element = T;
  static constexpr int lanes = M, columns_held = N;
  Recorder* rec;
  ir::Operand base;  // the register that holds the allocation's address
  int first = 0;     // columns from the allocation's start

  /// `Width` columns from `at`.
  template <int Width>
  Tmem<T, M, Width> columns(int at, Here here = {}) const {
    rec->require(rules::tmem_range(at, Width, N), here);
    return {rec, base, first + at};
  }
  /// `Width` columns from a place that the kernel computes, which must lie inside.
  template <int Width>
  Tmem<T, M, Width> columns(const U32& at, Here here = {}) const {
    rules::require<rules::tmem_range(0, Width, N)>();
    return {rec, apply("add", address(here), at, here).operand(), 0};
  }
  /// The address of the first cell; `lane` in the upper half.
  U32 address(Here here = {}) const { return tmem_address(*rec, base, first, here); }
};

/// Blocks of tensor memory one behind the other, of which the kernel chooses: those of a ring's slots.
template <int count, class Handle>
struct TmemArray {
  Recorder* rec;
  ir::Operand base;
  int first = 0;

  Handle at(const U32& index, Here here = {}) const {
    const U32 start = tmem_address(*rec, base, first, here);
    return {rec, apply("add", apply("mul.lo", index, Handle::columns_held, here), start, here).operand(), 0};
  }
};

}  // namespace kiln::dsl
