#include "sim/core/start.hpp"

#include <cstring>
#include <numeric>

namespace kiln::sim {
namespace {

constexpr std::uint64_t order_of_clusters = 2;  // what of the seed chooses it

using ir::Special;
using launch::Dim3;

Dim3 unflatten(std::uint64_t index, Dim3 shape) {
  return {std::uint32_t(index % shape.x), std::uint32_t(index / shape.x % shape.y),
          std::uint32_t(index / shape.x / shape.y)};
}

// Shared memory is handed out in units of 128 bytes. PTX ISA "Special Registers: %total_smem_size".
std::uint32_t allocated(std::uint32_t bytes) { return (bytes + 127) / 128 * 128; }

// Special registers that are the same for all threads of a CTA.
std::uint32_t of_cta(Special s, const Cta& cta) {
  const Grid& grid = cta.cluster->grid;
  const Dim3 g = grid.launch.grid, b = grid.launch.block, k = grid.cluster_shape, id = cta.id;
  const Layout& layout = grid.program.layout;
  switch (s) {
    case Special::ntid_x: return b.x;
    case Special::ntid_y: return b.y;
    case Special::ntid_z: return b.z;
    case Special::nwarpid: return std::uint32_t(cta.warps.size());
    case Special::ctaid_x: return id.x;
    case Special::ctaid_y: return id.y;
    case Special::ctaid_z: return id.z;
    case Special::nctaid_x: return g.x;
    case Special::nctaid_y: return g.y;
    case Special::nctaid_z: return g.z;
    case Special::nsmid: return 1;
    case Special::is_explicit_cluster: return k.volume() > 1 ? ~0u : 0;  // a predicate: a bit for each lane
    case Special::clusterid_x: return id.x / k.x;
    case Special::clusterid_y: return id.y / k.y;
    case Special::clusterid_z: return id.z / k.z;
    case Special::nclusterid_x: return g.x / k.x;
    case Special::nclusterid_y: return g.y / k.y;
    case Special::nclusterid_z: return g.z / k.z;
    case Special::cluster_ctaid_x: return id.x % k.x;
    case Special::cluster_ctaid_y: return id.y % k.y;
    case Special::cluster_ctaid_z: return id.z % k.z;
    case Special::cluster_nctaid_x: return k.x;
    case Special::cluster_nctaid_y: return k.y;
    case Special::cluster_nctaid_z: return k.z;
    case Special::cluster_ctarank: return cta.rank;
    case Special::cluster_nctarank: return std::uint32_t(k.volume());
    case Special::total_smem_size: return allocated(layout.shared_bytes - reserved_shared_bytes);
    case Special::aggr_smem_size: return allocated(layout.shared_bytes);
    case Special::dynamic_smem_size: return grid.launch.dynamic_smem;
    case Special::warp_size: return warp_lanes;
    default: return 0;
  }
}

std::uint32_t of_thread(Special s, const Cta& cta, const Warp& warp, int lane) {
  const Dim3 tid = unflatten(warp.index * warp_lanes + std::uint32_t(lane), cta.cluster->grid.launch.block);
  const std::uint32_t self = 1u << lane;
  switch (s) {
    case Special::tid_x: return tid.x;
    case Special::tid_y: return tid.y;
    case Special::tid_z: return tid.z;
    case Special::laneid: return std::uint32_t(lane);
    case Special::warpid: return warp.index;
    case Special::lanemask_eq: return self;
    case Special::lanemask_lt: return self - 1;
    case Special::lanemask_le: return self | (self - 1);
    case Special::lanemask_gt: return ~(self | (self - 1));
    case Special::lanemask_ge: return ~(self - 1);
    default: return of_cta(s, cta);
  }
}

void start_warp(Cta& cta, Warp& warp, std::uint32_t index) {
  const Program& program = cta.cluster->grid.program;
  const std::uint32_t first = index * warp_lanes, left = cta.threads - first;
  warp.start(program, index, left >= warp_lanes ? all_lanes : (1u << left) - 1);
  for (const Constant& c : program.constants) {
    if (c.kind != Constant::Kind::shared_address || cta.rank == 0) continue;
    const std::uint64_t v = c.value + (std::uint64_t(cta.rank) << cluster_rank_shift);
    for (int l = 0; l < warp_lanes; ++l) std::memcpy(warp.registers + c.offset + l * c.bytes, &v, c.bytes);
  }
  for (const SpecialSlot& s : program.specials)
    for (int l = 0; l < warp_lanes; ++l) {
      const std::uint32_t v = of_thread(s.special, cta, warp, l);
      std::memcpy(warp.registers + s.offset + l * 4, &v, 4);
    }
}

void start_cta(Cluster& cluster, Cta& cta, std::uint32_t rank) {
  Grid& grid = cluster.grid;
  const Dim3 in = unflatten(rank, grid.cluster_shape), k = grid.cluster_shape, g = grid.launch.grid;
  const bool keep_tmem = !cta.tmem_touched;
  TensorMemory tmem = std::move(cta.tmem);
  if (!keep_tmem) tmem.reset();
  Storage shared = std::move(cta.shared);
  std::vector<Warp> warps = std::move(cta.warps);
  cta = Cta{};
  cta.tmem = std::move(tmem);
  cta.shared = std::move(shared);
  cta.warps = std::move(warps);
  cta.cluster = &cluster;
  cta.rank = rank;
  cta.id = {cluster.id.x * k.x + in.x, cluster.id.y * k.y + in.y, cluster.id.z * k.z + in.z};
  cta.index = cta.id.x + g.x * (cta.id.y + g.y * cta.id.z);
  cta.threads = std::uint32_t(grid.launch.block.volume());
  cta.shared.reset(grid.program.layout.shared_bytes);
  cta.local.reset(std::size_t(grid.program.layout.local_bytes) * ((cta.threads + 31) / 32 * 32));
  cta.bulk.resize((cta.threads + 31) / 32 * 32);
  cta.copies.resize(cta.bulk.size());
  cta.tensor.last_of_thread.assign(cta.bulk.size(), 0);
  cta.warps.resize((cta.threads + warp_lanes - 1) / warp_lanes);
  for (std::uint32_t w = 0; w < cta.warps.size(); ++w) start_warp(cta, cta.warps[w], w);
}

}  // namespace

Dim3 clusters_of(const Grid& grid) {
  const Dim3 g = grid.launch.grid, k = grid.cluster_shape;
  return {g.x / k.x, g.y / k.y, g.z / k.z};
}

void enqueue_clusters(Grid& grid, std::uint64_t seed) {
  grid.waiting.resize(clusters_of(grid).volume());
  std::iota(grid.waiting.begin(), grid.waiting.end(), 0u);
  if (seed == 1) return;
  Random random(mix(seed, order_of_clusters));
  for (std::size_t left = grid.waiting.size(); left > 1; --left)
    std::swap(grid.waiting[left - 1], grid.waiting[random.below(std::uint32_t(left))]);
}

void start_next_cluster(Cluster& cluster, bool beside) {
  const Dim3 clusters = clusters_of(cluster.grid);
  const std::uint32_t n = cluster.grid.waiting.front();
  cluster.grid.waiting.pop_front();
  cluster.ctas.resize(cluster.grid.cluster_shape.volume());
  cluster.index = n;
  cluster.beside = beside;
  if (!beside) cluster.grid.poison.forget_memory();
  cluster.id = unflatten(n, clusters);
  cluster.random = Random(Random(cluster.grid.options.seed).next() ^ std::uint64_t(n) * 0x9E3779B97F4A7C15u);
  cluster.now = cluster.tick = 0;
  cluster.events = {};
  cluster.barrier_arrived = 0;
  cluster.barrier_generation = cluster.stamp = cluster.writes = 0;
  for (std::uint32_t rank = 0; rank < cluster.ctas.size(); ++rank) start_cta(cluster, cluster.ctas[rank], rank);
  cluster.grid.statistics.ctas += cluster.ctas.size();
  Observer* const observer = cluster.grid.observer;
  if (!observer) return;
  observer->start(cluster, cluster.grid.number);
  for (const Cta& cta : cluster.ctas)
    observer->sync({cta.index, 0, 0}, nullptr, {SyncKind::cta_start, cta.index, 0, 0, 0});
}

}  // namespace kiln::sim
