#include "launch/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/isa/launch_limits.hpp"

namespace kiln::launch {
namespace {

std::string text(const Dim3& d) { return fmt::format("[{}, {}, {}]", d.x, d.y, d.z); }

bool exceeds(const Dim3& d, const Dim3& most) { return d.x > most.x || d.y > most.y || d.z > most.z; }

}  // namespace

std::optional<Misfit> misfit(const Launch& l, Dim3 cluster) {
  using namespace isa;
  const Dim3 most_ctas{max_grid_x, max_grid_yz, max_grid_yz};
  const Dim3 most_threads{std::uint32_t(max_threads_per_cta), std::uint32_t(max_threads_per_cta), max_cta_z};
  if (l.grid.volume() == 0) return Misfit{"grid", "must not be empty"};
  if (l.block.volume() == 0) return Misfit{"block", "must not be empty"};
  if (exceeds(l.grid, most_ctas))
    return Misfit{"grid", fmt::format("has at most {} CTAs; got {}", text(most_ctas), text(l.grid))};
  if (exceeds(l.block, most_threads))
    return Misfit{"block", fmt::format("has at most {} threads; got {}", text(most_threads), text(l.block))};
  if (l.block.volume() > std::uint64_t(max_threads_per_cta))
    return Misfit{"block", fmt::format("a CTA has at most {} threads; got {}", max_threads_per_cta, l.block.volume())};
  if (cluster.volume() == 0) return Misfit{"cluster", "must not be empty"};
  if (cluster.volume() > max_cluster)
    return Misfit{"cluster", fmt::format("a cluster has at most {} CTAs, {} on every device; got {}", max_cluster,
                                         max_portable_cluster, cluster.volume())};
  if (l.grid.x % cluster.x || l.grid.y % cluster.y || l.grid.z % cluster.z)
    return Misfit{"grid", fmt::format("{} does not divide into clusters of {}", text(l.grid), text(cluster))};
  return std::nullopt;
}

std::optional<Misfit> misfit(const Launch& l, const Needs& needs, isa::Target target) {
  const auto most = std::uint64_t(isa::max_shared_bytes(target));
  if (needs.shared_bytes > most)
    return Misfit{"dynamic_smem", fmt::format("the launch needs {} bytes of shared memory; {} has {}",
                                              needs.shared_bytes, isa::spelling(target), most)};
  const std::uint64_t registers = isa::cta_registers(l.block.volume(), needs.registers);
  if (registers > isa::registers_per_cta)
    return Misfit{"block", fmt::format("{} threads of {} registers take {} registers; a CTA has at most {}",
                                       l.block.volume(), needs.registers, registers, isa::registers_per_cta)};
  return std::nullopt;
}

std::optional<Misfit> misfit_residents(const Launch& l, const Needs& needs, isa::Target target, Dim3 cluster) {
  if (l.ctas_per_sm <= 1) return std::nullopt;
  if (cluster.volume() > 1) return Misfit{"ctas_per_sm", "must be 1 for a launch with clusters"};
  if (const std::uint32_t most = residents(l, needs, target); l.ctas_per_sm > most)
    return Misfit{"ctas_per_sm",
                  fmt::format("{} CTAs of {} threads and {} bytes of shared memory do not fit an SM of "
                              "{}, which has room for {}",
                              l.ctas_per_sm, l.block.volume(), needs.shared_bytes, isa::spelling(target), most)};
  return std::nullopt;
}

std::uint32_t residents(const Launch& l, const Needs& needs, isa::Target target) {
  const std::uint64_t warps = (l.block.volume() + isa::threads_per_warp - 1) / isa::threads_per_warp;
  std::uint64_t n =
      std::min<std::uint64_t>(isa::sm_ctas(target), isa::sm_threads(target) / (warps * isa::threads_per_warp));
  n = std::min(n, isa::sm_shared_bytes(target) / (needs.shared_bytes + isa::shared_reserved_per_cta));
  if (needs.registers) n = std::min(n, isa::registers_per_cta / isa::cta_registers(l.block.volume(), needs.registers));
  return std::uint32_t(n);
}

}  // namespace kiln::launch
