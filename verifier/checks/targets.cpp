#include "verifier/checks/checks.hpp"

#include "ptx/isa/ptx_versions.hpp"
#include "ptx/ops/features.hpp"
#include "ptx/ops/meaning.hpp"
#include "ptx/rules/forms.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/target.hpp"
#include "verifier/finding.hpp"
#include "verifier/verify.hpp"

namespace kiln::verifier {
namespace {

// Why the target is none for tcgen05, and what is there instead.
std::string instead(isa::Target t) {
  const std::string name = ".target " + isa::spelling(t);
  const bool suffixed = t.suffix != isa::TargetSuffix::none;
  if (t.sm == 90 && suffixed) return name + ", which multiplies with wgmma";
  if (t.sm >= 120 && suffixed) return name + ", which multiplies with mma.sync and its block scaling";
  if (t.sm < 100 || t.sm >= 120) return name + ", which multiplies with mma.sync";
  const std::string sm = "sm_" + std::to_string(t.sm);
  return name + "; use " + sm + "a or " + sm + "f";
}

// Where the target has it, a later .version is all that is missing.
std::string lacking_feature(isa::Feature f, isa::Opcode opcode, isa::Target target, isa::PtxVersion version) {
  std::string what(isa::spelling(f));
  const std::string name(isa::spelling(opcode));
  if (isa::has(f, target) && what.find(name) == what.npos) what += " of " + name;
  what += " with .version " + spelling(version);
  if (isa::has(f, target)) return what + ", which needs " + spelling(isa::lowest_version(f, target));
  return what + " and .target " + isa::spelling(target);
}

// One after the other, each at a multiple of its alignment. Measured with ptxas 13.0: .ptr .align counts for nothing,
// and references to textures, samplers and surfaces take no bytes.
std::uint64_t parameter_bytes(const ir::Function& kernel) {
  std::uint64_t end = 0;
  for (const ir::Variable& p : kernel.parameters)
    if (isa::type_class(p.type) != isa::TypeClass::opaque)
      end = (end + p.alignment() - 1) / p.alignment() * p.alignment() + p.bytes();
  return end;
}

}  // namespace

bool check_known(const ir::Module& module, diag::Sink& sink) {
  bool knows_targets = true;
  for (const ops::Newer& n : ops::newer_than_known(module)) {
    incomplete(sink, diag::Where::at(module.source, n.at), n.what, rules::Limit::newer);
    knows_targets &= !n.is_target;
  }
  return knows_targets;
}

bool check_module_target(const ir::Module& module, diag::Sink& sink) {
  const bool knows_targets = check_known(module, sink);
  const auto target = module.target();
  if (!target) return knows_targets;
  const rules::Verdict v = rules::target_version(*target, module.version);
  if (!v.broken()) return knows_targets;
  const diag::Place place = module.version_at;
  broken(sink, v, diag::Where::at(module.source, place),
         ".version " + spelling(module.version) + " with .target " + isa::spelling(*target) + ", which needs " +
             spelling(isa::lowest_version(*target)));
  return knows_targets;
}

void check_targets(const Facts& facts) {
  isa::CtaGroup group = isa::CtaGroup::none;
  bool mixed = false, lacking = false;
  for (const ir::Operation& op : facts.code.operations) {
    const bool is_tcgen05 = isa::unit(op.opcode) == isa::Unit::tcgen05;
    const Subject subject{facts.code, op};
    if (facts.target && is_tcgen05 && !lacking)
      lacking = judge(facts.sink, rules::target_tcgen05(*facts.target), subject, instead(*facts.target));
    if (facts.target && (!is_tcgen05 || isa::has_tcgen05(*facts.target)))
      for (isa::Feature f : ops::features(facts.code, op)) {
        const rules::Verdict v = rules::target_feature(f, *facts.target, facts.module.version);
        if (!v.broken()) continue;
        broken(facts.sink, v, subject, lacking_feature(f, op.opcode, *facts.target, facts.module.version));
        break;
      }
    if (!is_tcgen05 || !facts.is_formed(op)) continue;
    const isa::CtaGroup here = op.modifiers.cta_group;
    if (here == isa::CtaGroup::none || mixed) continue;
    if (group == isa::CtaGroup::none) group = here;
    mixed = judge(facts.sink, rules::cta_group_mixed(group, here), subject,
                  "." + std::string(isa::spelling(here)) + " after ." + std::string(isa::spelling(group)));
  }
}

// A called function is judged too: no CTA has what it needs.
void check_shared_bytes(const Facts& facts) {
  if (!facts.target) return;
  const rules::Verdict v = rules::shared_budget(*facts.target, facts.static_shared_bytes());
  if (v.broken()) broken(facts.sink, v, diag::Where::at(facts.module.source, facts.function.name_at));
}

void check_parameters(const Facts& facts) {
  if (!facts.function.entry || !facts.target) return;
  const rules::Verdict v =
      rules::param_budget(std::int64_t(parameter_bytes(facts.function)), *facts.target, facts.module.version);
  if (v.broken()) broken(facts.sink, v, diag::Where::at(facts.module.source, facts.function.name_at));
}

}  // namespace kiln::verifier
