#include "lower/pair/forwarding.hpp"

#include "lower/engine/queue.hpp"

namespace kiln::lower {
namespace {

// In a slot: an mbarrier for the copy's bytes, one for when the slot is free, the target and the bytes.
constexpr unsigned at_full = 0, at_empty = 8, at_target = 16;
SlotRing ring(const Plan& p) { return {variable::copies, p.rings.copies, copy_bytes}; }

Register take_slot(Builder& b, const Plan& p, Register target, std::uint64_t bytes) {
  const Register ticket = b.b32("mov.b32", variable::copy_ticket);
  b.op("atom.relaxed.cta.shared::cta.add.u32", ticket, at(ticket), 1);
  const Slot slot = find_slot(b, ring(p), ticket);
  b.op("xor.b32", slot.parity, slot.parity, 1);
  wait_for(b, slot.address, at_empty, slot.parity);
  const Register count = b.b32("mov.b32", bytes);
  b.op("st.shared.v2.b32", at(slot.address, at_target), vec(target, count));
  return slot.address;
}

}  // namespace

void declare_forwarding(Builder& b, const Plan& p) {
  b.shared(ScalarType::b8, 16, variable::copies, p.rings.copies * copy_bytes);
  b.shared(ScalarType::b8, 4, variable::copy_ticket, 16);  // a word, up to a multiple of 16 bytes
}

void make_forwarding(Builder& b, const Plan& p) {
  const Register copies = b.b32("mov.b32", variable::copies);
  for (std::uint32_t i = 0; i < p.rings.copies; ++i)
    for (const unsigned offset : {at_full, at_empty})
      b.op("mbarrier.init.shared::cta.b64", at(copies, i * copy_bytes + offset), 1);
  b.op("st.shared.b32", at(variable::copy_ticket), 0);
}

Register is_elsewhere(Builder& b, Register address) {
  const Register rank = b.b32("getctarank.shared::cluster.u32", address), own = b.b32("mov.u32", "%cluster_ctarank");
  return b.pred("setp.ne.u32", rank, own);
}

Register forwarded(Builder& b, const Plan& p, Register target, std::uint64_t bytes) {
  const Register slot = b.b32("mov.b32", take_slot(b, p, target, bytes));
  b.op("mbarrier.arrive.expect_tx.shared::cta.b64", "_", at(slot), bytes);
  return slot;
}

void end_forwarding(Builder& b, const Plan& p) {
  const Register none = b.b32("mov.b32", 0);
  arrive(b, b.b32("mov.b32", take_slot(b, p, none, 0)));
}

void take_copy(Builder& b, const Plan& p, Register ticket, const ForwardedCopy& copy, Register ended, unsigned last) {
  b.op("mov.b32", copy.bytes, 0);
  const Slot slot = find_slot(b, ring(p), ticket);
  b.when(test(b, slot.address, at_full, slot.parity), [&] {
    b.op("ld.shared.v2.b32", vec(copy.target, copy.bytes), at(slot.address, at_target));
    arrive(b, slot.address, at_empty);
    b.op("add.u32", ticket, ticket, 1);
    b.op_if(b.pred("setp.eq.u32", copy.bytes, 0), "or.b32", ended, ended, last);
  });
}

void forward_copy(Builder& b, const ForwardedCopy& copy) {
  b.op_if(b.pred("setp.ne.u32", copy.bytes, 0), "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64",
          at(copy.target), copy.bytes);
}

}  // namespace kiln::lower
