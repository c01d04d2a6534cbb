// What an operand is made of: addresses, vectors, pairs and the parts that may stand in them.
#pragma once

#include <initializer_list>
#include <span>

#include "ptx/ir/code.hpp"
#include "verifier/checks/forms.hpp"

namespace kiln::verifier::operands {

/// What may stand beside the registers of a vector.
enum class Others : std::uint8_t { none, numbers, sinks };

/// The one register or symbol of [base + offset].
const ir::Argument* address_base(const ir::Code& code, const ir::Argument& a);
/// A variable that is declared in one of these spaces.
bool is_in(const ir::Code& code, const ir::Argument& a, std::initializer_list<isa::Space> spaces);
/// [base] in a space that is named: registers of either width, and symbols of the space. A parameter is declared as
/// .param, whichever of the two kinds an instruction names.
bool is_address_in(const ir::Code& code, isa::Space space, const ir::Argument& a);
/// Of the parts of a vector: some are registers; all are numbers.
bool has_register(const ir::Code& code, const ir::Argument& a);
bool has_integers_alone(const ir::Code& code, const ir::Argument& a);
/// {registers of 32 bits}, and others, but not others alone.
bool is_vector(const ir::Code& code, const ir::Argument& a, Others others);
/// Fragments of matrices: registers of the types given, and others.
bool is_fragment(const ir::Code& code, const ir::Argument& a, std::initializer_list<isa::ScalarType> types,
                 Others others);
/// The same with registers of any type of 32 bits.
bool is_fragment_of_32_bits(const ir::Code& code, const ir::Argument& a, Others others);
/// {byte id, thread id} of a block-scaled mma.sync: which bytes of which threads hold the scales. The slot says which
/// bytes the kind has; A's scales are in two threads of four, B's in any.
bool is_scale_selector(const ir::Code& code, const OperandSlot& byte, const ir::Argument& a, std::int64_t last_thread);
/// A vector of 32-bit integers, in registers or as numbers.
bool is_of_integers(const ir::Code& code, const ir::Argument& a);
/// [map, {coordinates}]: the map's address, what replaces fields of it, and 32-bit integers.
bool is_tensor_address(const ir::Code& code, const isa::Modifiers& m, const ir::Argument& a);
/// A vector of 16-bit integers, in registers or as numbers.
bool is_offsets(const ir::Code& code, const ir::Argument& a);
/// A vector of results: 32-bit integers, or _ where one is not wanted.
bool is_written(const ir::Code& code, const ir::Argument& a);
/// What elect.sync writes: the leader's lane, or _, and whether this is the leader.
bool is_elected(const ir::Code& code, const ir::Argument& a);
/// [number, offset], with a counter after it, or [map, number, address, {coordinates}].
bool is_handle(const ir::Code& code, const isa::Modifiers& m, const ir::Argument& a);
/// What a wait on an mbarrier writes: whether the phase is complete, and whether something was reported.
bool is_reported(const ir::Code& code, const ir::Argument& a);
/// Something in it was never declared.
bool has_raw(const ir::Code& code, const ir::Argument& a);

}  // namespace kiln::verifier::operands
