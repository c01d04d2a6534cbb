#include "dsl/copies.hpp"

#include "dsl/operands.hpp"
#include "dsl/tensor_core_target.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/rules/mbarrier.hpp"

namespace kiln::dsl {

// Places --------------------------------------------------------------------------------------------------------------

std::vector<U32> coordinates_of(const U64& map, const OperandOf<U32>* first, int count) {
  std::vector<U32> out;
  for (const OperandOf<U32>* c = first; c != first + count; ++c) out.emplace_back(map.recorder(), operand_of(*c));
  return out;
}

std::vector<Operand> offsets_of(const OperandOf<U32>* first, int count) {
  std::vector<Operand> out;
  for (const OperandOf<U32>* o = first; o != first + count; ++o) out.push_back(sixteen_bits(*o));
  return out;
}

namespace {

// [map, {coordinates}], with the address that overrides the map's between them
Operand tensor_operand(Recorder& r, const TensorPlace& p, Here at) {
  Operand tensor = Operand::address(use(r, p.map, at));
  if (p.global_address) tensor.items.push_back(use(r, *p.global_address, at));
  std::vector<Operand> coordinates;
  for (const U32& c : p.coordinates) coordinates.push_back(use(r, c, at));
  tensor.items.push_back(Operand::vector(std::move(coordinates)));
  return tensor;
}

std::string overridden(const TensorPlace& p) { return p.global_address ? ".override::global_address" : ""; }

std::string dimensions(const TensorPlace& p) { return std::to_string(p.rank) + "d"; }

}  // namespace

// Loads of some modes reach their own CTA on more targets than a cluster; the prefetch of a mode goes where its load
// does.
void Copies::require_mode(isa::TensorMode mode, isa::Space to, Here at) const {
  using isa::Feature, isa::TensorMode;
  switch (mode) {
    case TensorMode::gather4:
    case TensorMode::im2col_w:
      return require_feature(to == isa::Space::shared_cluster ? Feature::tensor_modes : Feature::modes_to_cta, at);
    case TensorMode::scatter4:
    case TensorMode::im2col_w_128: return require_feature(Feature::tensor_modes, at);
    default: return;
  }
}

// Copies of boxes -----------------------------------------------------------------------------------------------------

void Copies::tensor_load(isa::Space destination, const U32& to, const TensorPlace& from, const AnyMbarrier& full,
                         const ExtraList& extras, Here at) {
  require_mode(from.mode, destination, at);
  std::vector<Operand> operands{address_of(*rec_, to, at), tensor_operand(*rec_, from, at),
                                address_of(*rec_, full.address, at)};
  if (!from.offsets.empty()) operands.push_back(Operand::vector(from.offsets));
  extras.append_to(operands);
  rec_->emit(dotted({"cp.async.bulk.tensor", dimensions(from), spelling(destination), "global", spelling(from.mode),
                     "mbarrier::complete_tx::bytes"}) +
                 extras.modifiers() + overridden(from),
             std::move(operands), at);
}

void Copies::tensor_store(std::string_view name, RedOp op, const TensorPlace& to, const U32& from,
                          const ExtraList& extras, Here at) {
  require_mode(to.mode, isa::Space::global, at);
  std::vector<Operand> operands{tensor_operand(*rec_, to, at), address_of(*rec_, from, at)};
  extras.append_to(operands);
  rec_->emit(dotted({name, dimensions(to), "global.shared::cta", spelling(op), spelling(to.mode), "bulk_group"}) +
                 extras.modifiers() + overridden(to),
             std::move(operands), at);
}

void Copies::tensor_prefetch(const TensorPlace& from, const ExtraList& extras, Here at) {
  require_mode(from.mode, isa::Space::shared_cta, at);
  std::vector<Operand> operands{tensor_operand(*rec_, from, at)};
  if (!from.offsets.empty()) operands.push_back(Operand::vector(from.offsets));
  extras.append_to(operands);
  rec_->emit(dotted({"cp.async.bulk.prefetch.tensor", dimensions(from), "L2.global", spelling(from.mode)}) +
                 extras.modifiers() + overridden(from),
             std::move(operands), at);
}

// Tiles ---------------------------------------------------------------------------------------------------------------

template <class Copy>
void Copies::each_box(const U32& shared, int block_bytes, const AnyBox& start, Copy copy, Here at) {
  const U64 map(*rec_, start.map);
  const TilePieces pieces = start.shape.pieces();
  for (int block = 0; block < pieces.blocks; ++block)
    for (int piece = 0; piece < pieces.row_pieces; ++piece) {
      const U32 box = apply("add", shared, block * block_bytes + piece * pieces.piece_bytes, at);
      copy(box, TensorPlace{map, isa::TensorMode::tile, 2,
                            {apply("add", start.inner, block * pieces.box_inner, at),
                             apply("add", start.outer, piece * pieces.box_outer, at)}});
    }
}

void Copies::load_whole(const SlotPart& part, const U32& shared, const TensorPlace& from, const AnyMbarrier& full,
                        const TensorLoadExtras& extras, Here at) {
  const TensorLoadExtras all = with_group(extras, full, at);
  const auto to = role_->kernel->tensor_core->destination(*this, part, shared, all, at);
  tensor_load(isa::Space::shared_cluster, to.address, from, full, to.extras, at);
}

void Copies::tma_load(const AnyShared& to, const AnyBox& from, const AnyMbarrier& full, const TensorLoadExtras& extras,
                      Here at) {
  if (to.shape != from.shape) throw diag::InternalError("a box of one tile is loaded into another");
  load_part(to, 0, from, full, extras, at);
}

void Copies::load_part(const AnyShared& to, int outer, const AnyBox& from, const AnyMbarrier& full,
                       const TensorLoadExtras& extras, Here at) {
  const TensorLoadExtras all = with_group(extras, full, at);
  const U32 start = apply("add", to.address, outer * to.shape.row_pitch(), at);
  const auto place = role_->kernel->tensor_core->destination(*this, to.shape.part(), start, all, at);
  each_box(place.address, to.shape.block_bytes(), from, [&](const U32& box, const TensorPlace& start) {
    tensor_load(isa::Space::shared_cluster, box, start, full, place.extras, at);
  }, at);
}

void Copies::store_boxes(const AnyShared& from, const AnyBox& to, const ExtraList& extras, Here at) {
  each_box(from.address, to.shape.block_bytes(), to, [&](const U32& box, const TensorPlace& start) {
    tensor_store("cp.async.bulk.tensor", RedOp::none, start, box, extras, at);
  }, at);
}

TensorLoadExtras Copies::with_group(TensorLoadExtras extras, const AnyMbarrier& full, Here at) const {
  const bool names_peer = full.space == isa::Space::shared_cluster && group() == isa::CtaGroup::two;
  if (names_peer && !extras.has<isa::CtaGroup>())
    extras.add(TensorLoadExtras::place_of<isa::CtaGroup>(), extra(group()));
  if (extras.has<isa::CtaGroup>()) require_feature(isa::Feature::tensor_modes, at);
  return extras;
}

// The short way to barriers -------------------------------------------------------------------------------------------

void Copies::expect_tx(const Mbarrier& b, std::int64_t bytes, Here at) {
  rec_->require(rules::mbarrier_tx(bytes), at);
  rec_->emit("mbarrier.arrive.expect_tx.shared::cta.b64",
             {sink(), address_of(*rec_, b.address, at), Operand::number(bytes)}, at);
}

void Copies::arrive(const AnyMbarrier& b, Here at) {
  b.count(*rec_, 1);
  const bool remote = b.space == isa::Space::shared_cluster;
  rec_->emit(remote ? "mbarrier.arrive.release.cluster.shared::cluster.b64" : "mbarrier.arrive.shared::cta.b64",
             {sink(), address_of(*rec_, b.address, at)}, at);
}

// Tensor maps ---------------------------------------------------------------------------------------------------------

Operand Copies::operand(const OperandOf<U32>& v) { return operand_of(v); }
Operand Copies::operand(const OperandOf<U64>& v) { return operand_of(v); }

void Copies::replace_field(isa::TensorMapField field, const Value& map, isa::Space space, int number,
                           const std::optional<Operand>& value, Here at) {
  if (field == isa::TensorMapField::swizzle_atomicity) require_feature(isa::Feature::swizzle_atomicity, at);
  std::vector<Operand> operands{address_of(*rec_, map, at)};
  if (isa::has_code(field) || isa::has_ordinal(field)) operands.push_back(Operand::number(number));
  if (value) operands.push_back(*value);
  rec_->emit(dotted({"tensormap.replace.tile", spelling(field), spelling(space), "b1024",
                     isa::is_wide(field) ? "b64" : "b32"}),
             std::move(operands), at);
}

}  // namespace kiln::dsl
