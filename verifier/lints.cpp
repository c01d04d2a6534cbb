#include "verifier/lints.hpp"

#include <algorithm>
#include <bit>

#include "ptx/isa/access_bytes.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/isa/shared_banks.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "verifier/checks/allocation.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/checks/forms.hpp"
#include "verifier/finding.hpp"
#include "verifier/footprint.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;

constexpr int warpgroup = 4;  // warps

std::optional<std::int64_t> directive(const ir::Function& f, std::string_view name) {
  const ir::Performance* p = f.find(name);
  if (!p || p->values.empty()) return std::nullopt;
  std::int64_t product = 1;
  for (std::int64_t v : p->values) product *= v;
  return product > 0 ? std::optional(product) : std::nullopt;
}

// Registers of a thread at entry, where the directives fix them. Measured with ptxas 13.0: the size of the CTA alone
// does not.
std::optional<std::int64_t> entry_registers(const ir::Function& f) {
  if (const auto most = directive(f, "maxnreg")) return most;
  const auto ctas = directive(f, "minnctapersm"), exact = directive(f, "reqntid"), most = directive(f, "maxntid");
  if (!ctas || (!exact && !most)) return std::nullopt;
  return isa::registers_to_share(std::uint64_t(*ctas), std::uint64_t(exact ? *exact : *most));
}

// The setmaxnreg of a kernel whose warps execute one at most, all of whom it is known.
class RegisterMoves {
 public:
  explicit RegisterMoves(const Facts& facts) : facts_(facts) {
    for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i)
      if (op(i).opcode == Opcode::setmaxnreg && facts.is_formed(op(i))) sites_.push_back(i);
  }

  void check() {
    if (sites_.empty()) return;
    const auto at_entry = entry_registers(facts_.function);
    if (judge(facts_.sink, rules::setmaxnreg_ignored(at_entry.has_value()), {facts_.code, op(sites_[0])},
              "a kernel that says nothing of them"))
      return;
    if (!assign()) return;
    for (int w = 0; w < facts_.uniformity.warps(); w += warpgroup)
      if (check_warpgroup(w)) return;
    check_budget(*at_entry);
  }

 private:
  const ir::Operation& op(std::uint32_t i) const { return facts_.code.operations[i]; }
  std::int64_t asked(int warp) const { return site_of_[std::size_t(warp)] < 0 ? 0 : asked_[std::size_t(warp)]; }

  bool assign() {
    site_of_.assign(flow::max_warps, -1);
    asked_.assign(flow::max_warps, 0);
    if (!facts_.function.find("reqntid")) return false;
    for (std::uint32_t i : sites_) {
      const auto registers = facts_.constant(ops::roles<ops::Count>(op(i)).count, 32);
      if (!registers || !facts_.uniformity.is_exact(i)) return false;
      for (int w = 0; w < facts_.uniformity.warps(); ++w) {
        if ((facts_.uniformity.warps_at(i) >> w & 1) == 0) continue;
        if (site_of_[std::size_t(w)] >= 0) return false;
        site_of_[std::size_t(w)] = std::int64_t(i);
        asked_[std::size_t(w)] = *registers;
      }
    }
    return true;
  }

  bool check_warpgroup(int first) const {
    const int last = std::min(first + warpgroup, facts_.uniformity.warps());
    for (int w = first + 1; w < last; ++w) {
      const rules::Verdict v = rules::setmaxnreg_warpgroup(asked(first), asked(w));
      if (!v.broken()) continue;
      const auto words = [&](int warp) {
        return "warp " + std::to_string(warp) + (asked(warp) ? " with " + std::to_string(asked(warp)) : " without one");
      };
      const int shown = asked(w) ? w : first;
      return judge(facts_.sink, v, {facts_.code, op(std::uint32_t(site_of_[std::size_t(shown)]))},
                   words(first) + " and " + words(w));
    }
    return false;
  }

  void check_budget(std::int64_t at_entry) const {
    rules::RegisterBudget budget(facts_.uniformity.warps(), at_entry);
    std::int64_t most = 0;
    int largest = -1;
    for (int w = 0; w < facts_.uniformity.warps(); ++w) {
      budget.give(1, asked(w));
      if (asked(w) > most) most = asked(w), largest = w;
    }
    if (largest >= 0)
      judge(facts_.sink, budget.verdict(), {facts_.code, op(std::uint32_t(site_of_[std::size_t(largest)]))});
  }

  const Facts& facts_;
  std::vector<std::uint32_t> sites_;
  std::vector<std::int64_t> site_of_, asked_;  // by warp: the operation, or -1; registers
};

