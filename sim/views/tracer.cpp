#include "sim/views/tracer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/isa/mbarrier.hpp"
#include "sim/core/machine.hpp"
#include "sim/tensor/core.hpp"
#include "sim/views/words.hpp"

namespace kiln::sim {
namespace {

// Numbers of a process's tracks. A warp has one row for each group of lanes that may be apart.
constexpr std::uint32_t rows_per_warp = warp_lanes + 1, tensor_core_track = 100'000, barrier_tracks = 200'000;

std::string barrier_name(const Cta& cta, std::uint64_t address) {
  return shared_name(cta.cluster->grid.program, std::uint32_t(address), isa::mbarrier_bytes);
}

std::string warps_name(const Agent& a) { return fmt::format("warp {}", a.warp); }

const char* category_of(const ir::Operation& op) {
  if (op.opcode == isa::Opcode::cp_async) return "cp.async";
  return isa::unit(op.opcode) == isa::Unit::matrix ? "wgmma" : "async";
}

std::string coordinates(const Transfer& t) {
  std::string out;
  for (int d = 0; d < t.rank; ++d) out += fmt::format("{}{}", d ? ", " : "", t.at[std::size_t(d)]);
  return out;
}

}  // namespace

Tick Tracer::now() const { return offset_ + cluster_->tick; }

const Cta& Tracer::machine(std::uint32_t index) const {
  return *std::find_if(cluster_->ctas.begin(), cluster_->ctas.end(), [=](const Cta& c) { return c.index == index; });
}

void Tracer::enter(Cluster& cluster) {
  show_barriers();
  cluster_ = &cluster;
}

void Tracer::start(Cluster& cluster, std::uint32_t launch) {
  if (cluster.beside)
    show_barriers();
  else
    close_cluster();
  if (launch != launch_) {
    launch_ = launch;
    offset_ = end_;
    first_process_ = next_process_;
    next_process_ += std::uint32_t(cluster.grid.launch.grid.volume());
  }
  cluster_ = &cluster;
  if (!cluster.beside) last_ = offset_;
  for (const Cta& c : cluster.ctas) {
    CtaTrace& t = ctas_[c.index];
    t.process = first_process_ + c.index;
    t.warps.resize(c.warps.size());
    t.tensor_idle = offset_;
    const std::string name = fmt::format("CTA ({}, {}, {})", c.id.x, c.id.y, c.id.z);
    trace_.processes.push_back({t.process, launch ? fmt::format("launch {}: {}", launch + 1, name) : name});
  }
}

void Tracer::step(const Agent& a, const ir::Operation& op, const Wait* wait) {
  show_barriers();
  CtaTrace& t = cta(a.cta);
  const Cta& c = machine(a.cta);
  LaneState state{a.lanes, wait ? wait_name(c, *wait) : std::string(activity(op)),
                  std::string(role_of(cluster_->grid.program, op)), wait != nullptr};
  if (state.name == "compute" && !state.role.empty()) state.name = "compute: " + state.role;
  const std::size_t first = trace_.slices.size();
  last_ = std::max(last_, now() + (wait ? 0 : 1));
  t.warps[a.warp].step(state, now(), trace_.slices);
  const bool leaves = op.opcode == isa::Opcode::exit || op.opcode == isa::Opcode::ret;
  if (leaves && !wait) t.warps[a.warp].leave(a.lanes, now() + 1, trace_.slices);
  for (std::size_t k = first; k < trace_.slices.size(); ++k) {
    trace_.slices[k].process = t.process;
    trace_.slices[k].track += a.warp * rows_per_warp;
  }
  // The one instruction that changes a barrier without an event of its own.
  if (op.opcode == isa::Opcode::mbarrier_complete_tx)
    for (Cta& owner : cluster_->ctas)
      for (auto& [address, b] : cta(owner.index).barriers) show(owner.index, address, b, now());
}

void Tracer::issue(AsyncId id, const Agent& a, const ir::Operation& op) {
  show_barriers();
  Flight f;
  f.cta = a.cta;
  f.on_tensor_core = isa::unit(op.opcode) == isa::Unit::tcgen05;
  f.span = {cta(a.cta).process, ++spans_, now(), now(), category_of(op), std::string(activity(op)), {}};
  if (!f.on_tensor_core && f.span.name == "compute") f.span.name = std::string(isa::spelling(op.opcode));
  f.span.arguments = {{"issued by", warps_name(a)},
                      {"role", std::string(role_of(cluster_->grid.program, op))},
                      {"instruction", std::string(isa::spelling(op.opcode))}};
  flights_.emplace(id, std::move(f));
}

void Tracer::transfer(AsyncId id, const Transfer& x) {
  Flight& f = flights_.at(id);
  f.span.category = "tma";
  const std::string tensor = buffer_name(cluster_->grid, x.global);
  if (!tensor.empty()) f.span.name += " " + tensor;
  f.span.arguments.push_back({"bytes", std::int64_t(x.bytes)});
  if (x.rank) f.span.arguments.push_back({"coordinates", coordinates(x)});
  if (!tensor.empty()) f.span.arguments.push_back({"tensor", tensor});
  if (x.signals) f.span.arguments.push_back({"mbarrier", barrier_name(machine(x.mbarrier_cta), x.mbarrier)});
}

void Tracer::multiply(AsyncId id, const Agent&, const MmaTask& t) {
  TraceArguments& args = flights_.at(id).span.arguments;
  args.push_back({"shape", fmt::format("{}x{}x{}", t.shape.m, t.shape.n, t.k())});
  args.push_back({"kind", std::string(isa::spelling(t.form.kind))});
  args.push_back({"first column of D", std::int64_t(t.d & 0xFFFF)});
  args.push_back({"accumulates", t.accumulate ? "yes" : "no"});
}

void Tracer::complete(AsyncId id) {
  show_barriers();
  const auto found = flights_.find(id);
  if (found == flights_.end()) return;
  last_ = std::max(last_, now());
  land(found->second, now());
  flights_.erase(found);
}

// The unit works on one operation at a time, in the order of issue, so each begins where the one before has ended.
void Tracer::land(Flight& f, Tick at) {
  f.span.end = at;
  if (!f.on_tensor_core) {
    trace_.spans.push_back(std::move(f.span));
    return;
  }
  CtaTrace& t = cta(f.cta);
  const Tick begin = std::max(f.span.begin, t.tensor_idle);
  f.span.arguments.push_back({"queued for ticks", std::int64_t(begin - f.span.begin)});
  if (at > begin)
    trace_.slices.push_back({f.span.process, tensor_core_track, begin, at, f.span.name, std::move(f.span.arguments)});
  t.tensor_idle = std::max(t.tensor_idle, at);
}

void Tracer::sync(const Agent& a, const ir::Operation* op, const Sync& s) {
  show_barriers();
  switch (s.kind) {
    case SyncKind::mbarrier_init: {
      CtaTrace& t = cta(s.cta);
      const auto [found, fresh] = t.barriers.try_emplace(s.object);
      if (!fresh) end_phase(t, found->second, now(), false);
      const auto track = fresh ? barrier_tracks + std::uint32_t(t.barriers.size() - 1) : found->second.track;
      found->second = {barrier_name(machine(s.cta), s.object), track, now(), 0, {}};
      break;
    }
    case SyncKind::mbarrier_phase:
      if (const auto found = cta(s.cta).barriers.find(s.object); found != cta(s.cta).barriers.end())
        end_phase(cta(s.cta), found->second, now(), true);
      break;
    case SyncKind::mbarrier_expect:
    case SyncKind::mbarrier_arrive:
    case SyncKind::mbarrier_complete: break;
    case SyncKind::tmem_alloc:
    case SyncKind::tmem_dealloc: return allocation(a, op, s);
    default: return;
  }
  changed_.push_back({s.cta, s.object});
  changed_at_ = now();
}

// A change is announced before it happens. The next event of any kind comes after it.
void Tracer::show_barriers() {
  for (const auto& [index, address] : changed_) {
    auto& barriers = cta(index).barriers;
    if (const auto found = barriers.find(address); found != barriers.end())
      show(index, address, found->second, changed_at_);
  }
  changed_.clear();
}

void Tracer::show(std::uint32_t index, std::uint64_t address, Barrier& b, Tick at) {
  const Mbarrier* object = machine(index).mbarriers.find(std::uint32_t(address));
  if (!object) return;
  const std::pair<std::int64_t, std::int64_t> values{object->pending, object->tx};
  if (b.shown == values) return;
  b.shown = values;
  trace_.counters.push_back(
      {cta(index).process, at, b.name, {{"pending arrivals", values.first}, {"tx bytes", values.second}}});
}

void Tracer::end_phase(CtaTrace& t, Barrier& b, Tick at, bool complete) {
  if (at > b.since)
    trace_.slices.push_back(
        {t.process, b.track, b.since, at, fmt::format("phase {}", b.phase), {{"complete", complete ? "yes" : "no"}}});
  b.since = at;
  b.phase += complete;
}

void Tracer::allocation(const Agent& a, const ir::Operation* op, const Sync& s) {
  CtaTrace& t = cta(a.cta);
  const bool takes = s.kind == SyncKind::tmem_alloc;
  if (takes) {
    const std::string name = fmt::format("columns {}-{}", s.object, s.object + s.value - 1);
    t.columns[s.object] = {t.process,
                           ++spans_,
                           now(),
                           now(),
                           "tensor memory",
                           name,
                           {{"columns", std::int64_t(s.value)}, {"allocated by", warps_name(a)}}};
  } else if (const auto found = t.columns.find(s.object); found != t.columns.end()) {
    found->second.end = now() + (op ? 1 : 0);
    trace_.spans.push_back(std::move(found->second));
    t.columns.erase(found);
  }
  t.allocated += takes ? std::int64_t(s.value) : -std::int64_t(s.value);
  trace_.counters.push_back({t.process, now(), "tensor memory", {{"allocated columns", t.allocated}}});
}

void Tracer::add_tracks(CtaTrace& t) {
  for (std::uint32_t w = 0; w < t.warps.size(); ++w)
    for (std::uint32_t row = 0; row < t.warps[w].rows(); ++row) {
      const std::string role = t.warps[w].role();
      std::string name = fmt::format("warp {}{}{}", w, role.empty() ? "" : ": ", role);
      if (row) name += fmt::format(" (lanes apart {})", row);
      trace_.tracks.push_back({t.process, w * rows_per_warp + row, std::move(name)});
    }
  trace_.tracks.push_back({t.process, tensor_core_track, "tensor core"});
  for (const auto& [address, b] : t.barriers) trace_.tracks.push_back({t.process, b.track, "mbarrier " + b.name});
}

// Nothing of the machine may be looked at here: it may be gone.
void Tracer::close_cluster() {
  changed_.clear();
  for (auto& [id, f] : flights_) {
    f.span.arguments.push_back({"unfinished", "yes"});
    land(f, last_);
  }
  flights_.clear();
  for (auto& [index, t] : ctas_) {
    for (std::uint32_t w = 0; w < t.warps.size(); ++w) {
      const std::size_t first = trace_.slices.size();
      t.warps[w].close(last_, trace_.slices);
      for (std::size_t k = first; k < trace_.slices.size(); ++k) {
        trace_.slices[k].process = t.process;
        trace_.slices[k].track += w * rows_per_warp;
      }
    }
    for (auto& [address, b] : t.barriers) end_phase(t, b, last_, false);
    for (auto& [column, span] : t.columns) {
      span.end = last_;
      span.arguments.push_back({"unfinished", "yes"});
      trace_.spans.push_back(std::move(span));
    }
    add_tracks(t);
  }
  ctas_.clear();
  end_ = std::max(end_, last_);
}

Trace Tracer::take() {
  close_cluster();
  return std::move(trace_);
}

}  // namespace kiln::sim
