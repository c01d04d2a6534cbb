// Operands that live in tensor memory beside the accumulator: A, scale factors, sparsity metadata. KernelBuilder's
// tensor_memory<T>() makes them.
#pragma once

#include "dsl/mma.hpp"

namespace kiln::dsl {

/// One slice of A in tensor memory: an MMA's operand.
template <class T, int M, SumsLayout layout = sums_layout(M)>
struct TmemSlice {
  U32 address;
};

/// A in tensor memory: the M rows of a CTA, K elements packed along the columns, in the lanes of the sums: where those
/// spread over halves or quarters of the lanes, each part has all of A. PTX ISA "Matrix A in tensor memory".
template <class T, int M, int K, SumsLayout layout_ = sums_layout(M)>
struct TmemA : TmemPlace {
  using element = T;
  static constexpr SumsLayout layout = layout_;
  static constexpr int columns_held = K * T::bits / 32;
  static constexpr int extent = isa::mma_k_bytes * 8 / T::bits;  // K of one instruction

  /// The slice that begins at element k along K.
  TmemSlice<T, M, layout> k_slice(int k, Here at = {}) const {
    rec->require(rules::tile_slice(K, k, extent), at);
    return {address_of(k * T::bits / 32, at)};
  }
};
/// The A of an MMA, in the lanes where it reads it: with .ws, of pairs, of sparse MMAs. `Stored`: the element as it
/// lies there, where that is unpacked.
template <class Mma, int K, class Stored = typename Mma::A>
using TmemAOf = TmemA<Stored, Mma::a_rows, K, Mma::sums>;

/// Where the scales of one operand lie in tensor memory, for `steps` MMAs along K. PTX ISA "Scale factor layouts".
/// Structural.
struct ScaleShape {
  int per_mma = 0;        // scales of a row for one MMA
  int group_columns = 0;  // of four scales for all rows
  int steps = 1;

  static constexpr ScaleShape of(const MmaSpec& mma, isa::ScaleSide side, int steps) {
    return {mma.scales(), isa::scale_group_columns(side, mma.M(), mma.N(), mma.form.group), steps};
  }
  constexpr int columns_held() const { return isa::scale_columns(per_mma, group_columns, steps); }
  /// The column, and the byte of a cell, of the scales of one MMA.
  constexpr isa::ScalePlace place(int step) const { return isa::scale_place(per_mma, group_columns, step); }
};

/// Where one MMA finds its scales: a cell, and the byte of it to begin with.
struct ScaleCell {
  U32 address;
  int id;
};

/// Scales in tensor memory; where they lie is a value.
struct AnyScaleFactors : TmemPlace {
  ScaleShape shape;

  /// The same for an MMA whose first row has the scales of row `row` of these, a multiple of 32: the rows whose scales
  /// lie in one column.
  AnyScaleFactors from_row(const U32& row, Here at = {}) const {
    const U32 column = apply("div", row, isa::scale_column_rows, at);
    return {{rec, apply("add", address(at), column, at).operand(), 0}, shape};
  }
  ScaleCell at(int step, Here here = {}) const {
    rec->require(rules::tmem_range(step, 1, shape.steps), here);
    const isa::ScalePlace p = shape.place(step);
    return {address_of(p.column, here), p.id};
  }
};

/// The scales of one operand for `steps` MMAs along K, as a type.
template <class Mma, isa::ScaleSide side, int steps>
struct ScaleFactors : TmemPlace {
  static_assert(Mma::form.block_scale, "only block-scaled MMAs have scale factors");
  static constexpr ScaleShape shape = ScaleShape::of(Mma::spec, side, steps);
  static constexpr int group_columns = shape.group_columns;
  static constexpr int columns_held = shape.columns_held();