// What the kernel names itself: functions that it calls may add to it.
void lint_static_memory(const Facts& facts) {
  if (!facts.target) return;
  const std::int64_t bytes = facts.static_shared_bytes();
  const rules::Verdict v = rules::shared_static(bytes, *facts.target);
  if (v.broken())
    broken(facts.sink, v, diag::Where::at(facts.module.source, facts.function.name_at),
           std::to_string(bytes) + " bytes for " + isa::spelling(*facts.target));
}

// Columns of an allocation that a kernel may touch. Where they are not followed, it may be all of them.
class TouchedColumns {
 public:
  explicit TouchedColumns(const Facts& facts) : facts_(facts) {
    for (const ir::Operation& op : facts.code.operations) add(op);
  }

  bool any() const { return all_ || end_ > 0; }
  /// The smallest allocation that would do for `site`.
  std::int64_t enough_for(const AllocSite& site) const {
    const auto end = all_ || !is_only_base(site) ? isa::tmem_columns : end_;
    return std::max<std::int64_t>(isa::tmem_min_allocation, std::int64_t(std::bit_ceil(std::uint64_t(end))));
  }

 private:
  void add(const ir::Operation& op) {
    if (op.opcode == Opcode::call || isa::unit(op.opcode) == isa::Unit::unknown || !facts_.is_formed(op)) all_ = true;
    if (all_ || isa::unit(op.opcode) != isa::Unit::tcgen05) return;
    const std::vector<Footprint> parts = footprints(facts_, op);
    if (!parts.empty() && !is_whole(op, parts)) all_ = true;
    for (const Footprint& part : parts) add(part);
  }

  // A footprint is what is accessed for sure; this says that there is no more. Scales, metadata, shifts and loads of
  // two column ranges have more.
  bool is_whole(const ir::Operation& op, const std::vector<Footprint>& parts) const {
    if (op.modifiers.shape == isa::DataShape::s16x32bx2 || op.opcode == Opcode::tcgen05_shift) return false;
    const auto mma = ops::as<ops::Mma>(op);
    const auto is_side = [](const Footprint& f) {
      return f.role == Footprint::Role::sfa || f.role == Footprint::Role::sfb || f.role == Footprint::Role::metadata;
    };
    return std::none_of(parts.begin(), parts.end(), is_side) &&
           (!mma || facts_.known.of(mma->idesc, 32).value().has_value());
  }

  void add(const Footprint& part) {
    const flow::Origin o = facts_.origins.of(*part.address);
    const auto farthest = std::int64_t(~o.added.zero & column_bits);
    if (!o.is(flow::Origin::Base::slot) || (slot_ && *slot_ != o.id) || o.added.is_nothing()) all_ = true;
    slot_ = o.id;
    end_ = std::max(end_, farthest + part.columns.end());
  }

  // All addresses are the word that this tcgen05.alloc wrote, and nothing else is stored over it.
  bool is_only_base(const AllocSite& site) const {
    const flow::Origin to =
        facts_.origins.of(ops::roles<ops::TmemAllocation>(facts_.code.operations[site.operation]).slot);
    if (!slot_ || !to.is(flow::Origin::Base::symbol) || !to.exact()) return false;
    if (facts_.origins.slots[*slot_] != flow::Slot{to.id, to.offset()}) return false;
    return std::none_of(facts_.code.operations.begin(), facts_.code.operations.end(), [&](const ir::Operation& op) {
      if (op.opcode != Opcode::st) return false;
      const flow::Origin stored = facts_.origins.of(ops::roles<ops::MemoryAccess>(op).address);
      return !stored.is(flow::Origin::Base::symbol) ? op.modifiers.space() != isa::Space::global : stored.id == to.id;
    });
  }

