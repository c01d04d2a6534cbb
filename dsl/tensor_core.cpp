#include "dsl/tensor_core.hpp"

#include "dsl/operands.hpp"

namespace kiln::dsl {

using ir::Operand;

void TensorCore::commit(const Mbarrier& b, Here at) {
  if (b.released) *b.released = true;
  before_tcgen05(at);
  rec_->emit("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64",
             {address_of(*rec_, b.address, at)}, at);
}

U64 TensorCore::descriptor(const U32& address, std::uint64_t constant, int offset, Here at) {
  const Operand units = rec_->pure(ScalarType::b32, "shr.u32", {use(*rec_, address, at), Operand::number(4)}, at);
  const Operand field = rec_->pure(ScalarType::b32, "and.b32", {units, Operand::bits(0x3fff)}, at);
  const Operand wide = rec_->pure(ScalarType::b64, "cvt.u64.u32", {field}, at);
  const Operand base =
      rec_->pure(ScalarType::b64, "or.b64", {wide, Operand::bits(constant)}, at);
  if (offset == 0) return {*rec_, base};
  return {*rec_, rec_->pure(ScalarType::b64, "add.s64", {base, Operand::number(offset / isa::descriptor_unit_bytes)}, at)};
}

void TensorCore::tcgen05_mma_f16(const U32& d, const U64& a, const U64& b, std::uint32_t idesc, const EnableInputD& p,
                             Here at) {
  before_tcgen05(at);
  rec_->emit("tcgen05.mma.cta_group::1.kind::f16",
             {address_of(*rec_, d, at), use(*rec_, a, at), use(*rec_, b, at), Operand::bits(idesc), p.operand}, at);
}

}  // namespace kiln::dsl