  AnyScaleFactors any() const { return {*this, shape}; }
  /// As AnyScaleFactors::from_row.
  ScaleFactors from_row(const U32& row, Here at = {}) const { return {any().from_row(row, at)}; }
  /// Where one MMA finds its scales.
  ScaleCell at(int step, Here here = {}) const { return any().at(step, here); }
};

template <class Mma, int steps = 1>
using SFA = ScaleFactors<Mma, isa::ScaleSide::A, steps>;
template <class Mma, int steps = 1>
using SFB = ScaleFactors<Mma, isa::ScaleSide::B, steps>;

/// The scales of one MMA.
inline Scales scales(const ScaleCell& a, const ScaleCell& b) { return {a.address, b.address, a.id, b.id}; }

/// Where the metadata of a sparse A lies, for `steps` MMAs along K: in tensor memory, and in shared memory as
/// tcgen05.cp.128x128b reads it, images of 128 rows by four columns (isa::metadata_nibble) that follow one another
/// along K. PTX ISA "Sparsity metadata". Structural.
struct MetadataShape {
  MmaKind kind{};
  int steps = 1;

  constexpr int columns_held() const { return isa::metadata_columns(kind, steps); }
  constexpr int images() const {
    return (columns_held() + isa::metadata_image_columns - 1) / isa::metadata_image_columns;
  }
  constexpr int bytes() const { return images() * isa::metadata_image_bytes; }
  constexpr SlotPart part() const { return {bytes(), bytes()}; }
};

/// Metadata in tensor memory; its shape is a value.
struct AnyMetadata : TmemPlace {
  MetadataShape shape;

  /// Where one MMA finds its metadata.
  Metadata at(int step, Here here = {}) const {
    rec->require(rules::tmem_range(step, 1, shape.steps), here);
    const isa::MetadataPlace p = isa::metadata_place(shape.kind, step);
    return {address_of(p.column, here), p.selector};
  }
};

/// The metadata of a sparse A for `steps` MMAs along K, as a type.
template <class Mma, int steps = 1>
struct SparseMetadata : TmemPlace {
  static_assert(Mma::form.sparse, "only sparse MMAs have metadata");
  static constexpr MetadataShape shape{Mma::kind, steps};
  static constexpr int columns_held = shape.columns_held();

  AnyMetadata any() const { return {*this, shape}; }
  /// As AnyMetadata::at.
  Metadata at(int step, Here here = {}) const { return any().at(step, here); }
};

/// How tcgen05.cp reads a chunk of scales or an image of metadata: as one column of core matrices, eight rows of 16
/// bytes each.
constexpr isa::SharedDescriptor core_matrix_column() {
  return isa::SharedDescriptor::of(
      {Major::K, isa::Swizzle::none, std::uint32_t(isa::span_bytes(isa::Swizzle::none)), 0});
}

/// The metadata of a sparse A for `steps` MMAs along K in shared memory.
template <class Mma, int steps>
struct MetadataTile {
  static constexpr MetadataShape shape{Mma::kind, steps};
  static constexpr SlotPart part = shape.part();
  using element = u32;
  static constexpr int columns_held = shape.columns_held(), images = shape.images();
  static constexpr int bytes = shape.bytes();
  static constexpr int transaction_bytes = bytes;
  static constexpr int alignment = isa::tma_shared_alignment;
  static constexpr isa::SharedDescriptor descriptor() { return core_matrix_column(); }
};

/// Scale factors in shared memory, as tcgen05.cp reads them: chunks of 128 rows by 4 scales, 512 bytes each, the scale
/// index fastest. One bulk copy fills it. Structural.
struct ScaleTileShape {
  int rows = 0, scales = 0;

  constexpr int row_chunks() const { return (rows + isa::scale_chunk_rows - 1) / isa::scale_chunk_rows; }
  constexpr int groups() const { return (scales + isa::scales_per_cell - 1) / isa::scales_per_cell; }
  constexpr int bytes() const { return row_chunks() * groups() * isa::scale_chunk_bytes; }
  constexpr SlotPart part() const { return {bytes(), bytes()}; }
};
template <class T, int MN, int scales>
struct ScaleTile {
  static constexpr ScaleTileShape shape{MN, scales};
  static constexpr SlotPart part = shape.part();
  using element = T;
  static constexpr int chunk_rows = isa::scale_chunk_rows, chunk_bytes = isa::scale_chunk_bytes;
  static constexpr int row_chunks = shape.row_chunks(), groups = shape.groups();
  static constexpr int bytes = shape.bytes();
  static constexpr int transaction_bytes = bytes;
  static constexpr int alignment = isa::tma_shared_alignment;
  static constexpr isa::SharedDescriptor descriptor() { return core_matrix_column(); }
};

}  // namespace kiln::dsl
