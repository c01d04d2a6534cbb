// What all of lower writes PTX with.
#pragma once

#include "ptx/ir/builder.hpp"

namespace kiln::lower {

using ir::at;
using ir::bits;
using ir::Builder;
using ir::Condition;
using ir::dotted;
using ir::JumpTarget;
using ir::Register;
using ir::Registers;
using ir::Term;
using ir::vec;
using isa::ScalarType;

/// How the names begin that a lowered kernel has and others may not have.
inline constexpr const char* reserved_prefix = "lw_";

/// Every lane of a warp.
inline Term all_lanes() { return bits(0xffffffff); }
inline void meet_in_warp(Builder& b) { b.op("bar.warp.sync", all_lanes()); }

/// A register, a variable or a number as it is written, without an added offset.
ir::Operand without_offset(const ir::Operand&);
/// Writes the 32-bit register `to`: an operand with its offset, or the base of an address operand with its.
void move_word(Builder&, Register to, const ir::Operand&);
/// The same in a fresh register.
Register word_of(Builder&, const ir::Operand&);
/// `to` = the lower half of a 64-bit operand.
void move_low_half(Builder&, Register to, const ir::Operand&);
/// An address operand of the generic space as one of shared memory; `space` is "shared" or "shared::cluster".
Register to_shared(Builder&, const ir::Operand& address, std::string_view space);

}  // namespace kiln::lower
