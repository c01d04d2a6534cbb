// Where the cycles of a cluster went: for each role what its warps issued and what they waited for, and for each
// resource how long it was busy.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/program.hpp"

namespace kiln::timing {

/// What a warp waits for between two instructions.
enum class Stall : std::uint8_t {
  arithmetic,
  shared_memory,
  global_memory,
  tensor_memory,
  issue,  // another warp has the scheduler
  barrier,
  cluster_barrier,
  fence,
  mma_queue,
  copies,  // its own bulk copies
  wgmma,
  columns,   // of tensor memory
  mbarrier,  // RoleTime::mbarriers has them by name
  lanes      // of its own warp
};
inline constexpr std::size_t stall_count = std::size_t(Stall::lanes) + 1;
std::string_view spelling(Stall);

/// Cycles of one role, summed over its warps.
struct RoleTime {
  std::string name{};
  double issued = 0;
  std::array<double, stall_count> stalls{};
  std::map<std::string, double> mbarriers{};  // "full (copies)": of which mbarriers, and what completed their phases

  double waited() const;
  /// The same as pairs, the longest first.
  std::vector<std::pair<std::string, double>> reasons() const;
};

/// A stretch of time, in cycles since the cluster's start: a wait of a warp, an MMA of a tensor core, a bulk load on
/// its way.
struct Span {
  std::uint32_t cta = 0;  // in the cluster
  std::string lane{};     // the role and its warp, or the resource
  std::string what{};
  double begin = 0, end = 0;
};

/// How long the busiest of a kind of resource was busy.
struct Use {
  std::string name{};
  double busy = 0;  // cycles
};

/// The roles of a program: labels `role_<name>`; without any, each warp is one.
class Roles {
 public:
  Roles(const sim::Program&, std::uint32_t warps);

  RoleTime& of(std::uint32_t operation, std::uint32_t warp) { return times_[index(operation, warp)]; }
  const std::string& name(std::uint32_t operation, std::uint32_t warp) const {
    return times_[index(operation, warp)].name;
  }
  std::vector<RoleTime> times() const;

 private:
  std::size_t index(std::uint32_t operation, std::uint32_t warp) const {
    return by_operation_.empty() ? warp : by_operation_[operation];
  }
  std::vector<std::uint32_t> by_operation_{};
  std::vector<RoleTime> times_{};
};

}  // namespace kiln::timing
