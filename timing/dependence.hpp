// What decides what a kernel does next. If it is not the numbers that MMAs compute, a run can leave them out. If it is
// numbers that each cluster finds in memory, clusters side by side need not be alike.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptx/ir/code.hpp"

namespace kiln::timing {

/// A parameter that is no pointer.
inline constexpr std::uint32_t no_pointer = ~std::uint32_t{0};

/// Whether the guard of a branch, or an operand of a barrier, a copy or an instruction of the tensor core, may depend
/// on what wgmma or tcgen05.mma computed. A variable counts as one place (external ones as one together), and so does
/// what a parameter points to; addresses whose pointer came from memory or from a call may be any of them. `alike`: of
/// each parameter of the kernel the first one that may point to the same memory, or no_pointer; those beyond the list
/// may point, each to memory of its own.
bool depends_on_products(const ir::Code&, const std::vector<std::uint32_t>& alike = {});

/// Operations, by their index, that a run can leave out if only the way of each warp matters: no branch, barrier, copy
/// or guard depends on what they write. Products are among them, whatever depends on these.
std::vector<std::uint8_t> decides_nothing(const ir::Code&);

/// Which clusters of a grid may take different times.
struct PlaceDependence {
  std::array<bool, 3> axes{};  // the place on them decides: whether a branch is taken, or a copy or a barrier executed
  bool by_memory = false;      // among that by numbers that are loaded from another address in another cluster
};

/// The same for where a cluster stands: its coordinates in the grid, and what it loads from global memory, or from the
/// parameters, at an address that depends on them. What an atomic operation returns is no such number: it depends on
/// the clusters before.
PlaceDependence depends_on_place(const ir::Code&);

}  // namespace kiln::timing
