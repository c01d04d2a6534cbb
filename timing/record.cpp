#include "timing/record.hpp"

#include <algorithm>

namespace kiln::timing {
namespace {

constexpr std::size_t most_spans = 200'000;
constexpr double least_wait = 16;  // cycles, of one that a timeline shows

}  // namespace

Record::Record(const sim::Cluster& cluster, bool timeline)
    : timeline_(timeline),
      roles_(cluster.grid.program, std::uint32_t(cluster.ctas.front().warps.size())),
      path_(cluster.ctas.size() * cluster.ctas.front().warps.size()),
      arrivals_(cluster.ctas.size()) {}

void Record::charge(Track& t, const Next& n, double now) {
  RoleTime& role = roles_.of(n.operation, t.warp->index);
  const auto add = [&](Stall s, double cycles) {
    role.stalls[std::size_t(s)] += std::max(0.0, cycles);
    path_.own(t.number, s, cycles);
  };
  if (t.blocked) {
    if (t.blocked_for == Stall::barrier || t.blocked_for == Stall::cluster_barrier) {
      role.stalls[std::size_t(*t.blocked_for)] += now - t.at;
      path_.wait(t.number, role.name, t.at, now,
                 t.blocked_for == Stall::barrier ? arrivals_[t.cta->rank] : cluster_arrival_);
    } else if (t.blocked_for) {
      add(*t.blocked_for, now - t.at);  // for an mbarrier wait_for_mbarrier does it
    }
    show_wait(t, role, t.blocked_for ? spelling(*t.blocked_for) : "an mbarrier", t.at, now);
    return;
  }
  if (n.reason == Stall::mbarrier && n.dependent > t.at) {
    role.mbarriers[t.awaited] += n.dependent - t.at;
    if (!t.is_on_path) path_.wait(t.number, role.name, t.at, n.dependent, t.release);
    t.is_on_path = true;
  } else {
    add(n.reason, n.dependent - t.at);
  }
  show_wait(t, role, n.reason == Stall::mbarrier ? t.awaited : spelling(n.reason), t.at, n.dependent);
  show_wait(t, role, spelling(n.unit_reason), n.dependent, n.unit);
  add(n.unit_reason, n.unit - n.dependent);
  add(Stall::issue, now - n.unit);
}

void Record::issue(const Track& t, const Next& n, double slots) {
  roles_.of(n.operation, t.warp->index).issued += slots;
}

// Those that a barrier holds go on because of the last one that was not held.
void Record::arrive(const Track& t, const ir::Operation& op, double now) {
  const Release r{Release::Kind::warp, t.number, now, now};
  if (op.opcode == isa::Opcode::barrier_cluster_arrive)
    cluster_arrival_ = r;
  else if (isa::unit(op.opcode) == isa::Unit::barrier && !t.blocked)
    arrivals_[t.cta->rank] = r;
}

void Record::wait_for_mbarrier(Track& t, const Next& n, double since, double now, double answered) {
  RoleTime& role = roles_.of(n.operation, t.warp->index);
  role.mbarriers[t.awaited] += now - since;
  path_.wait(t.number, role.name, since, answered, t.release);
  t.is_on_path = true;
}

void Record::exit(const Track& t, const Next& n, double now) { path_.exit(t.number, role(n.operation, *t.warp), now); }

void Record::show(std::uint32_t cta, std::string lane, std::string what, double begin, double end) {
  if (!timeline_ || spans_.size() >= most_spans) return;
  spans_.push_back({cta, std::move(lane), std::move(what), begin, end});
}

void Record::show_wait(const Track& t, const RoleTime& role, std::string_view what, double begin, double end) {
  if (!timeline_ || end - begin < least_wait) return;
  show(t.cta->rank, role.name + ", warp " + std::to_string(t.warp->index), std::string(what), begin, end);
}

}  // namespace kiln::timing
