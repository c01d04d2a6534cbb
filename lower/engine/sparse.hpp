// A sparse A: its metadata, out of the image of tensor memory into registers as mma.sp has them, and its elements among
// zeros where the target has no mma.sp of the kind.
#pragma once

#include "lower/engine/form_code.hpp"
#include "lower/engine/image.hpp"
#include "lower/engine/operand.hpp"

namespace kiln::lower {

/// Code for the metadata of a form: one word of each lane for each tile of 16 rows.
///
/// A cell of tensor memory holds what a lane holds for mma.sp. 16 and 32 bits: eight rows' first halves of K, then
/// their second halves, rows m and m + 8 in one cell; lane 4 g + h has row g and half h. Bytes: a row's 64 elements of
/// K are two cells; lane 4 g + 2 c + r has column c of row g + 8 r. So each lane reads the cell of lane 8 (l % 2) + l /
/// 4, and lanes whose metadata mma.sp ignores read what their neighbours do. PTX ISA "Sparse matrices", "Sparse Matrix
/// Fragments".
class MetadataCode {
 public:
  MetadataCode(const FormCode&, const Image&);

  /// What stays the same for all steps of a command.
  void begin() const;
  void find_step(std::size_t step) const;
  void load(int tile) const;
  Register word(int tile) const { return words_[std::size_t(tile)]; }

 private:
  const FormCode& code_;
  const Image& image_;
  Registers words_;
  Register lane_, column_, address_;  // in the image, of the first tile; the lane in bytes
};

/// Code for a sparse A's elements among the zeros that it does not store, for mma.sync of 32 bytes of K.
///
/// Thread t of four has the stored bytes 4 t to 4 t + 3 of each 16, which belong into the four-byte groups 2 t and 2 t
/// + 1 of 32 bytes of K; what is multiplied there are groups t and t + 4. So each thread takes two bytes of another
/// one's.
class ExpansionCode {
 public:
  explicit ExpansionCode(const FormCode&);

  void begin() const;
  /// The tile's stored elements are the first four fragments of `a`; `metadata` as mma.sp has it.
  void expand(int tile, const OperandCode& a, Register metadata) const;
  /// The tile's elements, of the first or the second half of K.
  Term fragments(int tile, bool second) const { return vec(elements_, 8 * tile + 4 * second, 4); }

 private:
  void expand_register(Register to, Register stored, Register metadata, int quarter) const;

  const FormCode& code_;
  Registers elements_;        // eight for each tile
  Registers in_zeros_;        // the selectors of the two stored bytes, which are 0 and 1, and in odd threads 2 and 3
  Register metadata_shift_;   // where the thread's four bits of metadata are
  Registers source_, words_;  // from which lanes the stored elements come; the metadata of the four threads
  Register first_lane_;       // of four
};

}  // namespace kiln::lower
