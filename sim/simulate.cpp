#include "sim/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "launch/limits.hpp"
#include "ptx/diag/error.hpp"
#include "sim/core/fanout.hpp"
#include "sim/core/machine.hpp"
#include "sim/core/start.hpp"
#include "sim/layout.hpp"
#include "sim/ops/binder.hpp"
#include "sim/ops/mbarrier.hpp"
#include "sim/order/detector.hpp"
#include "sim/schedule/replay.hpp"
#include "sim/schedule/residents.hpp"
#include "sim/schedule/scheduler.hpp"
#include "sim/schedule/side_by_side.hpp"
#include "sim/tile/judge.hpp"

namespace kiln::sim {
namespace {

using diag::InputError;
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

// A cluster of one CTA is what a contract says that says nothing. Then the kernel may say that it is for clusters.
bool in_clusters(const ir::Function& f, Dim3 cluster) {
  return cluster.volume() > 1 || f.is_for_clusters();
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

Outcome run_grid(Grid& grid) {
  Cluster cluster{grid, 0, {}, Random(0)};
  enqueue_clusters(grid, grid.options.seed);
  while (!grid.waiting.empty()) {
    start_next_cluster(cluster);
    std::optional<Outcome> o = run_cluster(cluster);
    if (!o) o = run_side_by_side(cluster);
    if (*o != Outcome::finished) return *o;
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
                   std::uint32_t number, schedule::Schedule* schedule, RacingReads* racing, Statistics& statistics) {
  const ir::Function& f = find_entry(module, launch.entry);
  const Dim3 cluster = cluster_shape(f, launch);
  const Linked linked = link(module, f, sink);
  if (sink.has_errors()) return Outcome::fault;
  const ir::Code& code = linked.code;
  Program program = Binder(linked, make_layout(code, launch, memory)).run();
  mark_peeks(program);
  Grid grid{program, memory, launch, options, sink, observer};
  grid.parameters = parameter_block(code, program.layout, contract, launch, memory);
  grid.cluster_shape = cluster;
  grid.in_clusters = in_clusters(f, cluster);
  grid.number = number;
  grid.steps = observer && observer->wants_steps();
  grid.schedule = schedule;
  grid.recording = options.record;
  grid.racing = racing;
  const std::uint32_t per_sm = ctas_per_sm(f, launch, program.layout, cluster, module.target());
  grid.most_clusters = std::max<std::uint64_t>(1, std::uint64_t(per_sm) * launch::chip_sms / cluster.volume());
  const Outcome o = rehearse(grid, per_sm) ? run_grid(grid) : Outcome::deadlock;
  add(statistics, grid.statistics);
  return o;
}

Result run_launches(const ir::Module& module, launch::Contract& contract, const Options& options, diag::Sink& sink,
                    Observer* observer, RacingReads* racing = nullptr) {
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
        run_launch(module, contract, l, memory, options, sink, observer, number++, schedule, racing, result.statistics);
    if (result.outcome != Outcome::finished) break;
  }
  return result;
}

// An error is told from others by its rule and place.
std::set<std::pair<std::string, std::size_t>> errors(const diag::Sink& sink, const ReadRaces& without = {}) {
  std::set<std::pair<std::string, std::size_t>> out;
  for (std::size_t k = 0; k < sink.all().size(); ++k) {
    const diag::Diagnostic& d = sink.all()[k];
    if (d.severity == diag::Severity::error && !without.unused.contains(k)) out.insert({d.slug, d.where.place.begin});
  }
  return out;
}

// Runs the same schedule again, without the racing loads for the detector, and with poison for what they load: whether
// that reaches something, or another race shows up that one of them hid. A detector keeps the latest of several reads
// that are in order, and does not say twice that a write is not.
bool matters(ReadRaces& races, const diag::Sink& found, const ir::Module& module, launch::Contract& contract,
             Options options) {
  options.print = {};
  options.record = nullptr;
  RaceDetector detector(&races.reads);
  diag::Sink again;
  const Result result = run_launches(module, contract, options, again, &detector, &races.reads);
  if (result.outcome != Outcome::finished || races.reads.is_used()) return true;
  const auto known = errors(found, races), now = errors(again);
  return !std::includes(known.begin(), known.end(), now.begin(), now.end());
}

}  // namespace

Result simulate(const ir::Module& module, launch::Contract& contract, const Options& options, diag::Sink& sink,
                Observer* observer) {
  if (!options.detect_races) return run_launches(module, contract, options, sink, observer);
  RaceDetector detector;
  TileJudge tiles;
  Fanout all({&detector, &tiles});
  if (observer) all.add(*observer);
  // Decisions from outside are not made a second time.
  if (!options.weigh_reads || options.schedule) return run_launches(module, contract, options, sink, &all);
  launch::Contract inputs = contract;
  diag::Sink found;
  const Result result = run_launches(module, contract, options, found, &all);
  ReadRaces& races = detector.read_races();
  const bool unused =
      !races.reads.empty() && result.outcome == Outcome::finished && !matters(races, found, module, inputs, options);
  for (std::size_t k = 0; k < found.all().size(); ++k) {
    const auto other = races.unused.find(k);
    sink.report(unused && other != races.unused.end() ? other->second : found.all()[k]);
  }
  return result;
}

}  // namespace kiln::sim
