// Findings in the program's own words: which role, which thread, which barrier.
#pragma once

#include <string>
#include <vector>

#include "sim/machine.hpp"

namespace kiln::sim {

/// "in_full[2]": the static shared symbol that covers an offset, with the element that it is; else "shared 0x1400".
std::string shared_name(const Program& program, std::uint32_t offset, std::uint32_t element_bytes);

/// The role whose label `role_<name>` stands before an operation; empty when there is none.
std::string_view role_of(const Program& program, const ir::Operation& operation);

/// "role `load`, warp 4, lane 0 of CTA (0, 0, 0)". `cta`: index in the grid.
std::string thread_name(const Grid& grid, std::uint32_t cta, std::uint32_t warp, Mask lanes,
                        const ir::Operation& operation);
/// The threads of a fragment, which stands at an operation.
std::string thread_name(const Cta& cta, const Warp& warp, const Fragment& at);

/// The place of an operation; of the kernel's head when there is none.
diag::Where place_of(const Program& program, const ir::Operation* operation);

/// Reports that CTAs which share an SM stand while allocations wait; the first of these clusters has one that does.
void report_allocations(const std::vector<Cluster*>& clusters);

/// Reports what stopped the run, with the threads that stood at that instruction.
void report_fault(Cluster& cluster, const ir::Operation* operation, const Fault& fault);

}  // namespace kiln::sim
