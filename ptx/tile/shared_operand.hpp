// An operand of the tensor core in shared memory: what its descriptors say, and the addresses of its pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptx/isa/mma_form.hpp"
#include "ptx/isa/shared_descriptor.hpp"

namespace kiln::tile {

/// What swizzles and tensor copies move whole, in bytes.
inline constexpr std::uint32_t piece_bytes = 16;

/// One operand in shared memory.
struct SharedOperand {
  const isa::SharedDescriptorFields& descriptor;
  isa::Swizzle swizzle;
  isa::Major major;
  isa::MmaKind kind;
  isa::ScalarType type;
  int rows;
  int k_bytes;                                   // along K, as stored
  int first_row = 0;                             // of .ws, whose B may be shifted
  const std::vector<std::uint8_t>* zeroed = {};  // .ws: rows from `first_row` on that are taken as zeros and not read

  int container_bytes() const { return std::max(8, isa::container_bits(kind)) / 8; }
  bool skips(int row) const { return zeroed && (*zeroed)[std::size_t(row)]; }
  /// Whether something of `count` rows from `row` on, which may reach beyond the operand, is read.
  bool reads(int row, int count) const {
    for (int r = std::max(row, 0); r < std::min(row + count, rows); ++r)
      if (!skips(r)) return true;
    return false;
  }
};

/// A and B of an MMA as they lie in one CTA. `shape`: what its instruction descriptor says.
SharedOperand operand_a(const isa::MmaForm& form, const isa::InstructionDescriptorFields& shape,
                        const isa::SharedDescriptorFields& descriptor, isa::Swizzle swizzle);
SharedOperand operand_b(const isa::MmaForm& form, const isa::InstructionDescriptorFields& shape,
                        const isa::SharedDescriptorFields& descriptor, isa::Swizzle swizzle);

/// What the documents leave open about the operand's place, in words; nothing if they define it. `name` is A or B.
std::optional<std::string> undocumented(const SharedOperand& operand, const char* name);

/// Calls f(row, address) for every piece of the operand; `row` is the first one that the piece holds something of.
template <class F>
void for_pieces(const SharedOperand& o, F f) {
  constexpr int piece = int(piece_bytes);
  if (o.major == isa::Major::K) {
    for (int row = 0; row < o.rows; ++row)
      for (int at = 0; at < o.k_bytes && !o.skips(row); at += piece)
        f(row, isa::k_major_address(o.descriptor, o.swizzle, o.first_row + row, at));
    return;
  }
  const int size = o.container_bytes(), per_piece = piece / size;
  for (int k = 0; k < o.k_bytes / size; ++k)
    for (int mn = o.first_row / per_piece * per_piece; mn < o.first_row + o.rows; mn += per_piece)
      if (o.reads(mn - o.first_row, per_piece))
        f(mn - o.first_row, isa::mn_major_address(o.descriptor, o.swizzle, size, mn, k));
}

}  // namespace kiln::tile
