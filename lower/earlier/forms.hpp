// How instructions of newer targets are written for earlier ones.
#pragma once

#include <string>
#include <vector>

#include "lower/code.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/isa/features.hpp"

namespace kiln::lower {

/// Writes what stands in the place of an instruction, without its guard.
using Writer = void (*)(Builder&, const ir::Operation&);

/// The operands as they are written.
inline const std::vector<ir::Operand>& operands(const ir::Operation& op) { return op.instruction->operands; }

// Instructions that came with Blackwell ---------------------------------------------------------------------------------

/// Writes an instruction with others that every target has: arithmetic of two floats at a time, a minimum or maximum of
/// three, f32 with f16 or bf16, an access of 256 bits, a request to cancel a cluster, and for targets before Hopper
/// what came with that. Null where the target has the instruction, and where there is no such form.
Writer earlier_form(const ir::Operation&, isa::Target);

/// "cvt.rs for sm_90a": what the target lacks of an instruction that has no earlier form, else nothing. Not for those
/// that lowering replaces.
std::string missing_for(const ir::Operation&, isa::Target);

/// A function with a body, decoded, with earlier forms of the instructions that the target lacks.
ir::Function in_earlier_forms(const ir::Function&, const ir::Code&, isa::Target);

/// clusterlaunchcontrol.try_cancel and .query_cancel where no cluster can be cancelled: the answer, 16 bytes of zeros,
/// says so, and arrives as the real one would, in each CTA of the cluster that is to have it. The guard is not part of
/// it. PTX ISA "clusterlaunchcontrol.try_cancel".
void write_without_launch_control(Builder&, const ir::Operation&);

// Instructions that came with Hopper, for sm_89: of a kernel that is in no cluster and has no bulk copies, so that a
// cluster is its own CTA and only threads read or write shared memory --------------------------------------------------

/// Writes an instruction with those of sm_80; null where there is no such form.
Writer form_before_hopper(const ir::Operation&);

/// The scope and the shared memory of a cluster are those of the CTA.
void say_cta_for_cluster(ir::Instruction&);

/// Writes every mbarrier.try_wait of a body as mbarrier.test_wait: a try_wait may always return early.
void test_instead_of_trying(std::vector<ir::Statement>&);

}  // namespace kiln::lower
