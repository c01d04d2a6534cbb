// The fragments of one operand of mma.sync, out of shared memory by ldmatrix or out of the image of tensor memory.
#pragma once

#include "lower/engine/form_code.hpp"
#include "lower/engine/image.hpp"

namespace kiln::lower {

/// Exchanges the bits of an address in shared memory as the layout's swizzle does; `key` is overwritten.
void write_exchange(Builder&, const Layout&, Register address, Register key);

/// Widens four elements of 4 or 6 bits: `to`, a 32-bit register that has them side by side from its lowest bit on, gets
/// the bytes of what they are multiplied as.
void write_widening(Builder&, isa::ScalarType, Register to);

/// Elements of 8 bits as f16, for targets whose tensor cores have no products of 8-bit floats: sm_90. ptxas would do
/// the same for an mma.sync of e4m3, but converts all fragments of a step at once, for which there are no registers.
/// `count` fragments from number `from` on, with four elements each: elements `2 * half` and the next one of each
/// become two f16 in the fragments from `to` on. The halves of A and of B multiply each other, whatever place along K
/// they had.
void write_half(Builder&, const Registers& fragments, isa::ScalarType, int from, int to, int count, int half);

/// Which operand: A, B, or of a sparse A's B, which has 64 bytes of K, the second half.
enum class Side : std::uint8_t { a, b, second_half_of_b };

/// Code for A or B of a form.
///
/// All K-major operands look alike: an MMA has 32 bytes of K, which are two 8 x 16-byte matrices, whatever the
/// elements. The four matrices of 16 rows or columns by 32 bytes of K are, for A, rows 0-7 and 8-15, then both again
/// further along K; for B the other way round.
class OperandCode {
 public:
  /// Makes so many registers for fragments. The image need not be found before begin().
  OperandCode(const FormCode&, const Image&, Side, int fragments);

  /// What stays the same for all steps of a command.
  void begin();
  /// The addresses of a step.
  void find_step(std::size_t step);
  /// Fragments of tile number `tile`, of 16 rows or columns, from register `first` on; `half`: of 8 columns alone.
  void load(int tile, int first, bool half = false) const;

  Register fragment(int i) const { return fragments_[std::size_t(i)]; }
  Term fragments(int first, int count) const { return vec(fragments_, first, count); }
  const Registers& registers() const { return fragments_; }
  /// Of K-major operands: the address of this lane's row, less the step.
  Register start() const { return start_; }
  /// By how many columns B is shifted.
  void set_shift(Register columns) { shift_ = columns; }

 private:
  bool is_a() const { return side_ == Side::a; }
  const Layout& layout() const { return is_a() ? form_.a : form_.b; }
  isa::ScalarType type() const { return is_a() ? form_.a_type : form_.b_type; }
  bool in_tmem() const { return is_a() && form_.a_in_tmem; }
  bool is_k_major() const { return layout().major == isa::Major::K; }
  bool is_plain() const { return *layout().swizzle == isa::Swizzle::none; }
  bool is_shifted() const { return !is_a() && form_.shifts_columns; }
  /// Along M or N, of 8 and 32 bits: ldmatrix on sm_90 transposes elements of 16 bits alone.
  bool is_gathered() const { return !in_tmem() && !is_k_major() && form_.kind != isa::MmaKind::f16; }
  /// Elements of 6 or 4 bits, sixteen of them at the front of 16 bytes.
  bool is_narrow() const { return isa::bits(type()) < 8 && !form_.is_packed(); }
  int tiles() const { return is_a() ? form_.share.row_tiles() : (form_.share.half_tiles() + 1) / 2; }
  /// Rows or columns of one warp, in groups of 8.
  int groups() const { return is_a() ? 2 * form_.share.row_tiles() : form_.share.half_tiles(); }
  /// Addresses of all tiles follow from that of the first.
  bool tiles_follow() const;
  std::int64_t tile_offset(int tile) const { return std::int64_t(tile) * 2 * *layout().stride; }
  std::int64_t half_offset() const;
  std::uint32_t group_offset() const;

  void find_warp();
  void find_matrix();
  void find_lane_offset();
  void find_start();
  void begin_columns();
  void begin_image();
  void begin_gathering();
  void find_image_step(std::int64_t offset);
  void find_tile_of_columns(int tile, std::int64_t offset) const;
  void exchange_bits(Register address) const { write_exchange(b_, layout(), address, key_); }
  void load_image(int tile, int first) const;
  void load_matrices(int tile, int first, bool half) const;
  void load_gathered(int tile, int first, bool half) const;
  void load_narrow(int tile, int first, bool half) const;

  Builder& b_;
  const FormCode& code_;
  const Form& form_;
  const Image& image_;
  Side side_;
  Registers fragments_;
  Register warp_;                // the row or the column of warps; in tensor memory, the lane in bytes
  Register start_;               // the address of this lane's row, less the step; in tensor memory, its column
  Register along_mn_, along_k_;  // which of the two matrices along M or N and along K; or the place along M or N
  Registers tile_;               // addresses of a step's tiles
  Register key_;                 // scratch of the exchange
  Register low_{}, high_{};      // in tensor memory: addresses of the two halves of K
  Register shift_{};
};

}  // namespace kiln::lower
