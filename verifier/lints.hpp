// What is legal and still worth a note.
#pragma once

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "verifier/explore.hpp"

namespace kiln::verifier {

/// Notes on a module that check() found no errors in: registers that setmaxnreg moves, static shared memory, tensor
/// memory that no instruction touches, scopes that are not written. Only what is certain is reported. Findings are
/// sorted by place.
void check_lints(const ir::Module&, diag::Sink&);

/// Notes the fences (tcgen05.fence, fence.mbarrier_init, fence.proxy.async on shared memory alone) without which, all
/// of them together, check() and check_synchronisation() find nothing that is not in the sink, which holds what both
/// find with them. Looks only into modules in which they find nothing that a fence may mend and nothing that cannot be
/// followed: what is not proven with a fence is not proven without it. Of a module that the DSL wrote, which writes
/// fences by itself, those in lines of LaunchFacts::fences alone are judged. Explores four times at most, in `time` all together: what is not settled by then is taken as
/// needed. With a contract the answer is about its launches, else about those of which `facts` hold.
void check_redundant_fences(const ir::Module&, diag::Sink&, const launch::Contract* launch = nullptr,
                            const LaunchFacts& facts = {}, std::chrono::milliseconds time = no_limit);

}  // namespace kiln::verifier
