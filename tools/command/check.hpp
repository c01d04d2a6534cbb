// kiln check: its options --fix and --lint, and its time.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::command {

/// Finds what is wrong with a text.
using Judge = std::function<diag::Sink(const diag::SourcePtr&)>;

/// Applies fix-its that insert something until none is left, replaces the file as a whole if anything changed (the text
/// of "-" goes to stdout either way), says on stderr what was done, and returns what is left to find in the new text.
/// Throws InputError when the file cannot be written.
diag::Sink fix(const std::string& path, const diag::SourcePtr&, const Judge&);

/// What is legal and costs: the verifier's notes, and for each entry what ptxas makes of it: registers, spills, CTAs
/// that share an SM. Without a ptxas that takes the text, says on stderr why that part is left out. A launch says how
/// large CTAs are and what shared memory it adds.
void lint(const ir::Module&, diag::Sink&, const launch::Contract* launch = nullptr);

/// How long an exploration may take when a file may take `budget` seconds since `begun`: most of what is left, 1 ms at
/// least.
std::chrono::milliseconds time_to_explore(double budget, std::chrono::steady_clock::time_point begun);

}  // namespace kiln::command
