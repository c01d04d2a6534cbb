#include "verifier/lints.hpp"

#include <algorithm>
#include <bit>

#include "ptx/isa/launch_limits.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "verifier/allocation.hpp"
#include "verifier/finding.hpp"
#include "verifier/footprint.hpp"
#include "verifier/forms.hpp"

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
      const auto registers = op(i).arguments.size() == 1 ? facts_.constant(op(i).arg(0), 32) : std::nullopt;
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
    at_entry = (at_entry + isa::setmaxnreg_step - 1) / isa::setmaxnreg_step * isa::setmaxnreg_step;
    std::int64_t given = 0, most = 0;
    int largest = -1;
    for (int w = 0; w < facts_.uniformity.warps(); ++w) {
      given += (asked(w) ? asked(w) : at_entry) * isa::threads_per_warp;
      if (asked(w) > most) most = asked(w), largest = w;
    }
    const std::int64_t there = at_entry * facts_.uniformity.warps() * isa::threads_per_warp;
    if (largest >= 0)
      judge(facts_.sink, rules::setmaxnreg_budget(given, there),
            {facts_.code, op(std::uint32_t(site_of_[std::size_t(largest)]))},
            std::to_string(given) + " registers of " + std::to_string(there));
  }

  const Facts& facts_;
  std::vector<std::uint32_t> sites_;
  std::vector<std::int64_t> site_of_, asked_;  // by warp: the operation, or -1; registers
};

// What the kernel names itself: functions that it calls may add to it.
void lint_static_memory(const Facts& facts) {
  if (!facts.target) return;
  std::int64_t bytes = 0;
  for (const ir::Symbol& s : facts.code.symbols)
    if (isa::is_shared(s.variable->space)) bytes += std::int64_t(s.variable->bytes());
  const rules::Verdict v = rules::shared_static(bytes, *facts.target);
  if (v.broken())
    broken(facts.sink, v, diag::Where::at(facts.module.source, facts.function.name_at),
           std::to_string(bytes) + " bytes for " + isa::spelling(*facts.target));
}

// Tensor memory is touched by what has a footprint in it; a call may hide anything.
void lint_allocation(const Facts& facts) {
  const auto& operations = facts.code.operations;
  const auto may_touch = [&](const ir::Operation& op) {
    return op.opcode == Opcode::call || isa::unit(op.opcode) == isa::Unit::unknown || !facts.is_formed(op) ||
           (isa::unit(op.opcode) == isa::Unit::tcgen05 && !footprints(facts, op).empty());
  };
  const bool touched = std::any_of(operations.begin(), operations.end(), may_touch);
  for (const AllocSite& s : alloc_sites(facts))
    if (s.event == rules::AllocEvent::alloc)
      judge(facts.sink, rules::alloc_unused(touched, s.columns.value_or(0)), {facts.code, operations[s.operation]},
            (s.columns ? std::to_string(*s.columns) + " columns" : std::string("columns")) + " that nothing touches");
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
    }
    sink.append(std::move(notes));
  }
  sink.sort();
}

}  // namespace kiln::verifier
