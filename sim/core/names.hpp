// Threads and CTAs in the words of a finding.
#pragma once

#include <string>

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// "all lanes", "lane 0", "lanes 0x3".
std::string lanes_name(Mask lanes);
/// "CTA (1, 0, 0)". `index`: in the grid.
std::string cta_name(const Grid& grid, std::uint32_t index);
/// "role `load`, warp 4, lane 0 of CTA (0, 0, 0)". `cta`: index in the grid.
std::string thread_name(const Grid& grid, std::uint32_t cta, std::uint32_t warp, Mask lanes,
                        const ir::Operation& operation);
/// The threads of a fragment, which stands at an operation.
std::string thread_name(const Cta& cta, const Warp& warp, const Fragment& at);

}  // namespace kiln::sim
