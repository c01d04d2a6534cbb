#include "lower/plan/passes.hpp"

#include <algorithm>

namespace kiln::lower {

using rules::Limit;

bool find_copies(const Facts& facts, Plan& plan) {
  bool good = true;
  for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
    const ir::Operation& op = facts.code.operations[i];
    if (op.opcode != isa::Opcode::tcgen05_cp) continue;
    if (op.modifiers.cp_source_format != isa::CpSourceFormat::none) {
      good = facts.refuse(Limit::lower_unsupported, "tcgen05.cp with decompression", op);
      continue;
    }
    const LayoutFound from = layout_of(facts, ops::roles<ops::TmemCopy>(op).from, isa::Major::K, true);
    if (!from.layout.swizzle || !from.unknown.empty()) {
      good = facts.refuse(Limit::lower_descriptor, from.unknown, op);
      continue;
    }
    if (from.assumption) plan.layouts[i].push_back(*from.assumption);
    const Copy copy{op.modifiers.shape, op.modifiers.cp_multicast, from.layout};
    const auto found = std::find(plan.copies.begin(), plan.copies.end(), copy);
    plan.copied[i] = std::size_t(found - plan.copies.begin());
    if (found == plan.copies.end()) plan.copies.push_back(copy);
  }
  return good;
}

}  // namespace kiln::lower
