// The image of tensor memory, in shared or in global memory.
#pragma once

#include <string_view>

#include "lower/engine/registers.hpp"

namespace kiln::lower {

/// Where a cell lies in the image: eight columns of all lanes together, and in them the lanes one after the other. What
/// a warp holds of an accumulator tile of 8 x 8 is then 256 bytes in a row.
inline constexpr int image_lane_bytes = 32, image_group_bytes = 4096;

/// Code that reaches the image, by addresses of 32 or 64 bits.
class Image {
 public:
  Image(Builder& b, const Plan& p) : b_(b), plan_(p) {}

  /// Finds the image; what follows in this scope may use it. Found again for each use, to save registers.
  void find();
  bool is_global() const { return plan_.image == Place::global; }
  /// "shared" or "global".
  std::string_view space() const { return is_global() ? "global" : "shared"; }
  /// A register for an address.
  Register address() const { return b_.reg(is_global() ? ScalarType::b64 : ScalarType::b32); }
  /// `to` = the image's start + the 32-bit register `offset`.
  void add(Register to, Register offset) const;
  /// `to` = where the image has column `column`, in the lane that begins `lane` bytes into each group.
  void find_cell(Register to, Register column, Register lane) const;
  /// The same for a lane and a column that are in registers: its offset in the image, in the place of the column.
  void find_offset(Register column, Register lane) const;
  /// ld and st of words, or of a vector of them.
  std::string load(int words = 1) const { return access("ld", words); }
  std::string store(int words = 1) const { return access("st", words); }

 private:
  std::string access(std::string_view way, int words) const;

  Builder& b_;
  const Plan& plan_;
  Register base_{};
};

/// The accumulator of the engine's warps is in registers while MMAs add to it, in the image when it may be read.
void load_sums(Builder&, const Plan&, const EngineRegisters&, const Share&);
void store_sums(Builder&, const Plan&, const EngineRegisters&, const Share&);

/// What this thread does of the plan's copy `number`. A copy, tcgen05.cp, is a command of the engine: rows of shared
/// memory, which a matrix descriptor describes, go into the image.
void write_copy(Builder&, const Plan&, const EngineRegisters&, std::size_t number);

}  // namespace kiln::lower
