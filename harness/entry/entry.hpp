// Which function of a module a launch means, and whether the launch fits it.
#pragma once

#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::harness {

/// The one entry function whose name contains `part`, or is it. Throws InputError naming the entries there are when
/// none or several do.
const ir::Function& find_entry(const ir::Module&, const std::string& part);

/// Throws InputError when a launch of the contract does not fit the module: its entry, the number and sizes of its
/// parameters, the CTA and cluster shapes that the PTX fixes, what hardware takes at all. Where a CTA is so large that
/// its registers might not suffice, ptxas is asked for their number, when there is one. The message starts with the
/// JSON pointer of what is wrong.
void check_fits(const ir::Module&, const launch::Contract&);

/// Reports what the verifier finds wrong with the contract itself, as findings in the file `name`; with an empty name,
/// without a file.
void check_contract(const launch::Contract&, const std::string& name, diag::Sink&);

/// The full name of each launch's entry, in order.
std::vector<std::string> entry_names(const ir::Module&, const launch::Contract&);

}  // namespace kiln::harness
