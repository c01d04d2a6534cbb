// The parts of tensor memory that an instruction names: which operand, and which columns from its address on.
#pragma once

#include <optional>
#include <vector>

#include "ptx/isa/tmem.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier {

/// One operand in tensor memory. The columns are those that are accessed for sure, relative to the address.
struct Footprint {
  enum class Role : std::uint8_t { data, d, a, sfa, sfb, metadata, copied, shifted };

  const ir::Argument* address = nullptr;
  Role role = Role::data;  // `data`: of ld and st, whose lane depends on the warp
  isa::ColumnRange columns{0, 1};
  bool half_lanes = false;  // 16 of each 32 lanes, from the lane of the address on
  std::optional<isa::ColumnRange> read{};  // of a load: the columns of registers that some instruction reads

  /// The columns that matter to the kernel.
  isa::ColumnRange used() const { return read.value_or(columns); }
};

/// What an operand is called in a message.
std::string_view spelling(Footprint::Role);

/// What a well-formed tcgen05 instruction touches of tensor memory; nothing for those that touch none.
std::vector<Footprint> footprints(const Facts&, const ir::Operation&);

/// How many columns `b` begins after `a`, when both have the same base in every execution: the same allocation, plain
/// numbers, or for operands of one instruction the same register.
std::optional<std::int64_t> column_distance(const Facts&, const ir::Argument& a, const ir::Argument& b,
                                            bool one_instruction);

/// Whether the two certainly share a cell.
bool surely_overlap(const Facts&, const Footprint& a, const Footprint& b, bool one_instruction);

inline constexpr std::uint64_t column_bits = 0xFFFF, lane_bits = std::uint64_t{isa::tmem_lanes - 1} << 16;

/// The signed column that an address adds to its base; `column_bits` of it must be known.
constexpr std::int64_t column(flow::Bits added) { return std::int16_t(added.one & column_bits); }

}  // namespace kiln::verifier
