#include "dsl/tensor_core.hpp"

#include "dsl/operands.hpp"
#include "dsl/tensor_core_target.hpp"
#include "ptx/diag/error.hpp"

namespace kiln::dsl {

template <std::size_t masks>
void DisableOutputLane<masks>::put(MmaOperands& o, Here at) const {
  Recorder& r = values[0].recorder();
  for (const U32& v : values) o.lanes.push_back(in_register(r, use(r, v, at), at));
}
template struct DisableOutputLane<4>;
template struct DisableOutputLane<8>;

void Metadata::put(MmaOperands& o, Here at) const {
  o.metadata = address_of(address.recorder(), address, at);
  o.idesc = o.idesc.with_selector(selector);
}

void Scales::put(MmaOperands& o, Here at) const {
  o.sfa = address_of(sfa.recorder(), sfa, at);
  o.sfb = address_of(sfb.recorder(), sfb, at);
  o.idesc = o.idesc.with_scale_ids(sfa_id, sfb_id);
}

void IdescRegister::put(MmaOperands& o, Here at) const { o.idesc_register = use(word.recorder(), word, at); }

// MMAs ----------------------------------------------------------------------------------------------------------------

bool TensorCore::accepts(const MmaSpec& mma, const MmaCall& call, const AnyTmem& d, Here at) {
  const rules::Verdict v = rules::first(mma.check(), call.check(), rules::tmem_range(0, mma.d_columns(), d.count));
  rec_->require(v, at);
  return !v.broken();
}

Operand TensorCore::operand(const AnySlice& s, Here at) {
  return use(*rec_, descriptor_of(s.address, s.shape.descriptor(), s.offset, at), at);
}

Operand TensorCore::a_operand(const AnySlice& s, Here at) {
  return role_->kernel->tensor_core->a_descriptor(*this, operand(s, at), s.shape, at);
}

MmaOperands TensorCore::operands_of(const MmaCall& call, const AnyTmem& d, const AnySlice& a, const AnySlice& b,
                                    const EnableInputD& p) {
  return {operand(d.address(p.at), p.at), a_operand(a, p.at), operand(b, p.at),
          isa::InstructionDescriptor::of(call.form, call.shape), p.operand};
}

void TensorCore::issue(const MmaCall& call, MmaOperands operands, const TileShape* b, Here at) {
  role_->kernel->tensor_core->mma(*this, call, std::move(operands), b, at);
}

void TensorCore::commit(const Mbarrier& b, Here at) { role_->kernel->tensor_core->commit(*this, b, at); }
void TensorCore::commit(const Mbarrier& b, const U32& ctas, Here at) {
  role_->kernel->tensor_core->commit(*this, b, ctas, at);
}
void TensorCore::commit(const Mbarrier& b, const WideMulticast& ctas, Here at) {
  require_feature(isa::Feature::commit_32b, at);
  role_->kernel->tensor_core->commit(*this, b, ctas, at);
}
void TensorCore::commit(const Mbarrier& b, AllCtas, Here at) {
  role_->kernel->tensor_core->commit_to_all(*this, b, at);
}

// Copies within the SM, and shifts ------------------------------------------------------------------------------------

void TensorCore::copy_rows(isa::DataShape shape, isa::CpMulticast multicast, isa::CpSourceFormat format, const U32& to,
                           const SharedDescriptor& from, Here at) {
  before_tcgen05(at);
  rec_->emit(cta_mnemonic("tcgen05.cp", group()) +
                 dotted({"", isa::spelling(shape), isa::spelling(multicast),
                         format == isa::CpSourceFormat::none ? "" : "b8x16", isa::spelling(format)}),
             {address_of(*rec_, to, at), use(*rec_, from.word, at)}, at);
}

// Shared memory has the chunks along K first, tensor memory those along the rows: a group of four scales for all rows.
void TensorCore::copy_scales(const AnyScaleFactors& to, const U32& from, const ScaleTileShape& tile, Here at) {
  constexpr int columns = 4;  // 128 rows of four bytes in 32 lanes
  if (!fits(to.shape, tile)) throw diag::InternalError("a tile of scales does not fill their place in tensor memory");
  const int row_chunks = tile.row_chunks(), groups = tile.groups();
  const U32 start = to.address(at);
  for (int i = 0; i < row_chunks * groups; ++i)
    copy_rows(isa::DataShape::s32x128b, isa::CpMulticast::warpx4, isa::CpSourceFormat::none,
              apply("add", start, columns * (i % groups * row_chunks + i / groups), at),
              {descriptor_of(from, core_matrix_column(), isa::scale_chunk_bytes * i, at)}, at);
}

void TensorCore::copy_images(const U32& to, const U32& from, int images, Here at) {
  for (int i = 0; i < images; ++i)
    copy_rows(isa::DataShape::s128x128b, isa::CpMulticast::none, isa::CpSourceFormat::none,
              apply("add", to, isa::metadata_image_columns * i, at),
              {descriptor_of(from, core_matrix_column(), isa::metadata_image_bytes * i, at)}, at);
}

void TensorCore::copy_metadata(const MmaSpec& mma, const AnyMetadata& to, const U32& from, Here at) {
  const int columns = to.shape.columns_held();
  rec_->require(rules::metadata_image(mma.form, mma.M(), columns, columns), at);
  copy_images(to.address(at), from, to.shape.images(), at);
}

void TensorCore::tcgen05_shift_down(const U32& address, Here at) {
  require_feature(isa::Feature::shift, at);
  before_tcgen05(at);
  rec_->emit(cta_mnemonic("tcgen05.shift", group()) + ".down", {address_of(*rec_, address, at)}, at);
}

U64 TensorCore::descriptor_of(const U32& address, isa::SharedDescriptor constant, int offset, Here at) {
  return matrix_descriptor(address, role_->kernel->tensor_core->descriptor_word(constant), offset, at);
}

U64 matrix_descriptor(const U32& address, std::uint64_t word, int offset, Here at) {
  Recorder& r = address.recorder();
  const Operand units = r.pure(ScalarType::b32, "shr.u32", {use(r, address, at), Operand::number(4)}, at);
  const Operand mask = Operand::bits(isa::descriptor_address_mask / isa::descriptor_unit_bytes);
  const Operand field = r.pure(ScalarType::b32, "and.b32", {units, mask}, at);
  const Operand wide = r.pure(ScalarType::b64, "cvt.u64.u32", {field}, at);
  const Operand base = r.pure(ScalarType::b64, "or.b64", {wide, Operand::bits(word)}, at);
  if (offset == 0) return {r, base};
  return {r, r.pure(ScalarType::b64, "add.s64", {base, Operand::number(offset / isa::descriptor_unit_bytes)}, at)};
}

}  // namespace kiln::dsl
