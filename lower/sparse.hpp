// The metadata of a sparse A, out of the image of tensor memory into registers as mma.sp wants it, and what there is
// where mma.sp does not do.
#pragma once

#include <string>

#include "lower/engine.hpp"

namespace kiln::lower {

/// Code for the metadata of a form: one word of each lane for each tile of 16 rows.
///
/// A cell of tensor memory holds what a lane holds for mma.sp. 16 and 32 bits: eight rows' first halves of K, then
/// their second halves, rows m and m + 8 in one cell; lane 4 g + h has row g and half h. Bytes: a row's 64 elements of
/// K are two cells; lane 4 g + 2 c + r has column c of row g + 8 r. So each lane reads the cell of lane 8 (l % 2) + l /
/// 4, and lanes that mma.sp does not ask read what their neighbours do. PTX ISA "Sparse matrices", "Sparse Matrix
/// Fragments".
class MetadataCode {
 public:
  MetadataCode(Text& out, const Plan& plan, const Form& form) : out_(out), plan_(plan), form_(form) {}

  void declare() const;
  /// What stays the same for all steps of a command.
  void begin() const;
  void address(std::size_t step) const;
  void load(int tile) const;
  std::string fragment(int tile) const;

 private:
  Text& out_;
  const Plan& plan_;
  const Form& form_;
};

/// Code for a sparse A's elements among the zeros that it does not store, for mma.sync of 32 bytes of K: registers from
/// %lw_g0 on, eight for each tile, the first four for the first half of K.
///
/// Thread t of four has the stored bytes 4 t to 4 t + 3 of each 16, which belong into the four-byte groups 2 t and 2 t
/// + 1 of 32 bytes of K; what is multiplied there are groups t and t + 4. So each thread takes two bytes of another
/// one's.
class ExpansionCode {
 public:
  ExpansionCode(Text& out, const Form& form) : out_(out), form_(form) {}

  void declare() const;
  void begin() const;
  /// The tile's stored elements are in the first four of A's registers; `metadata` as mma.sp has it.
  void expand(int tile, const std::string& metadata) const;

 private:
  void expand_register(int tile, int half, int row, int quarter) const;

  Text& out_;
  const Form& form_;
};

}  // namespace kiln::lower
