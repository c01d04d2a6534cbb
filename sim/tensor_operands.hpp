// Operands of the tensor core, gathered out of shared and tensor memory into rows with K contiguous.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/tensor_core.hpp"

namespace kiln::sim {

inline constexpr std::uint32_t swizzle_piece = 16;  // a swizzle moves 16-byte pieces whole

/// Shared memory as the tensor core reads it: 16 bytes at a time, poison reported.
struct SharedReader {
  Grid& grid;
  const ir::Operation* operation;
  Cta& cta;

  const std::uint8_t* at(std::uint32_t address) const;
};

/// One operand in shared memory; `bits` of a container.
struct SharedOperand {
  const isa::SharedDescriptorFields& descriptor;
  isa::Swizzle swizzle;
  isa::Major major;
  int rows;
  int bits;
};

/// Writes `rows` rows of 32 stored bytes along K.
void gather_shared(const SharedReader& reader, const SharedOperand& operand, std::uint8_t* out);
/// Faults unless every piece that the operand covers lies in the CTA's shared memory; `what` names it.
void check_operand(const SharedOperand& operand, Cta& cta, const char* what);

/// Rows of an operand: as stored, and one element to a byte where elements are narrower than their storage says.
struct Elements {
  std::vector<std::uint8_t> stored, wide;

  explicit Elements(int rows)
      : stored(std::size_t(rows * isa_row_bytes) + 1) {}  // sub-byte elements are read two bytes at a time
  /// The rows in the form that ptx/num takes.
  const std::uint8_t* finish(isa::MmaKind kind, isa::ScalarType type, bool in_tmem, int rows);

  static constexpr int isa_row_bytes = 32;
};

}  // namespace kiln::sim
