// What an instruction does with poison in registers, worked out of its operands' roles.
#pragma once

#include <string_view>
#include <vector>

#include "ptx/isa/modifiers.hpp"
#include "sim/core/program.hpp"

namespace kiln::sim {

/// How the results of an instruction follow from its sources.
enum class PoisonSpread : u8 {
  none,        // the handler does it
  clean,       // they have no poison
  all,         // a source with poison makes all of them so
  bytes,       // byte by byte, at the same place
  pack,        // elements follow each other in the result
  unpack,      // and in the source
  vectors,     // each source is a result's
  elements,    // elements of a packed type, each by itself
  join,        // two sources, the first one above the second
  select,      // the source that is chosen
  logic,       // bit by bit, by a table
  predicates,  // lane by lane, by a table
  shift_left,
  shift_right,
  funnel,
  permute,
  extract,
  insert,
  product  // a zero makes it zero
};

/// A source: a register or a number.
struct PoisonInput {
  Slot slot{};
  u64 value = 0;
  bool is_register = false;
};

/// A register that decides something by its value, in those lanes that matter.
struct DecidingRegister {
  Slot slot{};
  std::string_view as{};
  Mask lanes = all_lanes;
};

/// Of one instruction.
struct PoisonFlow {
  PoisonSpread how = PoisonSpread::none;
  bool only_registers = false;  // it does nothing else
  bool is_hint = false;         // it does nothing
  std::vector<Slot> results{};
  std::vector<PoisonInput> inputs{};
  std::vector<DecidingRegister> deciding{};
  int bits = 32;  // of an element
  u8 table = 0;
  bool is_signed = false;               // shifts, fields
  bool to_left = false, wraps = false;  // funnel shifts
  bool by_float = false;                // slct
  bool reads_carry = false, writes_carry = false;
  bool has_opaque = false;  // a source whose value is not looked at
  isa::PrmtMode permutation = isa::PrmtMode::none;
};

PoisonFlow poison_flow(const Program& program, const ir::Operation& operation);

}  // namespace kiln::sim
