#include "tests/mutation/runner.hpp"

#include "harness/compare/compare.hpp"
#include "harness/run/run.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"

namespace kiln::mutation {
namespace {

constexpr sim::Strategy strategies[] = {sim::Strategy::random, sim::Strategy::adversarial, sim::Strategy::pct};

void take(Observed& o, const diag::Sink& sink) {
  for (const diag::Diagnostic& d : sink.all()) {
    if (d.severity == diag::Severity::error && !o.error) o.error = true, o.first = d.slug + ": " + d.message;
    if (d.severity == diag::Severity::incomplete && o.first.empty()) o.first = "incomplete: " + d.message;
    if (d.severity == diag::Severity::portability) ++o.portability[d.slug];
  }
  o.incomplete = sink.incomplete();
}

bool is_more(const std::map<std::string, int>& found, const std::map<std::string, int>& usual) {
  for (const auto& [slug, count] : found) {
    const auto known = usual.find(slug);
    if (known == usual.end() || known->second < count) return true;
  }
  return false;
}

}  // namespace

Observed run_once(const Kernel& kernel, const std::string& text, std::uint64_t schedule) {
  Observed o;
  diag::Sink sink;
  const auto source = std::make_shared<const diag::Source>(kernel.name + ".ptx", text);
  const ir::Module module = parse::parse(source, sink);
  if ((o.stillborn = sink.has_errors())) return take(o, sink), o;
  launch::Contract contract = kernel.contract;
  sim::Options options;
  options.seed = schedule;
  options.max_steps = kernel.max_steps;
  options.strategy = strategies[(schedule - 1) % std::size(strategies)];
  try {
    const sim::Result result = sim::simulate(module, contract, options, sink);
    take(o, sink);
    // A run that does not end counts as a hang; a deadlock or a fault is reported as such.
    if (result.outcome == sim::Outcome::step_limit && !o.error) o.error = true, o.first = "hang";
    if (result.outcome != sim::Outcome::finished) return o;
  } catch (const diag::InputError& e) {
    o.stillborn = true;
    o.first = e.what();
    return o;
  }
  for (const launch::Expectation& e : contract.expectations)
    if (!harness::compare(contract, e).pass) o.wrong_values = true;
  for (const auto& [name, bytes] : kernel.results)
    if (contract.find(name)->bytes != bytes) o.wrong_values = true;
  return o;
}

void learn(Kernel& kernel) {
  if (!kernel.contract.expectations.empty()) return;
  diag::Sink sink;
  const ir::Module module = parse::parse(kernel.ptx, sink);
  for (std::uint64_t schedule = 1; schedule <= std::size(strategies); ++schedule) {
    launch::Contract contract = kernel.contract;
    sim::Options options;
    options.seed = schedule;
    options.strategy = strategies[schedule - 1];
    const sim::Result result = sim::simulate(module, contract, options, sink);
    if (schedule == 1) {
      kernel.max_steps = 10 * result.statistics.warp_instructions;
      for (const launch::Buffer& b : contract.buffers) kernel.results[b.name] = b.bytes;
    }
    std::erase_if(kernel.results, [&](const auto& r) { return contract.find(r.first)->bytes != r.second; });
  }
}

Judged judge(const Kernel& kernel, const Mutant& m, const Whole& whole, int schedules,
             std::chrono::milliseconds exploring) {
  Judged j{m};
  const BugClass* bug = find_class(m.bug_class);
  if (!bug) throw diag::InternalError("no class " + std::to_string(m.bug_class));
  const std::string text = m.text_of(std::string(kernel.ptx->text()));
  const StaticLayer unrun = check_statically(kernel.name, text, kernel.contract, exploring);
  j.unrun = static_witness(m, unrun, whole.unrun);
  j.is_followed = unrun.incomplete.empty();
  for (int seed = 1; seed <= schedules; ++seed) {
    const Observed o = run_once(kernel, text, std::uint64_t(seed));
    j.schedule = seed;
    if (o.stillborn) return j.fate = Fate::stillborn, j.witness = o.first, j;
    j.has_wrong_values |= o.wrong_values;
    const bool advised = is_more(o.portability, whole.run.portability);
    if (o.error || (m.profile == Profile::portability && advised)) {
      j.fate = Fate::killed;
      j.witness = o.error ? o.first : "portability";
      return j;
    }
    if (o.wrong_values && bug->values != Values::no) return j.fate = Fate::by_values, j.witness = "values", j;
    if (seed == 1)
      j.witness = o.incomplete ? o.first : o.wrong_values ? "wrong values only" : advised ? "portability only" : "";
  }
  return j;
}

}  // namespace kiln::mutation
