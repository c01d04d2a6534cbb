#include "dsl/multimem.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

void MultimemCopies::multimem_cp_async_bulk(const U64& to, const U32& from, OperandOf<U32> bytes,
                                            const Extras<CpMask>& extras, Here at) {
  require_feature(isa::Feature::multimem_copy, at);
  if (extras.has<CpMask>()) require_feature(isa::Feature::byte_mask, at);
  bulk("multimem.cp.async.bulk.global.shared::cta.bulk_group" + extras.modifiers(), to, from, bytes, nullptr, extras,
       at);
}

void MultimemCopies::reduce_replicas(RedOp op, ScalarType type, const U64& to, const U32& from,
                                     const OperandOf<U32>& bytes, Here at) {
  require_feature(isa::Feature::multimem_copy, at);
  bulk("multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group" + bulk_combination(op, type), to, from, bytes,
       nullptr, {}, at);
}

}  // namespace kiln::dsl
