#include "lower/lower.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "lower/earlier/forms.hpp"
#include "lower/plan/planner.hpp"
#include "lower/rewrite/frame.hpp"
#include "lower/rewrite/rewrite.hpp"
#include "ptx/ops/features.hpp"

namespace kiln::lower {
namespace {

using rules::Limit;

bool uses_tcgen05(const ir::Code& code) {
  return std::any_of(code.operations.begin(), code.operations.end(),
                     [](const ir::Operation& op) { return isa::unit(op.opcode) == isa::Unit::tcgen05; });
}

class Lowering {
 public:
  Lowering(const ir::Module& m, const Options& o, diag::Sink& s) : module_(m), options_(o), sink_(s) {}

  std::optional<Lowered> run() {
    const std::size_t errors = sink_.count(diag::Severity::error);
    if (options_.contract) out_.contract = *options_.contract;
    out_.module = module_;
    retarget();
    out_.module.items.clear();
    for (const ir::Item& item : module_.items) {
      const auto* function = std::get_if<ir::Function>(&item);
      if (function && function->body)
        add(*function);
      else
        out_.module.items.push_back(item);
    }
    if (sink_.count(diag::Severity::error) != errors) return std::nullopt;
    declare();
    return std::move(out_);
  }

 private:
  void retarget() {
    out_.module.targets.at(0) = isa::spelling(options_.target);
    out_.module.version = std::max(out_.module.version, isa::lowest_version(options_.target));
  }

  void add(const ir::Function& function) {
    const Facts facts(module_, function, options_, sink_);
    if (!uses_tcgen05(facts.code)) return keep(facts);
    if (!function.entry) {
      facts.refuse(Limit::lower_unsupported, "tcgen05 in a function that is no kernel");
      return;
    }
    if (is_left_out(facts)) return out_.left_out.push_back(function.name);
    const std::optional<Plan> p = plan(facts);
    if (!p) return;
    out_.module.items.emplace_back(rewrite(facts, *p));
    variables_.add(*p);
    report(facts, *p);
    for (launch::Launch& l : out_.contract.launches)
      if (function.name.find(l.entry) != std::string::npos) {
        l.block = {p->cta_threads(), 1, 1};
        l.ctas_per_sm = 0;  // they share no tensor memory any more
        if (p->image == Place::shared) l.dynamic_smem = std::uint32_t(p->dynamic_shared);
      }
  }

  // Without tcgen05.
  void keep(const Facts& facts) {
    bool good = check_cluster(facts);
    for (const ir::Operation& op : facts.code.operations)
      if (const std::string missing = missing_when_kept(op); !missing.empty())
        good = facts.refuse(Limit::lower_target, missing, op);
    if (good) out_.module.items.emplace_back(in_earlier_forms(facts.function, facts.code, options_.target));
  }

  // Lowering would replace setmaxnreg and the copies of pairs.
  std::string missing_when_kept(const ir::Operation& op) const {
    const std::string missing = missing_for(op, options_.target);
    for (const isa::Feature f : ops::features(op))
      if (missing.empty() && (f == isa::Feature::setmaxnreg || f == isa::Feature::tensor_modes) &&
          !isa::has(f, options_.target))
        return fmt::format("{} for {}", isa::spelling(f), isa::spelling(options_.target));
    return missing;
  }

  // A file may hold several kernels, and a contract be for one of them.
  bool is_left_out(const Facts& facts) const {
    if (!options_.contract || facts.function.find("reqntid") || !facts.launches().empty()) return false;
    return std::any_of(module_.items.begin(), module_.items.end(), [&](const ir::Item& item) {
      const auto* other = std::get_if<ir::Function>(&item);
      return other && other->entry && !Facts::launches(*options_.contract, *other).empty();
    });
  }

  // Before the first function, after the directives.
  void declare() {
    const auto first = std::find_if(out_.module.items.begin(), out_.module.items.end(),
                                    [](const ir::Item& i) { return std::holds_alternative<ir::Function>(i); });
    const std::vector<ir::Item> more = variables_.items();
    out_.module.items.insert(first, more.begin(), more.end());
  }

  void report(const Facts& facts, const Plan& p) {
    Report r;
    r.entry = facts.function.name;
    r.threads = p.threads;
    r.engine_warps = p.engine_warps;
    r.cta_threads = p.cta_threads();
    r.columns = p.columns;
    r.image = p.image;
    r.home = p.home;
    r.why = p.why;
    r.slots = p.slots;
    r.static_shared = p.static_shared;
    r.dynamic_shared = p.dynamic_shared;
    r.engine_registers = p.engine_registers;
    r.other_registers = p.other_registers;
    r.commands = p.batches.size();
    for (const auto& [at, batch] : p.batches) r.multiplications += batch.operations.size();
    r.assuming = p.assumptions.size();
    r.checking = p.layouts.size();
    r.commits = p.commits.size();
    r.flushes = std::size_t(std::count_if(p.commits.begin(), p.commits.end(), [](const auto& c) { return c.second; }));
    out_.reports.push_back(std::move(r));
  }

  const ir::Module& module_;
  const Options& options_;
  diag::Sink& sink_;
  Lowered out_{};
  ModuleVariables variables_{};
};

}  // namespace

std::string sentence(const Report& r) {
  std::string out = fmt::format(
      "{}: {} threads and {} warps of the engine, {} in all; {} MMAs in {} commands; {} of {} "
      "commits write the sums; tensor memory: {} columns in {} memory",
      r.entry, r.threads, r.engine_warps, r.cta_threads, r.multiplications, r.commands, r.flushes, r.commits, r.columns,
      r.image == Place::shared ? "shared" : "global");
  if (r.image == Place::global) out += fmt::format(" for {} CTAs", r.slots);
  if (!r.why.empty()) out += ", " + r.why;
  if (r.home == Place::global) out += "; the queue is in global memory too";
  if (r.engine_registers)
    out += fmt::format("; {} registers for the engine's threads, {} for the others", r.engine_registers,
                       r.other_registers);
  if (r.assuming)
    out += fmt::format(
        "; the contract says what the instruction descriptors and lane masks of {} MMAs are: with other "
        "parameters, they trap",
        r.assuming);
  if (r.checking)
    out +=
        fmt::format("; {} MMAs and copies trap if a sum is carried out of the start address of their matrix descriptor",
                    r.checking);
  return out;
}

std::optional<Lowered> lower(const ir::Module& module, const Options& options, diag::Sink& sink) {
  std::optional<Lowered> out = Lowering(module, options, sink).run();
  sink.sort();
  return out;
}

}  // namespace kiln::lower
