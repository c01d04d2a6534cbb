#include "sim/tensor_operands.hpp"

#include <cstring>

#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/memory.hpp"

namespace kiln::sim {
namespace {

using isa::Major;
using isa::MmaKind;
using isa::ScalarType;
using u32 = std::uint32_t;

constexpr u32 piece = swizzle_piece;

// Rows of 32 stored bytes along K.
void gather_k_major(const SharedReader& r, const SharedOperand& o, std::uint8_t* out) {
  for (int mn = 0; mn < o.rows; ++mn)
    for (int at = 0; at < isa::mma_k_bytes; at += int(piece))
      std::memcpy(out + mn * isa::mma_k_bytes + at, r.at(isa::k_major_address(o.descriptor, o.swizzle, mn, at)), piece);
}

// The same rows out of memory where the other dimension is contiguous.
void gather_mn_major(const SharedReader& r, const SharedOperand& o, std::uint8_t* out) {
  const int size = o.bits / 8, per_piece = int(piece) / size, k_count = isa::mma_k_bytes / size;
  for (int k = 0; k < k_count; ++k)
    for (int mn = 0; mn < o.rows; mn += per_piece) {
      const std::uint8_t* from = r.at(isa::mn_major_address(o.descriptor, o.swizzle, size, mn, k));
      for (int j = 0; j < per_piece && mn + j < o.rows; ++j)
        std::memcpy(out + (mn + j) * isa::mma_k_bytes + k * size, from + j * size, std::size_t(size));
    }
}

// Stored rows become one element to a byte where elements are narrower than their storage says.
// In 16-byte pieces of the mixed kinds, 16 elements lie packed at the front; in the fp4 kinds nibbles fill everything.
void widen(MmaKind kind, ScalarType type, bool in_tmem, int rows, const std::vector<std::uint8_t>& stored,
           std::vector<std::uint8_t>& out) {
  const int bits = isa::bits(type), k = isa::mma_k(kind);
  const bool packed = isa::container_bits(kind) == 4;
  for (int row = 0; row < rows; ++row)
    for (int e = 0; e < k; ++e) {
      const std::uint8_t* from = stored.data() + row * isa::mma_k_bytes;
      std::uint8_t v = 0;
      if (packed)
        v = std::uint8_t(from[e / 2] >> 4 * (e % 2) & 15);
      else if (in_tmem)
        v = std::uint8_t(bits == 4 ? from[e] >> 2 & 15 : from[e]);
      else {
        const int bit = e % 16 * bits;
        const std::uint8_t* chunk = from + e / 16 * 16;
        v = std::uint8_t((chunk[bit / 8] | chunk[bit / 8 + 1] << 8) >> bit % 8 & ((1 << bits) - 1));
      }
      out[std::size_t(row * k + e)] = v;
    }
}

}  // namespace

const std::uint8_t* SharedReader::at(u32 address) const {
  const View v = cta.shared.view(address);
  if (!v.all_written(piece)) check_written(grid, operation, {v, isa::Space::shared_cta, &cta, address}, piece);
  return v.data;
}

void gather_shared(const SharedReader& r, const SharedOperand& o, std::uint8_t* out) {
  if (o.major == Major::K)
    gather_k_major(r, o, out);
  else
    gather_mn_major(r, o, out);
}

void check_operand(const SharedOperand& o, Cta& cta, const char* what) {
  const std::size_t size = cta.shared.size();
  const int element = std::max(1, o.bits / 8);
  for (int mn = 0; mn < o.rows; ++mn)
    for (int k = 0; k < isa::mma_k_bytes; k += int(piece)) {
      const u32 at = o.major == Major::K
                         ? isa::k_major_address(o.descriptor, o.swizzle, mn, k)
                         : isa::mn_major_address(o.descriptor, o.swizzle, element, mn, k / element) & ~(piece - 1);
      require(rules::memory_bounds(at, piece, reserved_shared_bytes, size),
              "row {} of operand {} at shared address {:#x}; the CTA's shared memory is {:#x} to {:#x}", mn, what, at,
              reserved_shared_bytes, size);
    }
}

const std::uint8_t* Elements::finish(MmaKind kind, ScalarType type, bool in_tmem, int rows) {
  if (isa::bits(type) >= 8) return stored.data();
  wide.resize(std::size_t(rows * isa::mma_k(kind)));
  widen(kind, type, in_tmem, rows, stored, wide);
  return wide.data();
}

}  // namespace kiln::sim
