// Structured sparsity: what metadata of a sparse A says and where it lies in tensor memory. PTX ISA "Sparse matrices".
#pragma once

#include <cstdint>

#include "ptx/isa/tcgen05.hpp"

namespace kiln::isa {

/// Columns of metadata that one MMA reads: one for kind::f16 and tf32, which store the columns in pairs and choose with
/// the descriptor's selector; two for the others.
constexpr int metadata_columns(MmaKind kind) { return kind == MmaKind::f16 || kind == MmaKind::tf32 ? 1 : 2; }

/// Where the metadata of the `step`th MMA along K lies: columns from the first, and the selector.
struct MetadataPlace {
  int column = 0;
  int selector = 0;
  constexpr bool operator==(const MetadataPlace&) const = default;
};
constexpr MetadataPlace metadata_place(MmaKind kind, int step) {
  if (metadata_columns(kind) == 1) return {step & ~1, step & 1};
  return {2 * step, 0};
}

/// Columns for the metadata of `steps` MMAs.
constexpr int metadata_columns(MmaKind kind, int steps) {
  return metadata_columns(kind) == 1 ? (steps + 1) & ~1 : 2 * steps;
}

/// Elements along K of which one nibble of metadata says the kept half: two of four, one of two (tf32), two of four
/// pairs (packed 4-bit kinds).
constexpr int metadata_chunk(MmaKind kind) {
  return kind == MmaKind::tf32 ? 2 : container_bits(kind) == 4 ? 8 : 4;
}

/// Where the nibble of row `m` for chunk `chunk` lies: `row` is the row whose lane of the accumulator's layout holds it,
/// `column` counts from the metadata's. The 16- and 32-bit kinds put both halves of K into eight rows' lanes, and rows m
/// and m + 8 into one cell. PTX ISA "Sparse matrices, Metadata".
struct MetadataCell {
  int row = 0;
  int column = 0;
  int bit = 0;
  constexpr bool operator==(const MetadataCell&) const = default;
};
constexpr MetadataCell metadata_cell(MmaKind kind, int m, int chunk) {
  if (metadata_columns(kind) == 2) return {m, chunk / 8, chunk % 8 * 4};
  const int half = mma_k(kind, true) / metadata_chunk(kind) / 2;  // chunks
  return {m / 16 * 16 + chunk / half * 8 + m % 8, 0, m / 8 % 2 * 16 + chunk % half * 4};
}

/// Whether a nibble of metadata means something: two different places, of which 0x6 names the later first; for tf32 the
/// first of two (0x4) or the second (0xE).
constexpr bool is_selector(MmaKind kind, unsigned nibble) {
  if (kind == MmaKind::tf32) return nibble == 0x4 || nibble == 0xE;
  return nibble == 0x6 || (nibble < 16 && (nibble & 3) < nibble >> 2);
}

/// Metadata in memory, as tcgen05.cp.128x128b takes it to tensor memory: images of 128 lanes by four columns, the words
/// of a lane side by side, for MMAs whose rows are the lanes (M = 128, or 256 over two CTAs). Images follow one another
/// along K, then along the rows. The order of images is Kiln's choice; the PTX ISA leaves memory to the program.
inline constexpr int metadata_image_rows = 128, metadata_image_columns = 4;
inline constexpr int metadata_image_words = metadata_image_rows * metadata_image_columns;
inline constexpr int metadata_image_bytes = 4 * metadata_image_words;

/// Images that so many rows, or K elements of a row, take.
constexpr std::uint64_t metadata_row_images(std::uint64_t rows) {
  return (rows + metadata_image_rows - 1) / metadata_image_rows;
}
constexpr std::uint64_t metadata_k_images(MmaKind kind, std::uint64_t k) {
  const auto step = std::uint64_t(mma_k(kind, true));
  return (std::uint64_t(metadata_columns(kind)) * ((k + step - 1) / step) + metadata_image_columns - 1) /
         metadata_image_columns;
}

/// The 32-bit word, and the first bit in it, of the nibble for chunk number `chunk` of a row, in a buffer with
/// `k_images` images along K.
struct MetadataNibble {
  std::uint64_t word = 0;
  int bit = 0;
  constexpr bool operator==(const MetadataNibble&) const = default;
};
constexpr MetadataNibble metadata_nibble(MmaKind kind, std::uint64_t row, std::uint64_t chunk, std::uint64_t k_images) {
  const auto chunks = std::uint64_t(mma_k(kind, true) / metadata_chunk(kind));  // of one MMA
  const MetadataPlace place = metadata_place(kind, int(chunk / chunks));
  const MetadataCell cell = metadata_cell(kind, int(row % metadata_image_rows), int(chunk % chunks));
  const auto column = std::uint64_t(place.column + place.selector + cell.column);
  const std::uint64_t image = row / metadata_image_rows * k_images + column / metadata_image_columns;
  return {
      image * metadata_image_words + std::uint64_t(cell.row) * metadata_image_columns + column % metadata_image_columns,
      cell.bit};
}

static_assert(metadata_cell(MmaKind::f16, 9, 4) == MetadataCell{9, 0, 16});
static_assert(metadata_cell(MmaKind::tf32, 1, 7) == MetadataCell{9, 0, 12});
static_assert(metadata_nibble(MmaKind::f8f6f4, 129, 34, 2) == MetadataNibble{3 * 512 + 4, 8});

}  // namespace kiln::isa
