// The waist in, findings out; and the only maker of the proof that emit asks for.
#pragma once

#include <optional>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "ptx/ir/verified.hpp"
#include "ptx/isa/ptxas_version.hpp"
#include "ptx/rules/profile.hpp"
#include "verifier/launch_facts.hpp"

namespace kiln::verifier {

/// Checks every function of the module: forms, descriptors, tensor-memory lifetime, lanes and columns, mbarrier use.
/// Findings are sorted by place. What the verifier does not model is reported as `incomplete`. Where statements or
/// items of a text could not be read, the rules that look at one statement alone are still asked. Where the PTX does
/// not say how large clusters are, `facts` may. `ptxas`: what this version refuses is an error.
void check(const ir::Module&, diag::Sink&, rules::Profile = rules::Profile::isa, const LaunchFacts& facts = {},
           std::optional<isa::PtxasVersion> ptxas = {});

/// Reports a .version and targets newer than those that Kiln knows as `incomplete`. True when all targets are known.
bool check_known(const ir::Module&, diag::Sink&);

/// Checks a module, and returns it with the proof when there are no errors and nothing is incomplete: an emitter must
/// not print what was not judged.
std::optional<ir::Verified<ir::Module>> verify(ir::Module, diag::Sink&);

}  // namespace kiln::verifier
