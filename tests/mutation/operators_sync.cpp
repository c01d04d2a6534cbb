// Barriers of warps, CTAs and clusters; fences; flags in global memory.
#include <algorithm>

#include "tests/mutation/operators.hpp"

namespace kiln::mutation {
namespace {

using isa::Opcode;

constexpr Bug portability(int number) { return {number, Profile::portability}; }

bool is_cta_barrier(Opcode o) {
  return o == Opcode::bar_sync || o == Opcode::barrier_sync || o == Opcode::bar_cta_sync ||
         o == Opcode::barrier_cta_sync || o == Opcode::bar_arrive || o == Opcode::barrier_arrive ||
         o == Opcode::barrier_cta_arrive;
}

// What a barrier of a CTA or a warp is there for, by what stands before it.
Bug barrier_bug(const Sites& sites, const Site& s) {
  const auto matters = [](const Site& x) {
    const Opcode o = x.instruction->opcode;
    return x.effect == Effect::init || x.effect == Effect::alloc || o == Opcode::cp_async_bulk_wait_group ||
           o == Opcode::fence_proxy || o == Opcode::tcgen05_wait_ld || x.effect == Effect::store;
  };
  const Site* cause = sites.before(s, matters);
  if (!cause) return {14};
  switch (cause->instruction->opcode) {
    case Opcode::mbarrier_init: return {6};
    case Opcode::tcgen05_alloc: return {36};
    case Opcode::cp_async_bulk_wait_group: return {15};
    case Opcode::fence_proxy: return sites.data_before(s) == Effect::init ? Bug{6} : Bug{24};
    case Opcode::tcgen05_wait_ld: return {38};
    default: return {14};
  }
}

bool is_cluster_barrier(Opcode o) { return o == Opcode::barrier_cluster_arrive || o == Opcode::barrier_cluster_wait; }

// A barrier of the CTA follows at once and does the same and more.
bool meets_again(const Sites& sites, const Site& s) {
  const Site* next = sites.after(s, [](const Site& x) {
    const Opcode o = x.instruction->opcode;
    return x.effect != Effect::none && o != Opcode::tcgen05_fence_before && o != Opcode::tcgen05_fence_after;
  });
  return next && (is_cta_barrier(next->instruction->opcode) || is_cluster_barrier(next->instruction->opcode));
}

bool is_last(const Sites& sites, const Site& s) {
  const Effect next = sites.data_behind(s);
  return next == Effect::leave || next == Effect::dealloc;
}

// The next place that tells others, or that works on the data asynchronously. After a barrier a fence serves as well:
// it covers all that its thread knows.
const Site* next_to_tell(const Sites& sites, const Site& s) {
  return sites.after(s, [](const Site& x) {
    const Opcode o = x.instruction->opcode;
    return o == Opcode::mbarrier_arrive || o == Opcode::bar_arrive || o == Opcode::barrier_arrive ||
           o == Opcode::barrier_cta_arrive || x.effect == Effect::copy_out || x.effect == Effect::mma ||
           x.effect == Effect::global;
  });
}

// Whether some barrier with this number has only arrivals: a changed number then separates threads that belong
// together.
bool has_partner(const Sites& sites, const Site& s) {
  const auto arrives = [](Opcode o) {
    return o == Opcode::bar_arrive || o == Opcode::barrier_arrive || o == Opcode::barrier_cta_arrive;
  };
  const bool own = arrives(s.instruction->opcode);
  return std::any_of(sites.all().begin(), sites.all().end(), [&](const Site& x) {
    const Opcode o = x.instruction->opcode;
    return is_cta_barrier(o) && arrives(o) != own &&
           sites.text(x.instruction->operands[0].at) == sites.text(s.instruction->operands[0].at);
  });
}

void move_fence(Editor& e, const Sites& sites, const Site& s, Bug bug) {
  if (const Site* next = next_to_tell(sites, s)) e.move(s, *next, true, "fence-late", bug);
  const Site* last = sites.before(s, [](const Site& x) { return x.effect != Effect::none; });
  if (last && last->effect != Effect::sync) e.move(s, *last, false, "fence-early", bug);
}

Bug proxy_bug(const Sites& sites, const Site& s) {
  const Effect data = sites.data_before(s);
  if (data == Effect::load) return portability(23);
  if (data == Effect::init) return portability(6);
  return {data == Effect::cp_async ? 25 : 22};
}

}  // namespace

void mutate_barrier(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  if (i.opcode == Opcode::bar_warp_sync && !meets_again(sites, s)) e.drop(s, "drop-warp-barrier", {8});
  if (is_cluster_barrier(i.opcode)) {
    const Bug bug{is_last(sites, s) ? 55 : 56};
    e.drop(s, i.opcode == Opcode::barrier_cluster_arrive ? "drop-cluster-arrive" : "drop-cluster-wait", bug);
    if (i.opcode == Opcode::barrier_cluster_arrive && !has(i, "relaxed")) {
      if (has(i, "release"))
        e.respell(s, "relaxed", ".release", ".relaxed", bug);
      else
        e.respell(s, "relaxed", "arrive", "arrive.relaxed", bug);
    }
  }
  if (!is_cta_barrier(i.opcode)) return;
  e.drop(s, "drop-barrier", barrier_bug(sites, s));
  if (has(i, "aligned")) e.one_lane(s, "one-lane", {53});
  if (i.operands.empty()) return;
  if (has_partner(sites, s)) e.change(s, i.operands[0], 32, "xor.b", "8", "barrier-id", {54});
  if (i.operands.size() > 1)
    e.change(s, i.operands[1], 32, "add.u", "32", "barrier-count", {54});
  else if (i.operands[0].is_integer())
    e.replace(s, i.operands[0].at, sites.text(i.operands[0].at) + ", 32", "barrier-count", {54});
}

void mutate_fence(Editor& e, const Sites& sites, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  if (i.opcode == Opcode::fence_proxy) {
    const Bug bug = proxy_bug(sites, s);
    e.drop(s, "drop-proxy-fence", bug);
    const Bug other = bug.profile == Profile::error ? Bug{24} : bug;
    move_fence(e, sites, s, other);
    e.respell(s, "fence-space", ".shared::cta", ".global", other);
    if (has(i, "async")) e.respell(s, "fence-space", "async.global", "async.shared::cta", other);
  }
  if (i.opcode == Opcode::fence_mbarrier_init) {
    e.drop(s, "drop-init-fence", portability(6));
    move_fence(e, sites, s, portability(6));
  }
  if (i.opcode == Opcode::griddepcontrol && has(i, "wait")) {
    e.drop(s, "drop-grid-wait", {59});
    e.respell(s, "no-grid-wait", "wait", "launch_dependents", {59});
    const auto is_data = [](const Site& x) { return x.effect != Effect::none && x.effect != Effect::sync; };
    if (const Site* next = sites.after(s, is_data)) e.move(s, *next, true, "grid-wait-late", {59});
  }
  if (i.opcode == Opcode::fence) {
    e.drop(s, "drop-fence", {60});
    e.respell(s, "scope", ".gpu", ".cta", {60});
    e.respell(s, "scope", ".cluster", ".cta", {60});
    move_fence(e, sites, s, {60});
  }
}

void mutate_flag(Editor& e, const Sites&, const Site& s) {
  const ir::Instruction& i = *s.instruction;
  if (i.opcode != Opcode::ld && i.opcode != Opcode::st && i.opcode != Opcode::red && i.opcode != Opcode::atom) return;
  for (const char* order : {".acquire", ".release", ".acq_rel"}) e.respell(s, "relaxed", order, ".relaxed", {60});
  if (has(i, "acquire") || has(i, "release") || has(i, "acq_rel") || has(i, "relaxed")) {
    e.respell(s, "scope", ".gpu", ".cta", {60});
    e.respell(s, "scope", ".cluster", ".cta", {60});
    if (i.opcode != Opcode::ld) e.drop(s, "drop-flag", {60});
  }
}

}  // namespace kiln::mutation
