#include "timing/timed_run.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/isa/tmem.hpp"
#include "sim/async/tma.hpp"
#include "sim/ops/launch_control.hpp"
#include "sim/ops/mbarrier.hpp"
#include "sim/schedule/standstill.hpp"
#include "sim/tensor/task.hpp"
#include "sim/tensor/wgmma.hpp"

namespace kiln::timing {
namespace {

using enum FactId;
using isa::Opcode;

constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::uint32_t other_lanes_every = 1024;  // turns of a warp, so that lanes that spin do not starve others
constexpr std::uint64_t livelock_every = 1 << 14;  // turns between two looks for a livelock
constexpr double clock_reads = 2;                  // cycles of a measured latency that are its two reads of the clock
constexpr std::uint32_t row_bytes = 128;           // that the copy engine takes at once, and a wavefront
constexpr std::uint64_t hbm_bytes = 64;            // that L2 asks of HBM at once
constexpr std::uint64_t own_bytes = 512;           // of a block of which it is known that this cluster wrote to it
constexpr double wgmma_k_bytes = 32;               // of a column of B, in one wgmma
constexpr double group_gap = 32;                   // cycles from one wgmma of a group to the next, at most
constexpr std::size_t most_spans = 200'000;        // of a timeline
constexpr double filled_beside = 0.1;              // of the time in which HBM gives a load: L2 gives nothing to the SM
constexpr double whole_sectors = 0.4;              // of a row in two lines, to one that lies in an odd sector too
constexpr double nothing_inside = 0.5;  // a row of a box that lies outside as a whole: the pair's other CTA has none
constexpr double least_wait = 16;       // cycles, of one that a timeline shows

Stall stall_of(sim::WaitKind kind) {
  switch (kind) {
    case sim::WaitKind::barrier: return Stall::barrier;
    case sim::WaitKind::cluster_barrier: return Stall::cluster_barrier;
    case sim::WaitKind::bulk_group: return Stall::copies;
    case sim::WaitKind::tmem_columns: return Stall::columns;
    case sim::WaitKind::tensor_ops: return Stall::tensor_memory;
    case sim::WaitKind::wgmma_group: return Stall::wgmma;
    default: return Stall::lanes;
  }
}

// What holds a warp up: lanes that wait for others of it do so because of what these wait for.
sim::WaitKind waits_for(const sim::Warp& warp) {
  sim::WaitKind kind = warp.fragments[0].wait.kind;
  for (int k = 0; k < warp.fragment_count; ++k)
    if (const sim::WaitKind other = warp.fragments[std::size_t(k)].wait.kind;
        other != sim::WaitKind::convergence && other != sim::WaitKind::warp_barrier)
      kind = other;
  return kind;
}

Stall stall_of(Does does) {
  switch (does) {
    case Does::load_shared: return Stall::shared_memory;
    case Does::load_global: return Stall::global_memory;
    case Does::tmem_load: return Stall::tensor_memory;
    default: return Stall::arithmetic;
  }
}

std::string_view maker(Does does) {
  switch (does) {
    case Does::copy: return "copies";
    case Does::commit: return "the tensor core";
    default: return "the cluster";
  }
}

// What a copy asks of global memory.
struct Asked {
  double rows = 0;    // that the copy engine takes one after the other, those outside of the tensor too
  double absent = 0;  // of them, those outside
  double bytes = 0;   // inside of the tensor
  double split = 0;   // of them, the part in rows that lie in one line more than they fill
};

Asked asked_by(const sim::Transfer& t) {
  const auto pieces = [](std::uint64_t bytes) { return (bytes + row_bytes - 1) / row_bytes; };
  if (!t.box) return {.rows = double(pieces(t.bytes)), .bytes = double(t.bytes)};
  Asked out{.rows = double(t.box->rows() * pieces(t.box->row_bytes()))};
  double split = 0, present = 0;
  for (const auto& [address, bytes] : sim::global_rows(*t.box)) {
    out.bytes += bytes, present += double(pieces(bytes));
    if ((address + bytes - 1) / row_bytes - address / row_bytes + 1 > pieces(bytes))
      split += address % sector_bytes == 0 ? whole_sectors * bytes : bytes;
  }
  out.absent = out.rows - present;
  if (out.bytes > 0) out.split = split / out.bytes;
  return out;
}

// The CTA and the warp in a name of sim::warp_name.
std::pair<std::uint32_t, std::uint32_t> warp_of(std::uint64_t name) {
  return {std::uint32_t((name - 1) >> 8), std::uint32_t((name - 1) & 0xFF)};
}

std::uint64_t clusters_in(const sim::Cluster& cluster) {
  return cluster.grid.launch.grid.volume() / cluster.ctas.size();
}

// SMs that run CTAs at the same time.
double busy_sms(const sim::Cluster& cluster, std::uint64_t resident, std::uint64_t asked) {
  const std::uint64_t clusters = asked ? asked : std::min(clusters_in(cluster), resident);
  return double(clusters * cluster.ctas.size());
}

}  // namespace

TimedRun::TimedRun(sim::Cluster& cluster, const Chip& chip, const Surroundings& around)
    : cluster_(cluster),
      chip_(chip),
      around_(around),
      resident_(resident_clusters(chip, cluster.ctas.size())),
      share_(share_of(chip, busy_sms(cluster, resident_, around.busy_clusters))),
      costs_(cluster.grid.program, chip, std::uint32_t(cluster.grid.launch.block.volume())),
      operations_(cluster.grid.program.code->operations.size()),
      roles_(cluster.grid.program, std::uint32_t(cluster.ctas.front().warps.size())),
      sms_(cluster.ctas.size(), Sm(chip, cluster.grid.program.layout.shared_bytes)),
      path_(cluster.ctas.size() * cluster.ctas.front().warps.size()),
      lets_begin_(cluster.ctas.size()),
      arrivals_(cluster.ctas.size()),
      tensor_since_(cluster.ctas.size()),
      mma_done_(cluster.ctas.size()) {
  const std::size_t registers = cluster.grid.program.code->registers.size();
  for (sim::Cta& cta : cluster.ctas)
    for (sim::Warp& warp : cta.warps) {
      Track& t = tracks_.emplace_back();
      t.number = std::uint32_t(tracks_.size() - 1);
      t.cta = &cta, t.warp = &warp;
      t.ready.resize(registers), t.reason.resize(registers);
    }
  time_.ctas = std::uint32_t(cluster.ctas.size());
  time_.clusters = clusters_in(cluster), time_.resident = resident_;
  time_.shared_bytes = cluster.grid.program.layout.shared_bytes;
  time_.threads = cluster.grid.launch.block.volume();
}

sim::Cta& TimedRun::cta_of(std::uint32_t index) {
  for (sim::Cta& cta : cluster_.ctas)
    if (cta.index == index) return cta;
  return cluster_.ctas.front();
}

// The clusters that run at the same time take theirs of those that wait.
void TimedRun::share_clusters() {
  auto& waiting = cluster_.grid.waiting;
  const auto others = std::min<std::uint64_t>(resident_ - 1, waiting.size());
  waiting.erase(waiting.begin(), waiting.begin() + std::ptrdiff_t(others));
}

// What a warp will issue, and when it can.
TimedRun::Next TimedRun::next(Track& t) {
  const bool high = t.turns % other_lanes_every == other_lanes_every - 1;
  const sim::Fragment& f = t.warp->fragments[std::size_t(high ? t.warp->highest() : t.warp->lowest())];
  const sim::Inst& inst = cluster_.grid.program.insts[f.pc];
  Next n;
  n.operation = f.pc;
  sim::Mask guard;
  std::memcpy(&guard, t.warp->registers + inst.guard, sizeof guard);
  n.lanes = f.lanes & (guard ^ inst.guard_flip);
  n.operands = n.dependent = t.at;
  n.reason = Stall::arithmetic;
  if (f.pc >= operations_) {
    n.unit = n.at = t.at;
    return n;
  }
  const auto wait_until = [&](double time, Stall reason) {
    if (time > n.operands) n.operands = time, n.reason = reason;
  };
  for (const ir::RegisterId r : costs_.read(f.pc)) wait_until(t.ready[r], t.reason[r]);
  for (const ir::RegisterId r : costs_.written(f.pc)) wait_until(t.ready[r], t.reason[r]);
  if (costs_[f.pc].orders) wait_until(t.begun, t.begun_reason);
  if (!costs_[f.pc].moves) n.dependent = n.operands;
  n.unit = n.dependent;
  if (n.lanes) {
    const Cost& c = costs_[f.pc];
    n.unit += c.before;
    n.unit_reason = Stall::fence;
    const auto not_before = [&](double time, Stall reason) {
      if (time > n.unit) n.unit = time, n.unit_reason = reason;
    };
    if (c.does == Does::mma || c.does == Does::tmem_copy) not_before(sm(*t.cta).tensor.room(n.unit), Stall::mma_queue);
    if (c.does == Does::wgmma) not_before(wgmma_queue_of(t).room(n.unit), Stall::mma_queue);
    if (c.releases) not_before(sm(*t.cta).written.free(), Stall::fence);
    if (c.does == Does::wait_tmem_load) not_before(t.loaded, Stall::tensor_memory);
    if (c.does == Does::wait_tmem_store) not_before(t.stored, Stall::tensor_memory);
  }
  n.at = t.blocked ? std::max(t.at, now_) : std::max(n.unit, scheduler(t).free());
  return n;
}

// The warp that goes on before another begins a group of wgmmas: one that shares its part of the tensor core and is
// amid a group of its own, as long as nothing holds that up.
TimedRun::Track* TimedRun::before(const Track& t, const Next& n) {
  if (t.in_group || t.blocked || cost(n.operation).does != Does::wgmma) return nullptr;
  for (Track& other : tracks_) {
    const bool shares = other.cta == t.cta && other.warp->index % 4 == t.warp->index % 4;
    if (!shares || !other.in_group || other.blocked || !other.warp->runnable()) continue;
    const Next goes_on = next(other);
    const bool waits = goes_on.unit > goes_on.dependent && goes_on.unit_reason == Stall::mma_queue;
    if (!waits && goes_on.at < n.at + group_gap) return &other;
  }
  return nullptr;
}

void TimedRun::charge(Track& t, const Next& n) {
  RoleTime& role = roles_.of(n.operation, t.warp->index);
  const auto add = [&](Stall s, double cycles) {
    role.stalls[std::size_t(s)] += std::max(0.0, cycles);
    path_.own(t.number, s, cycles);
  };
  if (t.blocked) {
    if (t.blocked_for == Stall::barrier || t.blocked_for == Stall::cluster_barrier) {
      role.stalls[std::size_t(*t.blocked_for)] += now_ - t.at;
      path_.wait(t.number, role.name, t.at, now_,
                 t.blocked_for == Stall::barrier ? arrivals_[t.cta->rank] : cluster_arrival_);
    } else if (t.blocked_for) {
      add(*t.blocked_for, now_ - t.at);  // for an mbarrier meet_mbarrier does it
    }
    show_wait(t, n, t.blocked_for ? spelling(*t.blocked_for) : "an mbarrier", t.at, now_);
    return;
  }
  if (n.reason == Stall::mbarrier && n.dependent > t.at) {
    role.mbarriers[t.awaited] += n.dependent - t.at;
    if (!t.is_on_path) path_.wait(t.number, role.name, t.at, n.dependent, t.release);
    t.is_on_path = true;
  } else {
    add(n.reason, n.dependent - t.at);
  }
  show_wait(t, n, n.reason == Stall::mbarrier ? t.awaited : spelling(n.reason), t.at, n.dependent);
  show_wait(t, n, spelling(n.unit_reason), n.dependent, n.unit);
  add(n.unit_reason, n.unit - n.dependent);
  add(Stall::issue, now_ - n.unit);
}

// Those that a barrier holds go on because of the last one that was not held.
void TimedRun::note_arrival(const Track& t, std::uint32_t operation) {
  if (operation >= operations_) return;
  const ir::Operation& op = cluster_.grid.program.code->operations[operation];
  const Release r{Release::Kind::warp, t.number, now_, now_};
  if (op.opcode == Opcode::barrier_cluster_arrive)
    cluster_arrival_ = r;
  else if (isa::unit(op.opcode) == isa::Unit::barrier && !t.blocked)
    arrivals_[t.cta->rank] = r;
}

std::uint32_t TimedRun::number_of(std::uint32_t cta, std::uint32_t warp) const {
  for (const Track& t : tracks_)
    if (t.cta->index == cta && t.warp->index == warp) return t.number;
  return 0;
}

// What completes a phase now.
Release TimedRun::release_of(bool by_event) const {
  if (!by_event) return {Release::Kind::warp, issuer_ ? issuer_->number : 0, now_, now_};
  const auto [cta, warp] = warp_of(cause_->event.warp);
  const std::uint32_t number = number_of(cta, warp);
  switch (cause_->does) {
    case Does::copy: return {Release::Kind::copy, number, cause_->issued, now_};
    case Does::commit: return {Release::Kind::tensor_core, number, tensor_since_[tracks_[number].cta->rank], now_};
    default: return {Release::Kind::warp, number, cause_->issued, cause_->issued};
  }
}

void TimedRun::show(std::uint32_t cta, std::string lane, std::string what, double begin, double end) {
  if (!around_.timeline || time_.spans.size() >= most_spans) return;
  time_.spans.push_back({cta, std::move(lane), std::move(what), begin, end});
}

void TimedRun::show_wait(const Track& t, const Next& n, std::string_view what, double begin, double end) {
  if (!around_.timeline || end - begin < least_wait) return;
  const std::string& role = roles_.name(n.operation, t.warp->index);
  show(t.cta->rank, role + ", warp " + std::to_string(t.warp->index), std::string(what), begin, end);
}

void TimedRun::issue(Track& t, const Next& n, const ir::Operation*& current) {
  now_ = std::max(now_, n.at);
  cluster_.now = std::uint64_t(now_);
  issuer_ = &t, issuing_ = n.operation;
  touched_.clear();
  multiplied_ = 0, engine_end_.reset(), load_.reset(), observed_.reset(), copies_.clear();
  stored_.clear();
  const std::uint64_t steps = t.cta->steps;
  sim::Turn turn;
  turn.budget = 1, turn.attempts = true;
  turn.highest = t.turns++ % other_lanes_every == other_lanes_every - 1;
  run_warp(cluster_, *t.cta, *t.warp, turn, current);
  if (t.cta->steps == steps) {
    answer_peeks(t);
    if (!t.blocked && !t.warp->runnable()) {
      const sim::WaitKind kind = waits_for(*t.warp);
      t.at = now_, t.blocked = true;
      t.blocked_for = kind == sim::WaitKind::mbarrier ? std::nullopt : std::optional(stall_of(kind));
    }
  } else {
    charge(t, n);
    note_arrival(t, n.operation);
    settle(t, n, n.lanes ? cost(n.operation) : Cost{});
    path_.exit(t.number, roles_.name(n.operation, t.warp->index), now_);
  }
  take_events(nullptr);
  issuer_ = nullptr;
  after_turn(*t.cta, *t.warp);
}

// A wait whose failure is no loop does not hold the warp. A chip answers it once the phase is complete; here it is
// answered no at once, and the wait that follows is as far as this one would be.
void TimedRun::answer_peeks(Track& t) {
  for (int k = 0; k < t.warp->fragment_count; ++k) {
    sim::Fragment& f = t.warp->fragments[std::size_t(k)];
    if (!f.blocked || f.wait.kind != sim::WaitKind::mbarrier) continue;
    if (!is_peek(cluster_.grid.program.insts[f.pc])) continue;
    f.blocked = false, f.expired = true;
    t.peeked = Object{cluster_.ctas[f.wait.cta_rank].index, f.wait.address}, t.peeked_at = now_;
  }
}

// The instruction has been executed: what that costs the warp, and the units that it went to.
void TimedRun::settle(Track& t, const Next& n, const Cost& c) {
  const double since = t.blocked ? t.at : now_;
  t.blocked = false;
  scheduler(t).begin(now_, c.slots);
  roles_.of(n.operation, t.warp->index).issued += c.slots;
  t.at = now_ + std::max(c.slots, c.after);
  const double begins = c.moves ? std::max(now_, n.operands) : now_;
  if (begins > t.begun) t.begun = begins, t.begun_reason = n.reason;
  if (n.operation < operations_)
    for (const ir::RegisterId r : costs_.written(n.operation))
      t.ready[r] = begins + c.latency, t.reason[r] = stall_of(c.does);
  const double bytes = double(c.lane_bytes) * sim::count(n.lanes);
  Sm& s = sm(*t.cta);
  if (c.acquires && n.lanes) s.l1.forget();
  if (c.does == Does::wgmma) t.in_group = true;
  if (n.operation < operations_ &&
      cluster_.grid.program.code->operations[n.operation].opcode == Opcode::wgmma_commit_group)
    t.in_group = false;
  switch (c.does) {
    case Does::wait_mbarrier: meet_mbarrier(t, n, since); break;
    case Does::load_shared: {
      const double cycles = shared_cycles(s);
      load(t, n, std::max(s.shared_port.end(now_, cycles), begins + cycles) + c.latency);
      break;
    }
    case Does::store_shared: t.at = std::max(t.at, s.shared_port.begin(now_, shared_cycles(s))); break;
    case Does::load_global: load_global(t, n, c, begins); break;
    case Does::store_global: store_global(t); break;
    case Does::tmem_load: {
      const double own = bytes / chip_[tmem_load_rate];  // two warps of a quarter have twice the rate of one
      const double start = s.tmem_ports[t.warp->index % 4].begin(std::max(now_, t.load_free), own / 2);
      t.load_free = start + own;
      t.loaded = std::max(t.loaded, t.load_free + chip_[FactId::tmem_load]);
      load(t, n, t.loaded);
      break;
    }
    case Does::tmem_store: {
      const double columns = c.lane_bytes / 4.0;
      t.stored = std::max(t.stored, now_ + chip_[FactId::tmem_store] + columns * chip_[tmem_store_column]);
      break;
    }
    case Does::mma: leave_out_values(t, c.does); break;
    case Does::tmem_copy: start_tmem_copy(t, c.lane_bytes); break;
    case Does::wgmma: start_wgmma(t, n); break;
    case Does::fetch_map: s.fetches_maps = true; break;
    case Does::mma_sync: ++time_.mma_sync; break;
    default: break;
  }
}

// The first-level cache holds what is on its way to L2. A warp waits where that is full, and accesses of shared memory
// that come after its store wait with it: they go through one pipeline, in order.
void TimedRun::store_global(Track& t) {
  if (touched_.empty()) return;
  Sm& s = sm(*t.cta);
  const double parts = sectors(touched_);
  const double cycles = std::max(lines(touched_) * share_.store_line, parts * share_.store_sector);
  const double begins = s.written.begin(now_, cycles);
  const double enters = begins - s.store_room * cycles / parts;
  t.at = std::max(t.at, enters);
  s.shared_port.hold(enters);
  double bytes = 0;
  for (const Touch& x : touched_) bytes += x.bytes, own_.insert(x.address / own_bytes);
  note_written(s, touched_.front().address, bytes);
}

// Units take the load now, as those before it; its address may come later than that, at `begins`. What L1 does not have
// is asked of L2 after the stores that are on their way there.
void TimedRun::load_global(Track& t, const Next& n, const Cost& c, double begins) {
  Sm& s = sm(*t.cta);
  const double of_lines = lines(touched_) * chip_[global_line];
  const double taken = s.lines.end(now_, of_lines), asked = std::max(taken, begins + of_lines);
  const Cached found = c.is_cached ? s.l1.find(touched_) : Cached{sectors(touched_), 0};
  if (found.missing == 0 && !touched_.empty()) {
    load(t, n, std::max(asked + chip_[l1_latency], found.there));
    return;
  }
  const bool handed = !touched_.empty() && is_handed(touched_.front().address);
  const double bytes = double(found.missing) * sector_bytes;
  const double travels = bytes / (handed ? share_.own_rate : share_.ingest_rate);
  const auto from_hbm = touched_.empty() ? std::nullopt : note_read(touched_.front().address, bytes);
  // What another SM or the load before has asked of HBM is found in L2.
  const bool is_new = from_hbm && s.hbm_blocks.insert(touched_.front().address / hbm_bytes).second;
  const double part = is_new ? *from_hbm : 0;
  const double given = part > 0 ? s.hbm.end(now_, bytes * part * (1 + around_.dirty) / share_.hbm_rate) : 0;
  const double far = handed && c.is_cached ? chip_[l2_far] - chip_[l2_latency] : 0;
  const double latency = c.latency + std::max(far, part * (chip_[hbm_latency] - chip_[l2_latency]));
  time_.counts |= cluster_.grid.program.code->operations[n.operation].opcode == Opcode::atom;
  const double sent = std::max(asked, s.written.free());
  const double there =
      std::max({given, s.ingest.end(std::max(taken, s.written.free()), travels), sent + travels, found.there}) +
      latency;
  if (c.is_cached) s.l1.fill(touched_, there);
  load(t, n, there);
  time_.loaded += bytes;
}

// Of the shared memory port, for what the instruction's lanes have touched.
double TimedRun::shared_cycles(Sm& s) {
  const double bytes = wavefronts(touched_) * double(row_bytes);
  use_operands(s, bytes);
  return bytes / chip_[shared_rate];
}

// wgmma reads its operands through the port that loads and stores use; tcgen05.mma has one of its own. Copies are not
// slowed on either chip, and do not slow.
void TimedRun::use_operands(Sm& s, double bytes) {
  if (chip_.core == TensorCore::wgmma) s.operands.end(now_, bytes / chip_[shared_rate]);
}

void TimedRun::load(Track& t, const Next& n, double ready) {
  for (const ir::RegisterId r : costs_.written(n.operation)) t.ready[r] = ready;
}

// A wait has passed: its answer is there after a while, or when the phase's completion has been noticed. Until an
// instruction needs the answer the warp goes on.
void TimedRun::meet_mbarrier(Track& t, const Next& n, double since) {
  const bool peeked = observed_ && t.peeked == observed_;
  const bool warp_waits = chip_.core == TensorCore::wgmma && sim::count(n.lanes) > 1;
  const double takes = chip_[warp_waits ? try_wait_warp : try_wait];
  double answered = observed_ ? (peeked ? t.peeked_at : now_) + takes : now_;
  t.awaited = "mbarriers that were complete";
  t.release = {Release::Kind::warp, t.number, now_, now_}, t.is_on_path = true;
  if (observed_) {
    t.peeked.reset();
    const Phase& phase = phases_[*observed_];
    const double noticed = phase.visible + chip_[wake];
    if (noticed > answered || since < now_) {
      answered = std::max(noticed, answered - (peeked ? 0 : now_ - since));
      t.release = phase.release, t.is_on_path = false;
      const std::string object =
          shared_name(cluster_.grid.program, std::uint32_t(observed_->second), isa::mbarrier_bytes);
      const bool is_named = !object.starts_with("shared 0x");
      t.awaited = (is_named ? object.substr(0, object.find('[')) : "mbarriers") + " (" + phase.by + ")";
    }
  }
  if (since < now_) {
    roles_.of(n.operation, t.warp->index).mbarriers[t.awaited] += now_ - since;
    path_.wait(t.number, roles_.name(n.operation, t.warp->index), since, answered, t.release);
    t.is_on_path = true;
  }
  for (const ir::RegisterId r : costs_.written(n.operation)) t.ready[r] = answered, t.reason[r] = Stall::mbarrier;
}

void TimedRun::start_tmem_copy(Track& t, double bytes) {
  TensorPipe& pipe = sm(*t.cta).tensor;
  const bool idle = pipe.free() <= now_;
  const double busy = bytes / chip_[tmem_copy_rate], start = std::max(now_, pipe.free());
  pipe.block(start + busy, busy);
  auto& done = mma_done_[t.cta->rank];
  const double end = start + (idle ? chip_[FactId::tmem_copy] - chip_[wake] : busy);
  done.push_back(done.empty() ? end : std::max(end, done.back()));
}

void TimedRun::start_wgmma(Track& t, const Next& n) {
  const sim::Program& program = cluster_.grid.program;
  const auto& shape = program.mmas[program.insts[n.operation].target].shape;
  const int columns = shape.n;
  Server& core = sm(*t.cta).sub_cores[t.warp->index % 4];
  Sm& s = sm(*t.cta);
  double bytes = 0;
  for (const Touch& x : touched_) bytes += x.bytes;
  // The warp's own rows of A, and its part of B, which the warpgroup reads once.
  use_operands(s, bytes - wgmma_k_bytes * columns * (1 - 1.0 / isa::warps_per_warpgroup));
  const double end = std::max(core.end(now_, wgmma_interval(chip_, columns)), s.operands.free());
  core.begin(end, 0);
  wgmma_queue_of(t).add(end);
  wgmma_done_[{t.cta->index, t.warp->index}].push_back(end + chip_[wgmma_drain]);
  if (t.warp->index % 4 == 0) ++time_.mmas, time_.operations += 2.0 * shape.m * shape.n * shape.k;
  if (t.warp->index % 4 == 0) show(t.cta->rank, "tensor core", "wgmma", end - wgmma_interval(chip_, columns), end);
  leave_out_values(t, Does::wgmma);
}

// The unit does its work in time, without the sums.
void TimedRun::leave_out_values(Track& t, Does does) {
  if (around_.values) return;
  if (does == Does::wgmma) {
    queue_of(*t.cta, t.warp->index).waiting.back().action = [] {};
    return;
  }
  auto& waiting = t.cta->tensor.waiting;
  for (std::size_t k = 0; k < multiplied_; ++k) waiting[waiting.size() - 1 - k].action = [] {};
}

void TimedRun::multiply(const sim::MmaTask& task) {
  sim::Cta& cta = *issuer_->cta;
  const MmaTime t = mma_time(chip_, task.form.kind, task.form.a_in_tmem, task.members(), task.shape.m, task.shape.n);
  Sm& own = sm(cta);
  Sm* const peer = task.members() == 2 ? &sms_[cta.rank ^ 1] : nullptr;
  const double start = own.tensor.begin(now_, peer ? peer->tensor.free() : 0, t);
  if (peer) peer->tensor.block(own.tensor.free(), t.interval);
  const double end = start + t.latency - chip_[wake] - clock_reads;
  auto& done = mma_done_[cta.rank];
  done.push_back(done.empty() ? end : std::max(end, done.back()));
  show(cta.rank, "tensor core", "MMA", start, start + t.interval);
  tensor_since_[cta.rank] = own.tensor.busy_since();
  ++multiplied_, ++time_.mmas;
  time_.operations += 2.0 * task.shape.m * task.shape.n * task.k();
  time_.guessed_mma |= !t.exact || task.form.sparse || task.form.ws;
}

// Which buffers the kernel reads. Of a read that L2 does not answer: the part that HBM must give.
std::optional<double> TimedRun::note_read(std::uint64_t address, double bytes) {
  const sim::Region* r = cluster_.grid.memory.region(address);
  if (!r) return std::nullopt;
  BufferUse& use = time_.read[r->name];
  use.size = double(r->bytes), use.moved += bytes;
  if (around_.hits_l2 || around_.held.contains(r->name)) return std::nullopt;
  const auto spilled = around_.spilled.find(r->name);
  if (spilled == around_.spilled.end()) return around_.from_hbm;
  if (own_.contains(address / own_bytes)) return std::nullopt;
  return spilled->second;
}

// Whether other clusters write there what this one reads.
bool TimedRun::is_handed(std::uint64_t address) const {
  if (around_.handed.empty()) return false;
  const sim::Region* r = cluster_.grid.memory.region(address);
  return r && around_.handed.contains(r->name);
}

// Of what a copy brings from there, the part that L2 gives.
std::optional<double> TimedRun::given_by_l2(std::uint64_t address) const {
  if (around_.given.empty() || address == 0) return std::nullopt;
  const sim::Region* r = cluster_.grid.memory.region(address);
  const auto found = r ? around_.given.find(r->name) : around_.given.end();
  return found == around_.given.end() ? std::nullopt : std::optional(found->second);
}

// And writes, which L2 takes.
void TimedRun::note_written(Sm& s, std::uint64_t address, double bytes) {
  const sim::Region* r = cluster_.grid.memory.region(address);
  if (!r) return;
  BufferUse& use = time_.written[r->name];
  use.size = double(r->bytes), use.moved += bytes;
  if (around_.dirty > 0) s.hbm.end(now_, bytes * around_.dirty / share_.hbm_rate);
}

void TimedRun::transfer(const sim::Transfer& t) {
  if (!issuer_) return;
  Sm& s = sm(*issuer_->cta);
  const Asked asked = asked_by(t);
  // Lanes that store the same box: the operands of the instruction are the warp's, and it is sent once.
  const auto is_same = [&](const sim::Transfer& x) { return x.global == t.global && x.at == t.at; };
  if (!t.signals && t.box) {
    if (std::any_of(stored_.begin(), stored_.end(), is_same)) return copies_.push_back(copies_.back());
    stored_.push_back(t);
  }
  if (!t.signals) {
    if (t.global != 0) note_written(s, t.global, asked.bytes);
    const double read = s.stores.end(now_, asked.bytes / share_.store_rate);
    copies_.push_back({read, read + chip_[store_latency]});
    return;
  }
  // What the tensor does not have the copy engine makes, on a chip with wgmma in a time of its own.
  const bool wgmma = chip_.core == TensorCore::wgmma;
  double absent_row = share_.absent_row;
  if (wgmma && cluster_.ctas.size() > 1) absent_row = chip_[copy_row_outside] * (asked.bytes == 0 ? nothing_inside : 1);
  const double cycles = (asked.rows - asked.absent) * chip_[copy_row] + asked.absent * absent_row;
  double from_hbm = 0;
  if (!engine_end_ || !cost(issuing_).multicast) {
    const bool first = t.box && s.maps.insert(t.global).second && !s.fetches_maps;
    const double bytes = wgmma ? asked.bytes : double(t.bytes);
    cold_ = t.global == 0 ? std::nullopt : note_read(t.global, bytes);
    if (t.global != 0) time_.loaded += double(t.bytes);
    hbm_end_ = now_;
    if (cold_.value_or(0) > 0) {
      from_hbm = bytes * *cold_ * (1 + around_.dirty) / share_.hbm_rate;
      hbm_end_ = s.hbm.end(now_, from_hbm);
    }
    engine_end_ = s.copies.end(now_ + (first ? chip_[descriptor_miss] : 0), cycles);
  }
  time_.copies = true;
  load_ = Load{.cycles = cycles,
               .bytes = wgmma ? asked.bytes : double(t.bytes),
               .split = asked.split,
               .filled = wgmma ? filled_beside * from_hbm : 0,
               .from_shared = t.global == 0,
               .cold = cold_.has_value(),
               .given = given_by_l2(t.global)};
}

// Where a load that has been announced goes.
void TimedRun::access(const sim::Range& range, sim::AccessKind kind) {
  if (issuer_ && !load_ && range.operand == sim::Operand::none)
    touched_.push_back({range.address, std::uint32_t(range.bytes)});
  if (!load_ || kind != sim::AccessKind::write || range.space != isa::Space::shared_cta) return;
  const bool multicast = cost(issuing_).multicast;
  double latency = chip_[load_->cold ? load_latency_hbm : load_latency] - chip_[wake];
  if (load_->from_shared) latency = chip_[remote_arrive];
  if (multicast) latency += chip_[FactId::multicast];
  // What goes to several CTAs L2 gives once.
  const double ctas = double(cluster_.ctas.size()), times = multicast ? ctas : 1;
  double rate = multicast ? chip_[ingest_rate] : share_.ingest_rate;
  if (load_->given) {
    rate = std::min(chip_[ingest_rate], share_.own_rate * times / *load_->given);
    if (ctas > 1) rate /= chip_[cluster_ingest];
  }
  double split_rate = std::min(rate, share_.split_rate * times);
  if (load_->given && ctas > 1) split_rate = std::min(rate, chip_[ingest_rate_split] * times);
  Sm& to = sm(cta_of(range.cta));
  const double travels = load_->bytes * ((1 - load_->split) / rate + load_->split / split_rate) + load_->filled;
  const double begins = *engine_end_ - load_->cycles;
  double arrived = to.ingest.end(begins, travels);
  // L2 serves who asks: the share of an SM holds over a while.
  if (load_->given)
    arrived = std::max(to.port.end(begins, load_->bytes / chip_[ingest_rate]), arrived - chip_[ingest_ahead]);
  const double done = std::max({*engine_end_, arrived, hbm_end_}) + latency;
  copies_.push_back({done, done});
  show(cta_of(range.cta).rank, "copies", "load", now_, done);
  load_.reset();
}

void TimedRun::sync(const sim::Sync& s) {
  if (s.kind == sim::SyncKind::grid_wait && !time_.waits_at) time_.waits_at = now_;
  if (s.kind == sim::SyncKind::grid_begin && issuer_ && !lets_begin_[issuer_->cta->rank])
    lets_begin_[issuer_->cta->rank] = now_;
  if (s.kind == sim::SyncKind::mbarrier_observe) observed_ = Object{s.cta, s.object};
  if (s.kind == sim::SyncKind::tmem_alloc && !around_.values)
    for (int lane = 0; lane < isa::tmem_lanes; ++lane)
      cta_of(s.cta).tmem.mark(lane, int(s.object), int(s.value), sim::TensorMemory::known);
  if (s.kind != sim::SyncKind::mbarrier_phase) return;
  const bool by_event = cause_ != nullptr;
  const std::uint32_t from = by_event ? warp_of(cause_->event.warp).first : issuer_ ? issuer_->cta->index : s.cta;
  const bool travels = from != s.cta && !(by_event && cause_->does == Does::copy);
  Phase& phase = phases_[{s.cta, s.object}];
  phase.visible = now_ + (travels ? chip_[remote_arrive] : 0);
  phase.by = by_event  ? std::string(maker(cause_->does))
             : issuer_ ? roles_.name(issuing_, issuer_->warp->index)
                       : std::string();
  phase.release = release_of(by_event);
}

TimedRun::Flight TimedRun::schedule(sim::Event event, const Flight* parent) {
  Flight f;
  f.order = ++flown_;
  f.time = now_;
  f.issued = parent && parent->event.operation == event.operation ? parent->issued : now_;
  const ir::Code& code = *cluster_.grid.program.code;
  if (event.operation) f.does = costs_[code.index(*event.operation)].does;
  const auto [cta, warp] = warp_of(event.warp);
  const auto take = [&](std::deque<double>& times) {
    f.time = std::max(now_, times.front());
    times.pop_front();
  };
  switch (f.does) {
    case Does::copy:
      if (parent && parent->does == Does::copy) {
        f.time = std::max(now_, parent->second);
      } else if (!copies_.empty()) {
        f.time = copies_.front().read, f.second = copies_.front().done;
        copies_.pop_front();
      }
      break;
    case Does::mma:
    case Does::tmem_copy: take(mma_done_[cta_of(cta).rank]); break;
    case Does::wgmma: take(wgmma_done_[{cta, warp}]); break;
    case Does::commit: break;
    case Does::remote: f.time = now_ + chip_[remote_arrive]; break;
    default: f.time = now_ + chip_[l2_latency]; break;  // cp.async, clusterlaunchcontrol
  }
  f.event = std::move(event);
  return f;
}

void TimedRun::take_events(const Flight* parent) {
  std::vector<sim::Event> events;
  while (!cluster_.events.empty()) events.push_back(cluster_.events.take());
  std::sort(events.begin(), events.end(), [](const auto& x, const auto& y) { return x.order < y.order; });
  for (sim::Event& e : events) flights_.push(schedule(std::move(e), parent));
}

void TimedRun::happen(Flight f, const ir::Operation*& current) {
  now_ = std::max(now_, f.time);
  sim::Event event = std::move(f.event);
  event.time = cluster_.now = std::uint64_t(now_);
  f.event.warp = event.warp;
  const bool asks = event.operation && event.operation->opcode == Opcode::clusterlaunchcontrol_try_cancel;
  if (asks) {
    time_.takes_clusters = true;
    // Now and then the simulator refuses a request by its generator; here none is while clusters wait.
    while (sim::Random(cluster_.random).below(sim::refused_one_in) == 0) cluster_.random.below(sim::refused_one_in);
  }
  cause_ = &f;
  run_event(cluster_, std::move(event), current);
  take_events(&f);
  cause_ = nullptr;
  if (asks) share_clusters();
}

sim::Outcome TimedRun::go(const ir::Operation*& current) {
  share_clusters();
  sim::Patience patience;
  for (std::uint64_t turns = 1;; ++turns) {
    Track* best = nullptr;
    Next chosen;
    double others = flights_.empty() ? never : flights_.top().time;  // when something else comes next
    chosen.at = never;
    for (Track& t : tracks_) {
      if (!t.warp->runnable()) continue;
      const Next n = next(t);
      // Of those that can issue at the same time the one that has waited longest does.
      if (n.at < chosen.at || (best && n.at == chosen.at && n.dependent < chosen.dependent)) {
        others = std::min(others, chosen.at);
        best = &t, chosen = n;
      } else {
        others = std::min(others, n.at);
      }
    }
    if (!flights_.empty() && flights_.top().time <= chosen.at) {
      Flight f = std::move(const_cast<Flight&>(flights_.top()));
      flights_.pop();
      happen(std::move(f), current);
    } else if (best) {
      if (Track* const first = before(*best, chosen)) best = first, chosen = next(*first);
      issue(*best, chosen, current);
      if (concerns_itself(chosen.operation)) run_on(*best, others, current);
    } else if (finished(cluster_)) {
      return sim::Outcome::finished;
    } else if (!patience.none_runs(cluster_)) {
      return end_in_deadlock(cluster_);
    }
    if (turns % livelock_every == 0 && flights_.empty() && only_polls(cluster_) && !patience.all_poll(cluster_))
      return sim::end_in_livelock(cluster_);
  }
}

// Arithmetic, which no other warp can notice.
bool TimedRun::concerns_itself(std::uint32_t operation) const {
  if (operation >= operations_) return false;
  return isa::unit(cluster_.grid.program.code->operations[operation].opcode) == isa::Unit::alu;
}

// More instructions of a warp, while none of them concerns another and nothing else comes first.
void TimedRun::run_on(Track& t, double others, const ir::Operation*& current) {
  while (t.warp->runnable() && !t.blocked) {
    const Next n = next(t);
    const double first = flights_.empty() ? others : std::min(others, flights_.top().time);
    if (!concerns_itself(n.operation) || n.at >= first) return;
    issue(t, n, current);
  }
}

ClusterTime TimedRun::result() const {
  ClusterTime out = time_;
  out.cycles = now_;
  for (const Sm& s : sms_) out.drain = std::max(out.drain, s.written.free() - now_);
  const auto lets = [](const std::optional<double>& at) { return at.has_value(); };
  if (std::all_of(lets_begin_.begin(), lets_begin_.end(), lets))
    out.lets_begin_at = **std::max_element(lets_begin_.begin(), lets_begin_.end());
  out.roles = roles_.times();
  out.path = path_.parts();
  const auto most = [&](auto busy) {
    double longest = 0;
    for (const Sm& s : sms_) longest = std::max(longest, busy(s));
    return longest;
  };
  const auto of_four = [](const std::array<Server, 4>& servers) {
    double longest = 0;
    for (const Server& s : servers) longest = std::max(longest, s.busy());
    return longest;
  };
  const bool tcgen05 = chip_.core == TensorCore::tcgen05;
  out.uses = {
      {"tensor core", most([&](const Sm& s) { return tcgen05 ? s.tensor.busy() : of_four(s.sub_cores); })},
      {"copy engine", most([](const Sm& s) { return s.copies.busy(); })},
      {"L2 to the SM", most([](const Sm& s) { return s.ingest.busy(); })},
      {"HBM", most([](const Sm& s) { return s.hbm.busy(); })},
      {"bulk stores", most([](const Sm& s) { return s.stores.busy(); })},
      {"shared memory port", most([](const Sm& s) { return std::max(s.shared_port.busy(), s.operands.busy()); })},
      {"lines of global memory", most([](const Sm& s) { return s.lines.busy(); })},
      {"stores to L2", std::min(now_, most([](const Sm& s) { return s.written.busy(); }))},
      {"tensor memory port", most([&](const Sm& s) { return of_four(s.tmem_ports); })},
      {"issue slots", most([&](const Sm& s) { return of_four(s.schedulers); })}};
  return out;
}

}  // namespace kiln::timing
