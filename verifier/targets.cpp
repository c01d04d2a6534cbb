#include "verifier/targets.hpp"

#include <vector>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/rules/forms.hpp"
#include "ptx/rules/target.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Feature;
using isa::Opcode;

std::string spelling(isa::PtxVersion v) { return std::to_string(v.major) + "." + std::to_string(v.minor); }

bool is_sparse(Opcode op) { return op == Opcode::tcgen05_mma_sp || op == Opcode::tcgen05_mma_ws_sp; }

std::vector<Feature> features(const ir::Operation& op) {
  using isa::MmaKind, isa::ScaleVector;
  const isa::Modifiers& m = op.modifiers;
  std::vector<Feature> out;
  if (op.opcode == Opcode::tcgen05_ld_red) out.push_back(Feature::ld_red);
  if (op.opcode == Opcode::tcgen05_shift) out.push_back(Feature::shift);
  if (m.kind == MmaKind::i8) out.push_back(Feature::kind_i8);
  if (m.kind == MmaKind::mxf4nvf4) out.push_back(Feature::mxf4nvf4);
  if (is_sparse(op.opcode) && (m.kind == MmaKind::mxf4 || m.kind == MmaKind::mxf4nvf4))
    out.push_back(Feature::sparse_mxf4);
  if (m.scale_vector == ScaleVector::x4)
    out.push_back(Feature::scale_vec_4x);
  else if (m.scale_vector == ScaleVector::x1 || m.scale_vector == ScaleVector::x2)
    out.push_back(Feature::scale_vec);
  else if (m.block_scale)
    out.push_back(Feature::block_size);
  const bool dense = op.opcode == Opcode::tcgen05_mma || op.opcode == Opcode::tcgen05_mma_sp;
  const bool scales = dense && !m.block_scale && op.arguments.size() > 5 &&
                      op.arguments.back().kind == ir::Argument::Kind::immediate &&
                      op.arguments[op.arguments.size() - 2].kind != ir::Argument::Kind::vector &&
                      (m.kind == MmaKind::f16 || m.kind == MmaKind::tf32);
  // A scale is the operand behind the enable predicate: one more than the form has without it.
  const std::size_t plain = 5u + (op.opcode == Opcode::tcgen05_mma_sp) +
                            (op.arg(op.opcode == Opcode::tcgen05_mma_sp ? 5 : 4).kind == ir::Argument::Kind::vector);
  if (scales && op.arguments.size() > plain) out.push_back(Feature::scale_input_d);
  return out;
}

}  // namespace

void check_module_target(const ir::Module& module, diag::Sink& sink) {
  const auto target = module.target();
  if (!target) return;
  const rules::Verdict v = rules::target_version(*target, module.version);
  if (!v.broken()) return;
  const diag::Place place = module.version_at;
  broken(sink, v, diag::Where::at(module.source, place),
         ".version " + spelling(module.version) + " with .target " + isa::spelling(*target) + ", which needs " +
             spelling(isa::lowest_version(*target)));
}

void check_targets(const Facts& facts) {
  isa::CtaGroup group = isa::CtaGroup::none;
  bool mixed = false, lacking = false;
  for (const ir::Operation& op : facts.code.operations) {
    if (isa::unit(op.opcode) != isa::Unit::tcgen05) continue;
    const Subject subject{facts.code, op};
    if (facts.target && !lacking)
      lacking =
          judge(facts.sink, rules::target_tcgen05(*facts.target), subject, ".target " + isa::spelling(*facts.target));
    if (facts.target && isa::has_tcgen05(*facts.target))
      for (Feature f : features(op))
        judge(facts.sink, rules::target_feature(f, *facts.target, facts.module.version), subject,
              std::string(isa::spelling(f)) + " with .version " + spelling(facts.module.version) + " and .target " +
                  isa::spelling(*facts.target));
    const isa::CtaGroup here = op.modifiers.cta_group;
    if (here == isa::CtaGroup::none || mixed) continue;
    if (group == isa::CtaGroup::none) group = here;
    mixed = judge(facts.sink, rules::cta_group_mixed(group, here), subject,
                  "." + std::string(isa::spelling(here)) + " behind ." + std::string(isa::spelling(group)));
  }
}

}  // namespace kiln::verifier
