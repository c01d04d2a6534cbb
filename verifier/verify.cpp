#include "verifier/verify.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "ptx/rules/hardware.hpp"
#include "verifier/callers.hpp"
#include "verifier/checks/allocation.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/checks/forms.hpp"
#include "verifier/facts.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {

/// The only maker of Verified.
class Stamp {
 public:
  static ir::Verified<ir::Module> approve(ir::Module module) { return ir::Verified<ir::Module>(std::move(module)); }
};

namespace {

using Ptxas = std::optional<isa::PtxasVersion>;

// A form is what the text says: it is judged before numbers stand where registers are read. Which operations have none.
std::vector<bool> check_text(const ir::Code& written, rules::Profile profile, Ptxas ptxas, diag::Sink& sink) {
  std::vector<bool> malformed = check_forms(written, sink, profile);
  check_ptxas_versions(written, malformed, ptxas, sink);
  return malformed;
}

void check_function(const ir::Module& module, const ir::Function& function, Callers& callers, rules::Profile profile,
                    const LaunchFacts& given, Ptxas ptxas, diag::Sink& sink) {
  ir::Code written = ir::decode(module, function, sink);
  std::vector<bool> malformed = check_text(written, profile, ptxas, sink);
  Facts facts(module, function, sink, std::move(written));
  facts.malformed = std::move(malformed);
  facts.profile = profile;
  facts.given = given;
  facts.entrances = callers.entrances(facts);
  callers.note(facts);
  check_targets(facts);
  check_parameters(facts);
  check_shared_bytes(facts);
  check_descriptors(facts);
  check_collectors(facts);
  check_allocation(facts);
  check_tensor_memory(facts);
  check_load_waits(facts);
  check_load_fences(facts);
  check_wgmma_registers(facts);
  check_barrier_addresses(facts);
  const bool waits_in_vain = check_mbarriers(facts);
  check_phases(facts);
  if (!waits_in_vain) check_mma_order(facts);  // without the arrival that is missing, the same again
  check_copies(facts);
  check_issuers(facts);
  check_clusters(facts);
  check_proxies(facts);
  if (profile == rules::Profile::tileiras) check_tileiras(facts);
}

// The rules on each statement alone, where statements around them could not be read. Names may be declared there, and
// registers written.
void check_statements(const ir::Module& module, const ir::Function& function, rules::Profile profile, Ptxas ptxas,
                      diag::Sink& sink) {
  diag::Sink found;
  ir::Code written = ir::decode(module, function, found);
  std::vector<bool> malformed = check_text(written, profile, ptxas, found);
  Facts facts(module, function, found, std::move(written));
  facts.malformed = std::move(malformed);
  facts.profile = profile;
  check_targets(facts);
  check_parameters(facts);
  check_shared_bytes(facts);
  check_descriptors(facts);
  check_columns(facts);
  check_mbarrier_numbers(facts);
  check_copies(facts);
  const bool names_are_read = !module.unread && !function.names_unread;
  for (const diag::Diagnostic& d : found.all())
    if (names_are_read || (d.slug != "undeclared-name" && d.slug != "duplicate-name")) sink.report(d);
}

void check_functions(const ir::Module& module, diag::Sink& sink, rules::Profile profile, const LaunchFacts& given,
                     Ptxas ptxas) {
  Callers callers(module);
  const std::vector<const ir::Function*>& functions = callers.order();
  const bool calls_are_known =
      std::none_of(functions.begin(), functions.end(), [](const auto* f) { return f->unread; });
  for (const ir::Function* f : functions) {
    const bool is_whole = !module.unread && !f->unread && (f->entry || calls_are_known);
    is_whole ? check_function(module, *f, callers, profile, given, ptxas, sink)
             : check_statements(module, *f, profile, ptxas, sink);
  }
}

// Of a target that Kiln does not know: what is beyond the limits of those that it knows may be within those of this one.
void report_without_limits(const ir::Module& module, const diag::Sink& found, diag::Sink& sink) {
  std::string name;
  for (const std::string& t : module.targets) name = name.empty() ? t : name;
  for (const diag::Diagnostic& d : found.all()) {
    const auto rule = rules::find_rule(d.slug);
    if (rule && rules::is_limit_of_hardware(*rule))
      incomplete(sink, d.where, "what .target " + name + " has: of those known " + d.message, rules::Limit::newer);
    else
      sink.report(d);
  }
}

}  // namespace

void check(const ir::Module& module, diag::Sink& sink, rules::Profile profile, const LaunchFacts& given, Ptxas ptxas) {
  const bool knows_targets = check_module_target(module, sink);
  if (ptxas) check_ptxas_version(module, *ptxas, sink);
  if (!module.unread && module.version <= isa::newest_version) check_declarations(module, sink);
  if (knows_targets) {
    check_functions(module, sink, profile, given, ptxas);
  } else {
    diag::Sink found;
    check_functions(module, found, profile, given, ptxas);
    report_without_limits(module, found, sink);
  }
  sink.sort();
}

std::optional<ir::Verified<ir::Module>> verify(ir::Module module, diag::Sink& sink) {
  diag::Sink found;
  check(module, found);
  const bool passed = !found.has_errors() && !found.incomplete();
  sink.append(std::move(found));
  sink.sort();
  if (!passed) return std::nullopt;
  return Stamp::approve(std::move(module));
}

}  // namespace kiln::verifier
