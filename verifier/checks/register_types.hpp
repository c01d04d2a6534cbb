// Which registers and literals go with the types that an instruction names.
#pragma once

#include "ptx/ir/code.hpp"

namespace kiln::verifier::operands {

/// A number, or WARP_SZ, which is one.
bool is_number(const ir::Argument&);
std::int64_t number(const ir::Argument&);
/// A special register of 64 bits.
bool is_wide(const ir::Argument&);
/// Of a register; none for anything else.
isa::ScalarType type_of(const ir::Code&, const ir::Argument&);

// One size, whatever the sign
bool is_int8(isa::ScalarType);
bool is_int16(isa::ScalarType);
bool is_int32(isa::ScalarType);
bool is_int64(isa::ScalarType);
bool is_untyped(isa::ScalarType);

/// Whether a register goes with a type of an instruction: of one size, and of one class unless either has none.
/// Integers of either sign are one class. PTX ISA "Type Information for Instructions and Operands".
bool goes_with(isa::ScalarType reg, isa::ScalarType type);
/// The same where a register may be wider than the type: loads, stores, conversions.
bool holds(isa::ScalarType reg, isa::ScalarType type);
/// Whether a literal may stand for a value of a type. An address plus a number is one.
bool is_literal_of(const ir::Argument&, isa::ScalarType);
/// The integer type of twice the size; other types stay what they are.
isa::ScalarType twice(isa::ScalarType);

}  // namespace kiln::verifier::operands
