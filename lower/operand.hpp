// The fragments of one operand of mma.sync, out of shared memory by ldmatrix or out of the image of tensor memory.
#pragma once

#include <string>

#include "lower/engine.hpp"

namespace kiln::lower {

/// Puts an address in shared memory where the layout's swizzle has it; `key` is overwritten.
void write_exchange(Text&, const Layout&, const std::string& at, const std::string& key);

/// Widens four elements of 4 or 6 bits: `to`, a 32-bit register that has them side by side from its lowest bit on, gets
/// the bytes of what they are multiplied as.
void write_widening(Text&, isa::ScalarType, const std::string& to);

/// Code for A or B of a form. Registers of its own are named by `letter`; fragments go to %lw_f<letter>.
///
/// All K-major operands look alike: an MMA has 32 bytes of K, which are two 8 x 16-byte matrices, whatever the
/// elements. The four matrices of 16 rows or columns by 32 bytes of K are, for A, rows 0-7 and 8-15, then both again
/// further along K; for B the other way round. Where A is sparse, B has 64 bytes of K: the second half is an operand of
/// its own, with the letter e.
class OperandCode {
 public:
  OperandCode(Text&, const Plan&, const Form&, char letter);

  void declare(int fragments) const;
  /// What stays the same for all steps of a command.
  void begin() const;
  /// The addresses of a step.
  void address(std::size_t step) const;
  /// Fragments of tile number `tile`, of 16 rows or columns, from register `first` on; `half`: of 8 columns alone.
  void load(int tile, int first, bool half = false) const;

 private:
  bool is_a() const { return x_ == 'a'; }
  const Layout& layout() const { return is_a() ? form_.a : form_.b; }
  bool in_tmem() const { return is_a() && form_.a_in_tmem; }
  bool is_k_major() const { return layout().major == isa::Major::K; }
  int tiles() const { return is_a() ? form_.share.row_tiles() : (form_.share.half_tiles() + 1) / 2; }
  /// Rows or columns of one warp, in groups of 8.
  int groups() const { return is_a() ? 2 * form_.share.row_tiles() : form_.share.half_tiles(); }

  std::int64_t half_offset() const;
  void find_lane_offset() const;
  void find_start() const;
  void find_matrix() const;
  void find_warp(const char* to) const;
  void begin_columns() const;
  bool is_gathered() const;
  std::uint32_t group_offset() const;
  void begin_gathering() const;
  void load_gathered(int tile, int first, bool half) const;
  bool is_shifted() const { return !is_a() && form_.shifts_columns; }
  void begin_image() const;
  bool follow() const;  // addresses of all tiles follow from that of the first
  std::int64_t tile_offset(int tile) const;
  void exchange_bits(int tile) const;
  isa::ScalarType type() const { return is_a() ? form_.a_type : form_.b_type; }
  /// Elements of 6 or 4 bits, sixteen of them at the front of 16 bytes.
  bool is_narrow() const { return isa::bits(type()) < 8 && !form_.is_packed(); }
  void load_image(int tile, int first) const;
  void load_matrices(int tile, int first, bool half) const;
  void load_narrow(int tile, int first, bool half) const;

  Text& out_;
  const Plan& plan_;
  const Form& form_;
  char x_;
};

}  // namespace kiln::lower
