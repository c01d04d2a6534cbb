#include "sim/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "launch/limits.hpp"
#include "ptx/diag/error.hpp"
#include "sim/fanout.hpp"
#include "sim/layout.hpp"
#include "sim/lowering.hpp"
#include "sim/machine.hpp"
#include "sim/order/detector.hpp"
#include "sim/residents.hpp"
#include "sim/schedule/replay.hpp"
#include "sim/tile/judge.hpp"

namespace kiln::sim {
namespace {

using diag::InputError;
using ir::Special;
using launch::Dim3;

const ir::Function& find_entry(const ir::Module& module, const std::string& name) {
  const ir::Function* found = nullptr;
  for (const ir::Item& item : module.items) {
    const auto* f = std::get_if<ir::Function>(&item);
    if (!f || !f->entry || !f->body || f->name.find(name) == std::string::npos) continue;
    if (f->name == name) return *f;
    if (found)
      throw InputError(fmt::format("more than one kernel matches `{}`: `{}` and `{}`", name, found->name, f->name));
    found = f;
  }
  if (!found)
    throw InputError(name.empty() ? std::string("the module has no kernel")
                                  : fmt::format("no kernel matches `{}`", name));
  return *found;
}

std::string text(Dim3 d) { return fmt::format("{}x{}x{}", d.x, d.y, d.z); }

// The cluster shape that the kernel or the launch asks for; they must not contradict each other.
Dim3 cluster_shape(const ir::Function& f, const launch::Launch& launch) {
  const ir::Performance* written = f.find("reqnctapercluster");
  if (!written) return launch.cluster;
  Dim3 shape;
  if (!written->values.empty()) shape.x = std::uint32_t(written->values[0]);
  if (written->values.size() > 1) shape.y = std::uint32_t(written->values[1]);
  if (written->values.size() > 2) shape.z = std::uint32_t(written->values[2]);
  if (launch.cluster.volume() > 1 && !(launch.cluster == shape))
    throw InputError(fmt::format("kernel `{}` requires clusters of {}; the contract says {}", f.name, text(shape),
                                 text(launch.cluster)));
  return shape;
}

// `at`: the JSON pointer of the launch in its contract.
void refuse(const std::optional<launch::Misfit>& wrong, const std::string& at) {
  if (wrong) throw InputError(at + wrong->key + ": " + wrong->why);
}

void check_launch(const ir::Function& f, const launch::Launch& launch, Dim3 cluster, const std::string& at) {
  refuse(launch::misfit(launch, cluster), at);
  if (const ir::Performance* required = f.find("reqntid")) {
    std::array<std::uint32_t, 3> want{1, 1, 1};
    for (std::size_t k = 0; k < std::min<std::size_t>(3, required->values.size()); ++k)
      want[k] = std::uint32_t(required->values[k]);
    if (!(Dim3{want[0], want[1], want[2]} == launch.block))
      throw InputError(fmt::format("kernel `{}` requires blocks of {}x{}x{}; the contract says {}", f.name, want[0],
                                   want[1], want[2], text(launch.block)));
  }
}

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

Dim3 clusters_of(const Grid& grid) {
  const Dim3 g = grid.launch.grid, k = grid.cluster_shape;
  return {g.x / k.x, g.y / k.y, g.z / k.z};
}

void tell_start(Cluster& cluster) {
  Observer& observer = *cluster.grid.observer;
  observer.start(cluster, cluster.grid.number);
  for (const Cta& cta : cluster.ctas)
    observer.sync({cta.index, 0, 0}, nullptr, {SyncKind::cta_start, cta.index, 0, 0, 0});
}

Outcome run_grid(Grid& grid) {
  const std::uint64_t clusters = clusters_of(grid).volume();
  Cluster cluster{grid, 0, {}, Random(0)};
  grid.cancelled.assign(clusters, false);
  for (std::uint64_t n = 0; n < clusters; ++n) {
    if (grid.cancelled[n]) continue;
    start_cluster(cluster, n);
    if (grid.observer) tell_start(cluster);
    grid.statistics.ctas += cluster.ctas.size();
    if (const Outcome o = run_cluster(cluster); o != Outcome::finished) return o;
  }
  return Outcome::finished;
}

void add(Statistics& sum, const Statistics& s) {
  sum.ctas += s.ctas;
  sum.warp_instructions += s.warp_instructions;
  sum.thread_instructions += s.thread_instructions;
  sum.mma_instructions += s.mma_instructions;
  sum.mma_flops += s.mma_flops;
  sum.tma_bytes += s.tma_bytes;
}

std::string pointer_to(const launch::Contract& contract, std::size_t number) {
  return contract.launches.size() == 1 ? "/" : fmt::format("/launches/{}/", number);
}

launch::Needs needs_of(const Layout& layout) { return {layout.shared_bytes - reserved_shared_bytes, 0}; }

// What one launch cannot have; before any runs.
void check_resources(const ir::Module& module, const launch::Contract& contract, std::size_t number,
                     GlobalMemory& memory) {
  const launch::Launch& l = contract.launches[number];
  const std::string at = pointer_to(contract, number);
  const ir::Function& f = find_entry(module, l.entry);
  const Dim3 cluster = cluster_shape(f, l);
  check_launch(f, l, cluster, at);
  diag::Sink ignored;  // the launch itself reports
  const Linked linked = link(module, f, ignored);
  const auto target = module.target();
  if (ignored.has_errors() || !target) return;
  const launch::Needs needs = needs_of(make_layout(linked.code, l, memory));
  refuse(launch::misfit(l, needs, *target), at);
  refuse(launch::misfit_residents(l, needs, *target, cluster), at);
}

// How many CTAs of the launch share an SM: as many as it says, or as the kernel asks ptxas to leave registers for.
std::uint32_t ctas_per_sm(const ir::Function& f, const launch::Launch& l, const Layout& layout, Dim3 cluster,
                          std::optional<isa::Target> target) {
  if (l.ctas_per_sm) return l.ctas_per_sm;
  const ir::Performance* wanted = f.find("minnctapersm");
  if (!wanted || wanted->values.empty() || cluster.volume() > 1 || !target) return 1;
  return std::min(std::uint32_t(wanted->values[0]), launch::residents(l, needs_of(layout), *target));
}

Outcome run_launch(const ir::Module& module, const launch::Contract& contract, const launch::Launch& launch,
                   GlobalMemory& memory, const Options& options, diag::Sink& sink, Observer* observer,
                   std::uint32_t number, schedule::Schedule* schedule, Statistics& statistics) {
  const ir::Function& f = find_entry(module, launch.entry);
  const Dim3 cluster = cluster_shape(f, launch);
  const Linked linked = link(module, f, sink);
  if (sink.has_errors()) return Outcome::fault;
  const ir::Code& code = linked.code;
  const Program program = Lowering(linked, make_layout(code, launch, memory)).run();
  Grid grid{program, memory, launch, options, sink, observer};
  grid.parameters = parameter_block(code, program.layout, contract, launch, memory);
  grid.cluster_shape = cluster;
  grid.number = number;
  grid.steps = observer && observer->wants_steps();
  grid.schedule = schedule;
  grid.recording = options.record;
  const Outcome o = rehearse(grid, ctas_per_sm(f, launch, program.layout, cluster, module.target()))
                        ? run_grid(grid)
                        : Outcome::deadlock;
  add(statistics, grid.statistics);
  return o;
}

}  // namespace

void start_cluster(Cluster& cluster, std::uint64_t n) {
  const Dim3 clusters = clusters_of(cluster.grid);
  cluster.ctas.resize(cluster.grid.cluster_shape.volume());
  cluster.index = std::uint32_t(n);
  cluster.id = unflatten(n, clusters);
  cluster.random = Random(Random(cluster.grid.options.seed).next() ^ n * 0x9E3779B97F4A7C15u);
  cluster.now = cluster.tick = 0;
  cluster.events = {};
  cluster.barrier_arrived = 0;
  cluster.barrier_generation = cluster.stamp = cluster.writes = 0;
  cluster.others_follow = n + 1 < clusters.volume();
  for (std::uint32_t rank = 0; rank < cluster.ctas.size(); ++rank) start_cta(cluster, cluster.ctas[rank], rank);
}

std::string_view spelling(Strategy s) {
  switch (s) {
    case Strategy::random: return "random";
    case Strategy::adversarial: return "adversarial";
    case Strategy::pct: return "pct";
    case Strategy::exhaustive: return "exhaustive";
  }
  return "";
}

std::string_view spelling(Outcome o) {
  switch (o) {
    case Outcome::finished: return "finished";
    case Outcome::fault: return "fault";
    case Outcome::deadlock: return "deadlock";
    case Outcome::livelock: return "livelock";
    case Outcome::step_limit: return "step limit";
    case Outcome::incomplete: return "incomplete";
  }
  return "";
}

namespace {

Result run_launches(const ir::Module& module, launch::Contract& contract, const Options& options, diag::Sink& sink,
                    Observer* observer) {
  GlobalMemory memory;
  for (launch::Buffer& b : contract.buffers) memory.add(b);
  for (const auto& [name, buffers] : contract.multimems) memory.add(name, buffers);
  Result result;
  std::unique_ptr<schedule::Schedule> own;
  if (options.replay)
    own = std::make_unique<schedule::Replay>(*options.replay, schedule::Replay::How::exactly);
  else if (options.strategy == Strategy::pct)
    own = std::make_unique<schedule::Pct>(options.seed);
  schedule::Schedule* const schedule = options.schedule ? options.schedule : own.get();
  for (std::size_t k = 0; k < contract.launches.size(); ++k) check_resources(module, contract, k, memory);
  std::uint32_t number = 0;
  for (const launch::Launch& l : contract.launches) {
    result.outcome =
        run_launch(module, contract, l, memory, options, sink, observer, number++, schedule, result.statistics);
    if (result.outcome != Outcome::finished) break;
  }
  return result;
}

}  // namespace

Result simulate(const ir::Module& module, launch::Contract& contract, const Options& options, diag::Sink& sink,
                Observer* observer) {
  if (!options.detect_races) return run_launches(module, contract, options, sink, observer);
  RaceDetector detector;
  TileJudge tiles;
  Fanout all({&detector, &tiles});
  if (observer) all.add(*observer);
  return run_launches(module, contract, options, sink, &all);
}

}  // namespace kiln::sim
