#include "lower/engine/mbarrier.hpp"

namespace kiln::lower {

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

}  // namespace kiln::lower
