// Launch contracts against the rules that PTX text cannot break, because they are about tensor maps and buffers.
#pragma once

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"

namespace kiln::verifier {

/// Checks every tensor map of the contract against the TMA rules and its buffer, and every pointer whose type the kernel
/// says. Findings stand at the line of C++ that asks for the launch, or have no place; their message names the map.
void check_contract(const launch::Contract&, diag::Sink&);

}  // namespace kiln::verifier
