#include "tools/command/prediction.hpp"

#include <algorithm>

#include "harness/pipeline/pipeline.hpp"
#include "harness/problem/fill.hpp"
#include "harness/profile/profile.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/parse/parse.hpp"
#include "tools/command/report/numbers.hpp"

namespace kiln::command {
namespace {

// What nothing depends on need not be random. What the clusters that are left out would have written is no poison.
void simplify(launch::Contract& contract, bool values, const std::string& kept) {
  using Kind = launch::Init::Kind;
  for (launch::Buffer& b : contract.buffers) {
    if (b.name == kept) continue;
    const bool random = (b.init.kind == Kind::normal || b.init.kind == Kind::uniform) && !b.init.quantised;
    if (b.init.kind == Kind::poison || (random && !values && isa::is_floating(b.dtype))) b.init.kind = Kind::zeros;
  }
}

void scale(std::vector<double>& times, double factor) {
  for (double& t : times) t *= factor;
}

}  // namespace

timing::Prediction predict_launches(const ir::Module& module, launch::Contract contract, const std::string& folder,
                                    const timing::Chip& chip, const timing::Question& question, diag::Sink& sink) {
  simplify(contract, question.values || timing::needs_values(module, contract), question.kept);
  harness::fill(contract, folder);
  return timing::predict(module, contract, chip, question, sink);
}

std::string predicted_profile(ir::Module module, launch::Contract contract, const std::string& folder,
                              const timing::Chip& chip, timing::Question question, const std::string& name) {
  const harness::ProfilePlan plan = harness::instrument(module, contract);
  question.kept = harness::ProfilePlan::buffer;
  diag::Sink sink;
  timing::Prediction p = predict_launches(module, contract, folder, chip, question, sink);
  if (p.outcome != sim::Outcome::finished)
    diag::refuse("--profile: no prediction: the run of the first cluster did not end ({})", spelling(p.outcome));
  for (launch::Buffer& b : contract.buffers)
    if (b.name == question.kept) b.bytes = std::move(p.kept);
  return harness::profile_json(plan, contract, harness::read_profile(plan, contract), name,
                               harness::ProfileClock::predicted);
}

timing::Prediction predict_kernel(const KernelChoice& choice, const timing::Chip& chip,
                                  const timing::Question& question, diag::Sink& sink) {
  const dsl::Sizes sizes = choice.chosen_sizes();
  dsl::Kernel kernel = choice.entry().build(choice.chosen_target(), sizes);
  const launch::Contract contract = choice.entry().problem(kernel, sizes);
  const diag::SourcePtr ptx = harness::emit_verified(std::move(kernel.module), choice.name + ".ptx", sink);
  if (!ptx) throw diag::Rejected(choice.name + ": the verifier gives no proof", std::move(sink));
  return predict_launches(parse::parse(ptx, sink), contract, {}, chip, question, sink);
}

void change(const std::string& what, timing::Chip& chip, KernelChoice& kernel, bool has_kernel) {
  const std::size_t equals = what.find('=');
  if (equals == std::string::npos) diag::refuse("--what-if: must be NAME=VALUE or NAME=xFACTOR; got {}", what);
  const std::string name = what.substr(0, equals), value = what.substr(equals + 1);
  const bool is_factor = value.starts_with('x');
  const auto number = [&] { return positive_number(is_factor ? value.substr(1) : value, "--what-if " + name); };
  if (name == "tensor_core") {
    if (!is_factor) diag::refuse("--what-if tensor_core: its times have a table; give a factor, as in x0.5");
    for (timing::MmaTimes& t : chip.mma)
      for (auto* times : {&t.interval, &t.latency, &t.refill}) scale(*times, number());
    scale(chip.wgmma.interval, number());
    return;
  }
  for (std::size_t k = 0; k < timing::fact_count; ++k)
    if (timing::facts[k].name == name) {
      if (chip[timing::FactId(k)] == 0) diag::refuse("--what-if: {} has no {}", chip.title, name);
      chip.values[k].value = is_factor ? chip.values[k].value * number() : number();
      return;
    }
  const auto is_named = [&](const dsl::SizeOption& s) { return s.name == name; };
  if (!has_kernel || std::none_of(kernel.entry().sizes.begin(), kernel.entry().sizes.end(), is_named))
    diag::refuse("--what-if: {} is no fact of timing/facts.def, not tensor_core{}", name,
                 has_kernel ? ", and no option of " + kernel.name : ", and a file has no options");
  kernel.sizes[name] = value;
}

}  // namespace kiln::command
