// Findings in the program's own words: which role, which thread, which barrier.
#pragma once

#include <string>
#include <vector>

#include "sim/machine.hpp"

namespace kiln::sim {

/// "in_full[2]": the static shared symbol that covers an offset, with the element that it is; else "shared 0x1400".
std::string shared_name(const Program& program, std::uint32_t offset, std::uint32_t element_bytes);

/// "role `load`, warp 4, lane 0 of CTA (0, 0, 0)".
std::string thread_name(const Cta& cta, const Warp& warp, std::uint32_t pc, Mask lanes);

/// The place of an operation; of the kernel's head when there is none.
diag::Where place_of(const Program& program, const ir::Operation* operation);

/// Reports that CTAs which share an SM stand while allocations wait; the first of these clusters has one that does.
void report_allocations(const std::vector<Cluster*>& clusters);

/// Reports what stopped the run, with the threads that stood at that instruction.
void report_fault(Cluster& cluster, const ir::Operation* operation, const Fault& fault);

}  // namespace kiln::sim
