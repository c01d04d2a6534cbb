// Runs PTX on the CPU, exactly and deterministically.
#pragma once

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "sim/core/run.hpp"

namespace kiln::sim {

class Observer;  // sim/core/observer.hpp

/// Runs every launch of the contract in order on `module`; buffers of the contract hold the results afterwards. Faults,
/// deadlocks (as wait-for lists), reads of poison and unmodelled instructions are reported to `sink`. A contract that
/// does not fit the module (wrong entry, parameter sizes, limits) is an InputError. With Options::weigh_reads a race of
/// loads whose words reach nothing is `race-unused`. `observer` may be null.
Result simulate(const ir::Module& module, launch::Contract& contract, const Options&, diag::Sink& sink,
                Observer* observer = nullptr);

}  // namespace kiln::sim
