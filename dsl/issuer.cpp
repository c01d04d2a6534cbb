#include "dsl/issuer.hpp"

#include <algorithm>

#include "ptx/rules/target.hpp"

namespace kiln::dsl {

using ir::Operand;

void KernelContext::require(isa::Feature f, Recorder& r, Here at) {
  version = std::max(version, isa::lowest_version(f));
  r.require(rules::target_feature(f, target, isa::newest_version), at,
            std::string(isa::spelling(f)) + " on " + isa::spelling(target));
}

Operand Issuer::result(ScalarType type, std::string_view mnemonic, std::vector<Operand> operands, Here at) {
  Operand to = rec_->fresh(type);
  operands.insert(operands.begin(), to);
  rec_->emit(mnemonic, std::move(operands), at);
  return to;
}

U32 Issuer::special(const std::string& name, Here at) const {
  return {*rec_, rec_->pure(ScalarType::b32, "mov.u32", {Operand::named(name)}, at)};
}

}  // namespace kiln::dsl
