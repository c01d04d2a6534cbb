#include "sim/core/names.hpp"

#include <fmt/format.h>

namespace kiln::sim {

std::string lanes_name(Mask lanes) {
  if (lanes == all_lanes) return "all lanes";
  if (count(lanes) == 1) return fmt::format("lane {}", first_lane(lanes));
  return fmt::format("lanes {:#x}", lanes);
}

std::string cta_name(const Grid& grid, std::uint32_t index) {
  const launch::Dim3 g = grid.launch.grid;
  return fmt::format("CTA ({}, {}, {})", index % g.x, index / g.x % g.y, index / g.x / g.y);
}

std::string thread_name(const Grid& grid, std::uint32_t cta, std::uint32_t warp, Mask lanes,
                        const ir::Operation& operation) {
  const std::string_view role = role_of(grid.program, operation);
  return (role.empty() ? std::string() : fmt::format("role `{}`, ", role)) +
         fmt::format("warp {}, {} of {}", warp, lanes_name(lanes), cta_name(grid, cta));
}

std::string thread_name(const Cta& cta, const Warp& warp, const Fragment& at) {
  const Grid& grid = cta.cluster->grid;
  return thread_name(grid, cta.index, warp.index, at.lanes, *grid.program.insts[at.pc].operation);
}

}  // namespace kiln::sim
