#include "dsl/tensor_core.hpp"

#include "dsl/operands.hpp"
#include "ptx/isa/wgmma.hpp"
#include "ptx/rules/forms.hpp"

namespace kiln::dsl {

using ir::Operand;

template <std::size_t masks>
void DisableOutputLane<masks>::put(MmaOperands& o, Here at) const {
  Recorder& r = values[0].recorder();
  for (const U32& v : values) {
    const Operand lane = use(r, v, at);
    // PTX refuses a vector of constants alone, so constants travel in registers.
    o.lanes.push_back(lane.is_integer() ? r.pure(ScalarType::b32, "mov.b32", {lane}, at) : lane);
  }
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

namespace {

std::string dotted(std::string_view modifier) { return modifier.empty() ? "" : "." + std::string(modifier); }

std::string mnemonic(const isa::MmaForm& f) {
  return std::string("tcgen05.mma") + (f.ws ? ".ws" : "") + (f.sparse ? ".sp" : "") + dotted(isa::spelling(f.group)) +
         dotted(isa::spelling(f.kind)) + (f.block_scale ? ".block_scale" : "") +
         dotted(isa::spelling(f.scale_vector)) + (f.ashift ? ".ashift" : "") + dotted(isa::spelling(f.collector));
}

}  // namespace

void TensorCore::tcgen05_mma(const isa::MmaForm& form, MmaOperands o, Here at) {
  rec_->require(rules::cta_group_mixed(group(), form.group), at);
  for (isa::Feature f : isa::mma_features(form)) require_feature(f, at);
  if (const auto f = o.idesc.fields(); f.k96)
    rec_->require(rules::mma_k96(role_->kernel->target, form.group, form.sparse, f.m), at,
                  "K = 96 on " + isa::spelling(role_->kernel->target));
  before_tcgen05(at);
  std::vector<Operand> operands{o.d, o.a, o.b};
  if (form.sparse && o.metadata) operands.push_back(*o.metadata);
  operands.push_back(o.idesc_register ? *o.idesc_register : Operand::bits(o.idesc.word()));
  if (o.sfa) operands.insert(operands.end(), {*o.sfa, *o.sfb});
  if (!o.lanes.empty()) operands.push_back(Operand::vector(std::move(o.lanes)));
  operands.push_back(o.enable_input_d);
  if (o.scale_input_d) operands.push_back(Operand::number(*o.scale_input_d));
  if (o.zero_mask) operands.push_back(*o.zero_mask);
  rec_->emit(mnemonic(form), std::move(operands), at);
}

void TensorCore::commit(const Mbarrier& b, Here at) {
  if (role_->kernel->wgmma) return commit_wgmma(b, at);
  if (b.released) *b.released = true;
  before_tcgen05(at);
  rec_->emit(cta_mnemonic("tcgen05.commit", group()) + ".mbarrier::arrive::one.shared::cluster.b64",
             {address_of(*rec_, b.address, at)}, at);
}

// A cluster of the DSL's is one pair, ranks 0 and 1.
void TensorCore::commit(const Mbarrier& b, AllCtas, Here at) {
  if (group() == isa::CtaGroup::one || role_->kernel->wgmma) return commit(b, at);
  commit(b, U32(*rec_, Operand::number(0b11)), at);
}

void TensorCore::commit(const Mbarrier& b, const U32& ctas, Here at) {
  if (role_->kernel->wgmma) return commit_wgmma(b, at);
  if (b.released) *b.released = true;
  before_tcgen05(at);
  // The mask is a 16-bit register; no immediate assembles.
  const Operand mask = rec_->pure(ScalarType::u16, "cvt.u16.u32", {use(*rec_, ctas, at)}, at);
  rec_->emit(cta_mnemonic("tcgen05.commit", group()) + ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64",
             {address_of(*rec_, b.address, at), mask}, at);
}

void TensorCore::copy_rows(isa::DataShape shape, isa::CpMulticast multicast, isa::CpSourceFormat format, const U32& to,
                           const SharedDescriptor& from, Here at) {
  before_tcgen05(at);
  rec_->emit(cta_mnemonic("tcgen05.cp", group()) + dotted(isa::spelling(shape)) + dotted(isa::spelling(multicast)) +
                 (format == isa::CpSourceFormat::none ? "" : ".b8x16" + dotted(isa::spelling(format))),
             {address_of(*rec_, to, at), use(*rec_, from.word, at)}, at);
}

// Shared memory has the chunks along K first, tensor memory those along the rows: a group of four scales for all rows.
void TensorCore::copy_chunks(const U32& to, const U32& from, int row_chunks, int groups, Here at) {
  constexpr int columns = 4;  // 128 rows of four bytes in 32 lanes
  for (int i = 0; i < row_chunks * groups; ++i)
    copy_rows(isa::DataShape::s32x128b, isa::CpMulticast::warpx4, isa::CpSourceFormat::none,
              apply("add", to, columns * (i % groups * row_chunks + i / groups), at),
              {descriptor_of(from, core_matrix_column(), isa::scale_chunk_bytes * i, at)}, at);
}

void TensorCore::copy_images(const U32& to, const U32& from, int images, Here at) {
  for (int i = 0; i < images; ++i)
    copy_rows(isa::DataShape::s128x128b, isa::CpMulticast::none, isa::CpSourceFormat::none,
              apply("add", to, isa::metadata_image_columns * i, at),
              {descriptor_of(from, core_matrix_column(), isa::metadata_image_bytes * i, at)}, at);
}

void TensorCore::tcgen05_shift_down(const U32& address, Here at) {
  require_feature(isa::Feature::shift, at);
  before_tcgen05(at);
  rec_->emit(cta_mnemonic("tcgen05.shift", group()) + ".down", {address_of(*rec_, address, at)}, at);
}

U64 TensorCore::descriptor_of(const U32& address, isa::SharedDescriptor constant, int offset, Here at) {
  const std::uint64_t word = role_->kernel->wgmma ? isa::wgmma_word(constant) : constant.word();
  const Operand units = rec_->pure(ScalarType::b32, "shr.u32", {use(*rec_, address, at), Operand::number(4)}, at);
  const Operand field = rec_->pure(ScalarType::b32, "and.b32", {units, Operand::bits(0x3fff)}, at);
  const Operand wide = rec_->pure(ScalarType::b64, "cvt.u64.u32", {field}, at);
  const Operand base = rec_->pure(ScalarType::b64, "or.b64", {wide, Operand::bits(word)}, at);
  if (offset == 0) return {*rec_, base};
  return {*rec_,
          rec_->pure(ScalarType::b64, "add.s64", {base, Operand::number(offset / isa::descriptor_unit_bytes)}, at)};
}

}  // namespace kiln::dsl
