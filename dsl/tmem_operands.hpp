// Operands that live in tensor memory beside the accumulator: A, scale factors, sparsity metadata. KernelBuilder's
// tensor_memory<T>() makes them.
#pragma once

#include "dsl/mma.hpp"

namespace kiln::dsl {

/// One slice of A in tensor memory: an MMA's operand.
template <class T, int M>
struct TmemSlice {
  U32 address;
};

/// A in tensor memory: a row of M in each lane, K elements packed along the columns. PTX ISA "Matrix A in tensor
/// memory".
template <class T, int M, int K>
struct TmemA {
  using element = T;
  static constexpr int columns_held = K * T::bits / 32;
  static constexpr int extent = isa::mma_k_bytes * 8 / T::bits;  // K of one instruction
  Recorder* rec;
  ir::Operand base;
  int first = 0;

  U32 address(Here at = {}) const { return tmem_address(*rec, base, first, at); }
  /// The slice that begins at element k along K.
  TmemSlice<T, M> k_slice(int k, Here at = {}) const {
    rec->require(rules::tile_slice(K, k, extent), at);
    return {tmem_address(*rec, base, first + k * T::bits / 32, at)};
  }
};

/// The scales of one operand for `steps` MMAs along K. PTX ISA "Scale factor layouts".
template <class Mma, isa::ScaleSide side, int steps>
struct ScaleFactors {
  static_assert(Mma::form.block_scale, "only block-scaled MMAs have scale factors");
  static constexpr int group_columns = isa::scale_group_columns(side, Mma::M, Mma::N, Mma::group);
  static constexpr int columns_held = isa::scale_columns(Mma::scales, group_columns, steps);
  Recorder* rec;
  ir::Operand base;
  int first = 0;

  U32 address(Here at = {}) const { return tmem_address(*rec, base, first, at); }
  /// The same for an MMA whose first row has the scales of row `row` of these, a multiple of 32: as many have their
  /// scales in one column.
  ScaleFactors from_row(const U32& row, Here at = {}) const {
    return {rec, apply("add", address(at), apply("div", row, isa::scale_column_rows, at), at).operand(), 0};
  }
  /// Where one MMA finds its scales: a cell, and the byte of it to begin with.
  struct Place {
    U32 address;
    int id;
  };
  Place at(int step, Here here = {}) const {
    rec->require(rules::tmem_range(step, 1, steps), here);
    const isa::ScalePlace p = isa::scale_place(Mma::scales, group_columns, step);
    return {tmem_address(*rec, base, first + p.column, here), p.id};
  }
};

template <class Mma, int steps = 1>
using SFA = ScaleFactors<Mma, isa::ScaleSide::A, steps>;
template <class Mma, int steps = 1>
using SFB = ScaleFactors<Mma, isa::ScaleSide::B, steps>;

/// The scales of one MMA, from their handles.
template <class PlaceA, class PlaceB>
Scales scales(const PlaceA& a, const PlaceB& b)
  requires requires { a.id; b.id; }
{
  return {a.address, b.address, a.id, b.id};
}

/// The metadata of a sparse A for `steps` MMAs along K. PTX ISA "Sparsity metadata".
template <class Mma, int steps = 1>
struct SparseMetadata {
  static_assert(Mma::form.sparse, "only sparse MMAs have metadata");
  static constexpr int columns_held = isa::metadata_columns(Mma::kind, steps);
  Recorder* rec;
  ir::Operand base;
  int first = 0;

  U32 address(Here at = {}) const { return tmem_address(*rec, base, first, at); }
  Metadata at(int step, Here here = {}) const {
    rec->require(rules::tmem_range(step, 1, steps), here);
    const isa::MetadataPlace p = isa::metadata_place(Mma::kind, step);
    return {tmem_address(*rec, base, first + p.column, here), p.selector};
  }
};

/// How tcgen05.cp reads a chunk of scales or an image of metadata: as one column of core matrices, eight rows of 16
/// bytes each.
constexpr isa::SharedDescriptor core_matrix_column() {
  return isa::SharedDescriptor::of(
      {Major::K, isa::Swizzle::none, std::uint32_t(isa::span_bytes(isa::Swizzle::none)), 0});
}

/// The metadata of a sparse A for `steps` MMAs along K in shared memory, as tcgen05.cp.128x128b reads it: images of 128
/// rows by four columns (isa::metadata_nibble), one behind the other along K.
template <class Mma, int steps>
struct MetadataTile {
  using element = u32;
  static constexpr int columns_held = isa::metadata_columns(Mma::kind, steps);
  static constexpr int images = (columns_held + isa::metadata_image_columns - 1) / isa::metadata_image_columns;
  static constexpr int bytes = images * isa::metadata_image_bytes;
  static constexpr int transaction_bytes = bytes;
  static constexpr int alignment = isa::tma_shared_alignment;
  static constexpr isa::SharedDescriptor descriptor() { return core_matrix_column(); }
};

/// Scale factors in shared memory, as tcgen05.cp reads them: chunks of 128 rows by 4 scales, 512 bytes each, the scale
/// index fastest. One bulk copy fills it.
template <class T, int MN, int scales>
struct ScaleTile {
  using element = T;
  static constexpr int chunk_rows = isa::scale_chunk_rows, chunk_bytes = isa::scale_chunk_bytes;
  static constexpr int row_chunks = (MN + chunk_rows - 1) / chunk_rows;
  static constexpr int groups = (scales + isa::scales_per_cell - 1) / isa::scales_per_cell;
  static constexpr int bytes = row_chunks * groups * chunk_bytes;
  static constexpr int transaction_bytes = bytes;
  static constexpr int alignment = isa::tma_shared_alignment;
  static constexpr isa::SharedDescriptor descriptor() { return core_matrix_column(); }
};

}  // namespace kiln::dsl
