#include "timing/timed_run.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/isa/tmem.hpp"
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
constexpr std::uint64_t livelock_every = 1 << 14;  // turns between two looks for a livelock

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

double ClusterTime::busy(std::string_view resource) const {
  const auto use = std::find_if(uses.begin(), uses.end(), [&](const Use& u) { return u.name == resource; });
  return use == uses.end() ? 0 : use->busy;
}

TimedRun::TimedRun(sim::Cluster& cluster, const Chip& chip, const Surroundings& around)
    : cluster_(cluster),
      chip_(chip),
      around_(around),
      resident_(resident_clusters(chip, cluster.ctas.size())),
      busy_(busy_sms(cluster, resident_, around.busy_clusters)),
      share_(share_of(chip, busy_)),
      sms_(cluster.ctas.size(), Sm(chip, cluster.grid.program.layout.shared_bytes)),
      warps_(cluster, chip, sms_),
      record_(cluster, around.timeline),
      buffers_(cluster.grid.memory, around_, share_.hbm_rate),
      accesses_(chip, share_, buffers_),
      copies_(chip, share_, buffers_, cluster.ctas.size()),
      tensor_(chip, sms_, record_, around.values),
      lets_begin_(cluster.ctas.size()) {
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

// What completes a phase now.
Release TimedRun::release_of(bool by_event) const {
  if (!by_event) return {Release::Kind::warp, issuer_ ? issuer_->number : 0, now_, now_};
  const auto [cta, warp] = warp_of(cause_->event.warp);
  const std::uint32_t number = warps_.number_of(cta, warp);
  switch (cause_->does) {
    case Does::copy: return {Release::Kind::copy, number, cause_->issued, now_};
    case Does::commit: return {Release::Kind::tensor_core, number, tensor_.busy_since(warps_[number].cta->rank), now_};
    default: return {Release::Kind::warp, number, cause_->issued, cause_->issued};
  }
}

void TimedRun::issue(Track& t, const Next& n, const ir::Operation*& current) {
  now_ = std::max(now_, n.at);
  cluster_.now = std::uint64_t(now_);
  issuer_ = &t, issuing_ = n.operation, lanes_ = n.lanes, counted_ = false;
  observed_.reset();
  const Cost cost = warps_.cost(n.operation);
  accesses_.issue(), copies_.issue(cost.multicast), tensor_.issue();
  const std::uint64_t steps = t.cta->steps;
  sim::Turn turn;
  turn.budget = 1, turn.attempts = true;
  turn.highest = t.is_turn_of_others();
  ++t.turns;
  run_warp(cluster_, *t.cta, *t.warp, turn, current);
  if (t.cta->steps == steps) {
    answer_peeks(t);
    if (!t.blocked && !t.warp->runnable()) {
      const sim::WaitKind kind = waits_for(*t.warp);
      t.at = now_, t.blocked = true;
      t.blocked_for = kind == sim::WaitKind::mbarrier ? std::nullopt : std::optional(stall_of(kind));
    }
  } else {
    record_.charge(t, n, now_);
    if (const ir::Operation* const op = warps_.operation(n.operation)) record_.arrive(t, *op, now_);
    settle(t, n, n.lanes ? cost : Cost{.past = cost.past});
    record_.exit(t, n, now_);
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
  t.scheduler().begin(now_, c.slots);
  record_.issue(t, n, c.slots);
  const double leaves = n.is_all ? c.jump : std::max(c.jump, c.past);
  t.at = now_ + std::max({double(c.slots), double(c.after), leaves}) +
         (t.sm->wgmma_core.free() > now_ ? c.beside_wgmma : 0);
  double begins = c.rises() ? n.operands : c.moves ? std::max(now_, n.operands) : now_;
  if (!c.moves && !c.lets_pass()) t.passed = now_;
  if (c.special > 0) begins = t.special_unit().begin(begins, c.special);
  if (c.product > 0) begins = t.product_unit().begin(begins, c.product);
  if (begins > t.begun) t.begun = begins, t.begun_reason = n.reason;
  const ir::Operation* const op = warps_.operation(n.operation);
  if (op) warps_.set_ready(t, n.operation, begins + c.latency, stall_of(c.does));
  if (c.acquires && n.lanes) t.sm->l1.forget();
  switch (c.does) {
    case Does::wait_mbarrier: meet_mbarrier(t, n, since); break;
    case Does::load_shared:
      warps_.set_ready(t, n.operation, accesses_.load_shared(*t.sm, now_, begins) + c.latency);
      break;
    case Does::store_shared: t.at = std::max(t.at, accesses_.store_shared(*t.sm, now_)); break;
    case Does::load_global:
      warps_.set_ready(t, n.operation, accesses_.load_global(*t.sm, c, std::min(now_, begins), begins));
      time_.counts |= op->opcode == Opcode::atom;
      if (counted_) ++time_.counted[t.number];
      break;
    case Does::store_global: t.at = std::max(t.at, accesses_.store_global(*t.sm, now_)); break;
    case Does::tmem_load: load_tmem(t, n, double(c.lane_bytes) * sim::count(n.lanes)); break;
    case Does::tmem_store: {
      const double columns = c.lane_bytes / 4.0;
      t.stored = std::max(t.stored, now_ + chip_[FactId::tmem_store] + columns * chip_[tmem_store_column]);
      break;
    }
    case Does::mma: tensor_.leave_out_values(*t.cta); break;
    case Does::tmem_copy: tensor_.copy(t, c.lane_bytes, now_); break;
    case Does::wgmma: start_wgmma(t, n); break;
    case Does::fetch_map: t.sm->fetches_maps = true; break;
    case Does::mma_sync: ++time_.mma_sync; break;
    default: break;
  }
}

// A counter that wraps: of so many CTAs the last one sees its bound.
std::optional<std::uint32_t> TimedRun::bound_of_counter() const {
  const sim::Inst& inst = cluster_.grid.program.insts[issuing_];
  const ir::Operation* const op = warps_.operation(issuing_);
  if (!op || op->opcode != Opcode::atom || !lanes_) return std::nullopt;
  if (isa::Combine(inst.mode) != isa::Combine::inc || inst.count != 1) return std::nullopt;
  std::uint32_t bound;
  const std::uint32_t slot = cluster_.grid.program.slots[inst.more + 1].offset;
  const std::size_t lane = std::size_t(std::countr_zero(lanes_));
  std::memcpy(&bound, issuer_->warp->registers + slot + lane * sizeof bound, sizeof bound);
  return bound > 0 ? std::optional(bound) : std::nullopt;
}

// A lane counts. What the last one does from then on the others do not, so it has a larger share of what all use. Lanes
// of a warp that count are alike.
void TimedRun::count(const sim::Range& counter) {
  const auto bound = bound_of_counter();
  if (!bound || counter.bytes != sizeof *bound) return;
  const std::size_t warp = issuer_->number;
  time_.counted.resize(std::max(time_.counted.size(), warp + 1)), time_.counters_of = *bound + 1;
  std::uint8_t* const place = cluster_.grid.memory.at(counter.address, counter.bytes).data;
  const auto& before = around_.counts_before_last;
  if (warp < before.size() && time_.counted[warp] >= before[warp]) std::memcpy(place, &*bound, sizeof *bound);
  if (std::exchange(counted_, true) || std::memcmp(place, &*bound, sizeof *bound) != 0) return;
  time_.came_last = true;
  share_among(busy_ / time_.counters_of);
}

void TimedRun::share_among(double busy) { share_ = share_of(chip_, std::max(double(sms_.size()), busy)); }

void TimedRun::load_tmem(Track& t, const Next& n, double bytes) {
  const double own = bytes / chip_[tmem_load_rate];  // two warps of a quarter have twice the rate of one
  const double start = t.sm->tmem_ports[t.warp->index % 4].begin(std::max(now_, t.load_free), own / 2);
  t.load_free = start + own;
  t.loaded = std::max(t.loaded, t.load_free + chip_[FactId::tmem_load]);
  warps_.set_ready(t, n.operation, t.loaded);
}

void TimedRun::start_wgmma(const Track& t, const Next& n) {
  const sim::Program& program = cluster_.grid.program;
  tensor_.multiply(t, program.mmas[program.insts[n.operation].target].shape, accesses_.bytes(), now_);
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
  if (since < now_) record_.wait_for_mbarrier(t, n, since, now_, answered);
  warps_.set_ready(t, n.operation, answered, Stall::mbarrier);
}

void TimedRun::multiply(const sim::MmaTask& task) { tensor_.multiply(*issuer_->cta, task, now_); }

void TimedRun::transfer(const sim::Transfer& t) {
  if (!issuer_) return;
  if (t.signals) share_among(busy_);  // the next tile's, which others load too
  copies_.transfer(*issuer_->sm, t, now_);
}

void TimedRun::access(const sim::Range& range, sim::AccessKind kind) {
  if (kind == sim::AccessKind::atomic && range.space == isa::Space::global && issuer_) count(range);
  if (!copies_.is_announced()) {
    if (issuer_ && range.operand == sim::Operand::none) accesses_.touch(range.address, std::uint32_t(range.bytes));
    return;
  }
  if (kind != sim::AccessKind::write || range.space != isa::Space::shared_cta) return;
  const std::uint32_t rank = cta_of(range.cta).rank;
  const double done = copies_.arrive(sms_[rank]);
  record_.show(rank, "copies", "load", now_, done);
}

void TimedRun::sync(const sim::Sync& s) {
  if (s.kind == sim::SyncKind::grid_wait && !time_.waits_at) time_.waits_at = now_;
  if (s.kind == sim::SyncKind::grid_begin && issuer_ && !lets_begin_[issuer_->cta->rank])
    lets_begin_[issuer_->cta->rank] = now_;
  if (s.kind == sim::SyncKind::mbarrier_arrive && chip_.core == TensorCore::wgmma && issuer_ &&
      s.cta != issuer_->cta->index)
    sms_[cta_of(s.cta).rank].port.end(now_, chip_[remote_arrive_port]);
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
             : issuer_ ? record_.role(issuing_, *issuer_->warp)
                       : std::string();
  phase.release = release_of(by_event);
}

TimedRun::Flight TimedRun::schedule(sim::Event event, const Flight* parent) {
  Flight f;
  f.order = ++flown_;
  f.time = now_;
  f.issued = parent && parent->event.operation == event.operation ? parent->issued : now_;
  if (event.operation) f.does = warps_.cost(cluster_.grid.program.code->index(*event.operation)).does;
  const auto [cta, warp] = warp_of(event.warp);
  switch (f.does) {
    case Does::copy:
      if (parent && parent->does == Does::copy) {
        f.time = std::max(now_, parent->second);
      } else if (const auto times = copies_.take()) {
        f.time = times->read, f.second = times->done;
      }
      break;
    case Does::mma:
    case Does::tmem_copy: f.time = std::max(now_, tensor_.take(cta_of(cta).rank)); break;
    case Does::wgmma: f.time = never; break;  // until it starts
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
  for (sim::Event& e : events) start(schedule(std::move(e), parent));
}

// A wgmma's end is known once the first warp of the warpgroup has issued it.
void TimedRun::start(Flight f) {
  if (f.does != Does::wgmma) return flights_.push(std::move(f));
  const auto track_of = [&](const Flight& x) -> const Track& {
    const auto [cta, warp] = warp_of(x.event.warp);
    return warps_[warps_.number_of(cta, warp)];
  };
  std::vector<Flight>& waiting = untimed_[track_of(f).first_of_warpgroup()];
  waiting.push_back(std::move(f));
  std::vector<Flight> later;
  for (Flight& x : waiting)
    if (const auto done = tensor_.take(track_of(x))) {
      x.time = std::max(now_, *done);
      flights_.push(std::move(x));
    } else {
      later.push_back(std::move(x));
    }
  waiting = std::move(later);
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
    for (Track& t : warps_.all()) {
      if (!t.warp->runnable()) continue;
      const Next n = warps_.next(t, now_);
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
      issue(*best, chosen, current);
      if (warps_.concerns_itself(chosen.operation)) run_on(*best, others, current);
    } else if (finished(cluster_)) {
      return sim::Outcome::finished;
    } else if (!patience.none_runs(cluster_)) {
      return end_in_deadlock(cluster_);
    }
    if (turns % livelock_every == 0 && flights_.empty() && only_polls(cluster_) && !patience.all_poll(cluster_))
      return sim::end_in_livelock(cluster_);
  }
}

// More instructions of a warp, while none of them concerns another and nothing else comes first.
void TimedRun::run_on(Track& t, double others, const ir::Operation*& current) {
  while (t.warp->runnable() && !t.blocked) {
    const Next n = warps_.next(t, now_);
    const double first = flights_.empty() ? others : std::min(others, flights_.top().time);
    if (!warps_.concerns_itself(n.operation) || n.at >= first) return;
    issue(t, n, current);
  }
}

ClusterTime TimedRun::result() const {
  ClusterTime out = time_;
  out.cycles = now_;
  for (const Sm& s : sms_) out.drain = std::max(out.drain, s.stored() - now_);
  const auto lets = [](const std::optional<double>& at) { return at.has_value(); };
  if (std::all_of(lets_begin_.begin(), lets_begin_.end(), lets))
    out.lets_begin_at = **std::max_element(lets_begin_.begin(), lets_begin_.end());
  out.roles = record_.roles(), out.path = record_.path(), out.spans = record_.spans();
  out.mmas = tensor_.mmas(), out.operations = tensor_.operations(), out.guessed_mma = tensor_.guessed();
  out.loaded = buffers_.asked(), out.read = buffers_.read(), out.written = buffers_.written();
  out.copies = copies_.load_any();
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
      {"tensor core", most([&](const Sm& s) { return tcgen05 ? s.tensor.busy() : s.wgmma_core.busy(); })},
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
