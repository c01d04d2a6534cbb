#include "dsl/tcgen05.hpp"

#include "dsl/operands.hpp"
#include "dsl/storage.hpp"
#include "dsl/warp.hpp"
#include "ptx/isa/wgmma.hpp"
#include "ptx/rules/forms.hpp"

namespace kiln::dsl {

// What a kernel needs -------------------------------------------------------------------------------------------------

SumsPlace Tcgen05::place_sums(Storage& s, int, int columns, const std::string& name, Here at) {
  const Operand& base = s.tmem_base();
  return {base, s.tmem_columns(columns, name, at)};
}

RingState& Tcgen05::place_accumulators(Storage& s, int stages, int columns, const std::string& name, Here at) {
  RingState& ring = s.add_ring(name, stages, columns, at);
  const SumsPlace place = place_sums(s, isa::tmem_lanes, stages * columns, name, at);
  ring.tiles = place.base;
  ring.first = place.first;
  s.add_barriers(ring);
  if (s.in_pairs()) ring.leader_empty = s.in_leader(ring.empty);
  return ring;
}

void Tcgen05::place_slots(Storage& s, RingState& ring, const std::vector<SlotPart>& parts) {
  for (const SlotPart& part : parts) ring.add(part);
  ring.tiles = s.shared_bytes(ring.stages * ring.slot_bytes, ring.what(), ring.made_at).operand();
  s.add_barriers(ring);
  if (!s.in_pairs() || ring.each_cta) return;
  ring.leader_full = s.in_leader(ring.full);
  ring.is_leader = s.leader_predicate();
}

// What the role that multiplies issues --------------------------------------------------------------------------------

namespace {

// A thread that issues on behalf of the kernel's.
class Tcgen05Issuer : public TensorCore {
 public:
  explicit Tcgen05Issuer(const TensorCore& thread) : TensorCore(thread) {}
  using TensorCore::before_tcgen05, TensorCore::group, TensorCore::require_feature;
};

// "tcgen05.mma.cta_group::2.kind::f16"
std::string mnemonic(const isa::MmaForm& f) {
  return dotted({"tcgen05.mma", f.ws ? "ws" : "", f.sparse ? "sp" : "", isa::spelling(f.group), isa::spelling(f.kind),
                 f.block_scale ? "block_scale" : "", isa::spelling(f.scale_vector), f.ashift ? "ashift" : "",
                 isa::spelling(f.collector), isa::spelling(f.collector_b)});
}

// Adds the mask to the operands; the modifier. A mask of 16 bits is a register: no immediate assembles.
std::string add_mask(Recorder& r, std::vector<Operand>& operands, const U32& ctas, Here at) {
  operands.push_back(r.pure(ScalarType::u16, "cvt.u16.u32", {use(r, ctas, at)}, at));
  return ".multicast::cluster";
}
std::string add_mask(Recorder&, std::vector<Operand>& operands, const WideMulticast& ctas, Here) {
  operands.push_back(*ctas.operand);
  return ctas.modifier;
}

// In this CTA, or in those whose bits are set.
// `mask`: nothing, a U32 or a WideMulticast.
template <class... Mask>
void arrive_when_done(const TensorCore& thread, const Mbarrier& b, Here at, const Mask&... mask) {
  Tcgen05Issuer t(thread);
  Recorder& r = t.recorder();
  AnyMbarrier(b).count(r, 1);
  t.before_tcgen05(at);
  std::vector<Operand> operands{address_of(r, b.address, at)};
  std::string multicast;
  ((multicast = add_mask(r, operands, mask, at)), ...);
  r.emit(cta_mnemonic("tcgen05.commit", t.group()) + ".mbarrier::arrive::one.shared::cluster" + multicast + ".b64",
         std::move(operands), at);
}

}  // namespace

void Tcgen05::mma(TensorCore& thread, const MmaCall& call, MmaOperands o, const TileShape*, Here at) {
  Tcgen05Issuer t(thread);
  Recorder& r = t.recorder();
  const isa::MmaForm& form = call.form;
  const isa::Target target = t.role().kernel->target;
  r.require(rules::cta_group_mixed(t.group(), form.group), at);
  for (isa::Feature f : isa::mma_features(form)) t.require_feature(f, at);
  if (const auto f = o.idesc.fields(); f.k96)
    r.require(rules::mma_k96(target, form.group, form.sparse, f.m), at, "K = 96 on " + isa::spelling(target));
  if (o.idesc.fields().wide)
    r.require(rules::mma_wide(target, form.kind, form.sparse), at, "K of 64 bytes on " + isa::spelling(target));
  if (form.block_scale) {
    const isa::ScalarType scale = isa::scale_format(o.idesc.fields().scale_format);
    r.require(rules::scale_format_target(target, scale), at,
              std::string(isa::spelling(scale)) + " scales for " + isa::spelling(target));
  }
  t.before_tcgen05(at);
  std::vector<Operand> operands{o.d, o.a, o.b};
  if (form.sparse && o.metadata) operands.push_back(*o.metadata);
  operands.push_back(o.idesc_register ? *o.idesc_register : Operand::bits(o.idesc.word()));
  if (o.sfa) operands.insert(operands.end(), {*o.sfa, *o.sfb});
  if (!o.lanes.empty()) operands.push_back(Operand::vector(std::move(o.lanes)));
  operands.push_back(o.enable_input_d);
  if (o.scale_input_d) operands.push_back(Operand::number(*o.scale_input_d));
  if (o.zero_mask) operands.push_back(*o.zero_mask);
  r.emit(mnemonic(form), std::move(operands), at);
}

void Tcgen05::commit(TensorCore& thread, const Mbarrier& b, Here at) { arrive_when_done(thread, b, at); }
void Tcgen05::commit(TensorCore& thread, const Mbarrier& b, const U32& ctas, Here at) {
  arrive_when_done(thread, b, at, ctas);
}
void Tcgen05::commit(TensorCore& thread, const Mbarrier& b, const WideMulticast& ctas, Here at) {
  arrive_when_done(thread, b, at, ctas);
}

// A cluster of the DSL's is one pair, ranks 0 and 1.
void Tcgen05::commit_to_all(TensorCore& thread, const Mbarrier& b, Here at) {
  if (thread.role().kernel->group == isa::CtaGroup::one) return commit(thread, b, at);
  commit(thread, b, U32(thread.recorder(), Operand::number(0b11)), at);
}

// What a warpgroup reads ----------------------------------------------------------------------------------------------

namespace {

class Reading : public Warpgroup {
 public:
  explicit Reading(const Warpgroup& g) : Warpgroup(g) {}
  using Warpgroup::load_rows;
};

}  // namespace

std::vector<Operand> Tcgen05::load_sums(Warpgroup& g, const SumsPlace& from, int registers, bool packed, Here at) {
  const U32 address = tmem_address(g.recorder(), from.base, from.first, at);
  return Reading(g).load_rows(address, {{isa::DataShape::s32x32b, registers, packed}}, at);
}

void Tcgen05::wait_for_sums(WholeWarps& w, Here at) { w.recorder().emit("tcgen05.wait::ld.sync.aligned", {}, at); }

TensorCoreTarget::Destination Tcgen05::destination(const Copies&, const SlotPart&, const U32& part,
                                                   const ExtraList& extras, Here) {
  return {part, extras};
}

}  // namespace kiln::dsl
