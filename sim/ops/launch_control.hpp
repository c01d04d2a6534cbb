// clusterlaunchcontrol, as far as schedules must know of it.
#pragma once

#include <cstdint>

namespace kiln::sim {

/// One request in so many fails though clusters wait, which a kernel must expect.
inline constexpr std::uint32_t refused_one_in = 16;

}  // namespace kiln::sim