  const Facts& facts_;
  bool all_ = false;
  std::optional<std::uint32_t> slot_{};
  std::int64_t end_ = 0;
};

void lint_allocation(const Facts& facts) {
  const std::vector<AllocSite> sites = alloc_sites(facts);
  const auto is_alloc = [](const AllocSite& s) { return s.event == isa::AllocEvent::alloc; };
  const auto site = std::find_if(sites.begin(), sites.end(), is_alloc);
  if (std::count_if(sites.begin(), sites.end(), is_alloc) != 1 || !site->columns) return;
  const TouchedColumns touched(facts);
  const std::int64_t enough = touched.any() ? touched.enough_for(*site) : 0;
  judge(facts.sink, rules::alloc_unused(enough >= *site->columns, *site->columns),
        {facts.code, facts.code.operations[site->operation]},
        std::to_string(*site->columns) + " columns " +
            (enough ? "where " + std::to_string(enough) + " would do" : "that nothing touches"));
}

void lint_scopes(const Facts& facts) {
  for (const ir::Operation& op : facts.code.operations) {
    if ((op.opcode != Opcode::mbarrier_arrive && op.opcode != Opcode::mbarrier_arrive_drop) || !facts.is_formed(op))
      continue;
    if (op.modifiers.space() == isa::Space::shared_cluster)
      judge(facts.sink, rules::mbarrier_scope_unwritten(op.modifiers.scope != isa::Scope::none), {facts.code, op},
            "an arrival without one");
  }
}

// Addresses of the lanes of a warp that execute an operation, but for a number that all share.
std::vector<std::uint32_t> lane_addresses(const flow::Uniformity::Values& relative, const flow::ThreadSet& who,
                                          int warp) {
  std::vector<std::uint32_t> out;
  const std::size_t first = std::size_t(warp) * isa::threads_per_warp;
  for (std::size_t t = first; t < std::min(first + isa::threads_per_warp, relative.size()); ++t)
    if (who[t]) out.push_back(std::uint32_t(relative[t]));
  return out;
}

void lint_banks(const Facts& facts, std::uint32_t i) {
  const ir::Operation& op = facts.code.operations[i];
  if ((op.opcode != Opcode::ld && op.opcode != Opcode::st) || !isa::is_shared(op.modifiers.space()) ||
      !facts.is_formed(op))
    return;
  if (!facts.uniformity.is_exact(i)) return;
  const auto relative = facts.uniformity.relative(ops::roles<ops::MemoryAccess>(op).address);
  if (!relative) return;
  const std::uint32_t bytes = isa::access_bytes(op.modifiers);
  const flow::ThreadSet who = facts.uniformity.threads_at(i);
  for (int w = 0; w < facts.uniformity.warps(); ++w) {
    const std::vector<std::uint32_t> at = lane_addresses(*relative, who, w);
    const std::size_t together = isa::lanes_a_wavefront(bytes);
    const std::int64_t taken = isa::shared_wavefronts(at, bytes);
    const auto least = std::int64_t((at.size() + together - 1) / together);
    if (judge(facts.sink, rules::shared_bank_conflict(taken, least), {facts.code, op},
              std::to_string(taken) + " wavefronts where " + std::to_string(least) + " would do"))
      return;
  }
}

}  // namespace

void check_lints(const ir::Module& module, diag::Sink& sink) {
  for (const ir::Item& item : module.items) {
    const auto* f = std::get_if<ir::Function>(&item);
    if (!f || !f->body) continue;
    diag::Sink notes, known;  // what is wrong with the forms, check() has said
    Facts facts(module, *f, notes);
    facts.malformed = check_forms(facts.code, known);
    lint_scopes(facts);
    if (f->entry) {
      RegisterMoves(facts).check();
      lint_static_memory(facts);
      lint_allocation(facts);
      lint_grids(facts);
      for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) lint_banks(facts, i);
    }
    sink.append(std::move(notes));
  }
  sink.sort();
}

}  // namespace kiln::verifier
