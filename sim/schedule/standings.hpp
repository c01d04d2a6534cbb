// Where threads stand when a run cannot go on, in the words of a finding.
#pragma once

#include <string>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "sim/core/machine.hpp"

namespace kiln::sim {

/// A fragment that waits.
struct Waiter {
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  Fragment* fragment = nullptr;
};

std::vector<Waiter> waiters_of(Cluster&);

/// "role `load`, warp 4, lane 0 of CTA (0, 0, 0)".
std::string name_of(const Waiter&);

/// The instruction at which it waits.
const ir::Operation* operation_of(const Waiter&);

/// Waiters at one instruction that wait for the same: their numbers in a list.
using Standing = std::vector<std::size_t>;

/// All waiters of a list, grouped; in the order of the first of each group.
std::vector<Standing> standings(const std::vector<Waiter>&);

/// "role `store`, warp 0, all lanes of CTA (0, 0, 0) and 3 more".
std::string names_of(const std::vector<Waiter>&, const Standing&);

/// "role `store`, warp 0, all lanes of CTA (0, 0, 0) and 3 more wait for mbarrier `done`, phase 0 (parity 0): 1 of 1
/// arrivals pending".
std::string wait_of(const std::vector<Waiter>&, const Standing&);

/// A note at the line alone: its instruction is not shown.
diag::Note short_note(std::string message, const diag::Where&);

/// Adds where all waiters of a cluster stand to a finding, and gives it the place of the first if it has none.
void add_waits(Cluster&, diag::Diagnostic&);

}  // namespace kiln::sim
