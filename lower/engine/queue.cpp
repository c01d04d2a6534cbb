#include "lower/engine/queue.hpp"

#include <bit>

namespace kiln::lower {

void find_slot(Builder& b, const SlotRing& ring, Register ticket, const Slot& to) {
  b.op("mov.b32", to.address, ring.name);
  b.op("and.b32", to.parity, ticket, ring.slots - 1);
  b.op("mad.lo.u32", to.address, to.parity, ring.bytes, to.address);
  b.op("shr.u32", to.parity, ticket, std::countr_zero(ring.slots));
  b.op("and.b32", to.parity, to.parity, 1);
}

Slot find_slot(Builder& b, const SlotRing& ring, Register ticket) {
  const Slot out{b.reg(ScalarType::b32), b.reg(ScalarType::b32)};
  find_slot(b, ring, ticket, out);
  return out;
}

void wait_for(Builder& b, Register slot, unsigned offset, Register parity, isa::Scope scope) {
  b.loop([&] {
    return !b.pred(
        dotted({"mbarrier.try_wait.parity", scope == isa::Scope::cluster ? "acquire.cluster" : "", "shared::cta.b64"}),
        at(slot, offset), parity);
  });
}

Register test(Builder& b, Register slot, unsigned offset, Register parity, isa::Scope scope) {
  return b.pred(
      dotted({"mbarrier.test_wait.parity", scope == isa::Scope::cluster ? "acquire.cluster" : "", "shared::cta.b64"}),
      at(slot, offset), parity);
}

void arrive(Builder& b, Register address, unsigned offset) {
  b.op("mbarrier.arrive.shared::cta.b64", "_", at(address, offset));
}

void arrive_if(Builder& b, const Condition& c, Register address, unsigned offset) {
  b.op_if(c, "mbarrier.arrive.shared::cta.b64", "_", at(address, offset));
}

void arrive_in_each(Builder& b, Register mbarrier, Register mask) {
  b.loop([&] {
    const Register cta = b.b32("bfind.u32", mask), there = b.b32("mapa.shared::cluster.u32", mbarrier, cta);
    b.op("mbarrier.arrive.release.cluster.shared::cluster.b64", "_", at(there));
    b.op("shl.b32", there, 1, cta);
    b.op("xor.b32", mask, mask, there);
    return b.pred("setp.ne.u32", mask, 0);
  });
}

Words counted(const Plan& p, Words words) {
  if (p.is_pair) words.resize(5, 0);
  return words;
}

void push(Builder& b, const Plan& p, const Words& words) {
  b.scope([&] {
    Registers first;
    for (std::size_t i = 0; i < 4; ++i) first.push_back(b.b32("mov.b32", i < words.size() ? words[i] : Term(0)));
    const Register ticket = b.b32("mov.b32", variable::ticket);
    b.op("atom.relaxed.cta.shared::cta.add.u32", ticket, at(ticket), 1);
    const Slot slot = find_slot(b, queue_ring(p), ticket);
    b.op("xor.b32", slot.parity, slot.parity, 1);
    wait_for(b, slot.address, slot_empty, slot.parity);
    b.op("st.shared.v4.b32", at(slot.address), vec(first, 0, 4));
    for (std::size_t i = 4; i < words.size(); ++i)
      b.op("st.shared.b32", at(slot.address, slot_more + 4 * (i - 4)), words[i]);
    arrive(b, slot.address, slot_full);
  });
}

Register find_peer(Builder& b) {
  const Register out = b.b32("mov.u32", "%cluster_ctarank");
  b.op("xor.b32", out, out, 1);
  return out;
}

void meet_in_cluster(Builder& b) {
  meet_in_warp(b);
  b.op("barrier.cluster.arrive.release.aligned");
  b.op("barrier.cluster.wait.acquire.aligned");
}

}  // namespace kiln::lower
