// Instructions that came with Blackwell, as several earlier ones.
#pragma once

#include <string>

#include "lower/earlier/writer.hpp"
#include "ptx/isa/features.hpp"

namespace kiln::lower {

/// Writes an instruction with others that every target has: arithmetic of two floats at a time, a minimum or maximum of
/// three, f32 with f16 or bf16, an access of 256 bits, a request to cancel a cluster, and for targets before Hopper
/// what came with that. Null where the target has the instruction, and where there is no such form.
Writer earlier_form(const ir::Operation&, isa::Target);

/// "cvt.rs for sm_90a": what the target lacks of an instruction that has no earlier form, else nothing. Not for those
/// that lowering replaces.
std::string missing_for(const ir::Operation&, isa::Target);

/// A function with a body, decoded, with earlier forms of the instructions that the target lacks.
ir::Function in_earlier_forms(const ir::Function&, const ir::Code&, isa::Target);

}  // namespace kiln::lower
