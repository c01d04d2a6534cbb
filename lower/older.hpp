// Instructions that came with Blackwell and are several older ones.
#pragma once

#include <optional>
#include <string>

#include "lower/text.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/isa/features.hpp"

namespace kiln::lower {

/// The same with instructions that every target has: arithmetic of two floats at a time, a minimum or maximum of three,
/// f32 with f16 or bf16, an access of 256 bits, a request to cancel a cluster. Nothing where the target has the
/// instruction, and for what has no such form. The guard is not part of it.
std::optional<Text> older_form(const ir::Operation&, isa::Target);

/// "cvt.rs for sm_90a": what the target lacks of an instruction that has no older form, else nothing. Not for those
/// that lowering replaces.
std::string missing_for(const ir::Operation&, isa::Target);

/// A function with a body, decoded, whose instructions the target has or that have older forms: in these.
ir::Function in_older_forms(const ir::Function&, const ir::Code&, isa::Target);

}  // namespace kiln::lower
