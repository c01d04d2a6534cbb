#include "lower/engine/queue.hpp"

#include <bit>

#include "lower/engine/home.hpp"

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

namespace {

Register take_ticket(Builder& b, const Home& home) {
  if (home.is_global()) return b.b32("atom.relaxed.cta.global.add.u32", home.word(Word::ticket), 1);
  const Register ticket = b.b32("mov.b32", variable::ticket);
  b.op("atom.relaxed.cta.shared::cta.add.u32", ticket, at(ticket), 1);
  return ticket;
}

// The slot of a ticket, and the phase in which it is empty.
Slot find_free_slot(Builder& b, const Plan& p, const Home& home, Register ticket) {
  if (!home.is_global()) {
    const Slot slot = find_slot(b, queue_ring(p), ticket);
    b.op("xor.b32", slot.parity, slot.parity, 1);
    return slot;
  }
  const Slot slot{b.reg(ScalarType::b64), b.reg(ScalarType::b32)};
  b.op("and.b32", slot.parity, ticket, p.rings.queue - 1);
  home.find_queue(slot.address);
  b.op("mad.wide.u32", slot.address, slot.parity, slot_bytes, slot.address);
  b.op("shr.u32", slot.parity, ticket, std::countr_zero(p.rings.queue));
  home.phase_of_empty(slot.parity, slot.parity);
  return slot;
}

}  // namespace

Words counted(const Plan& p, Words words) {
  if (p.is_pair) words.resize(5, 0);
  return words;
}

void push(Builder& b, const Plan& p, const Words& words) {
  b.scope([&] {
    Registers first;
    for (std::size_t i = 0; i < 4; ++i) first.push_back(b.b32("mov.b32", i < words.size() ? words[i] : Term(0)));
    Home home(b, p);
    home.find();
    const Register ticket = take_ticket(b, home);
    const Slot slot = find_free_slot(b, p, home, ticket);
    home.wait(slot.address, slot_empty, slot.parity);
    b.op(home.access("st", "v4.b32"), at(slot.address), vec(first, 0, 4));
    for (std::size_t i = 4; i < words.size(); ++i)
      b.op(home.access("st", "b32"), at(slot.address, slot_more + 4 * (i - 4)), words[i]);
    home.arrive(slot.address, slot_full);
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
