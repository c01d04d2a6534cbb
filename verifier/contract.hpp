// Launch contracts against the rules that PTX text cannot break, because they are about tensor maps.
#pragma once

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"

namespace kiln::verifier {

/// Checks every tensor map of the contract against the TMA rules. Findings have no place; their message names the map.
void check_contract(const launch::Contract&, diag::Sink&);

}  // namespace kiln::verifier
