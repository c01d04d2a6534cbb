// Stores and reductions that complete later: st.async and red.async. PTX ISA "st.async", "red.async".
#include <cstring>

#include "sim/async/async.hpp"
#include "sim/core/atomics.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

// a, value: destination; more: the mbarrier's address and its offset, then the values; width: the type; mode: what to
// do with what is there; flags: there is an mbarrier.
constexpr unsigned slot_barrier = 0, slot_offset = 1, slot_values = 2;

struct DelayedStore {
  View to{};
  u8 data[16] = {};
  u32 bytes = 0;
  bool signals = false;
  Barrier barrier{};
  AsyncId id = 0;
};

void store_later(Context& c, const Inst& i, Mask lanes) {
  const auto type = ScalarType(i.width);
  const auto how = Combine(i.mode);
  const u32 one = u32(isa::bits(type)) / 8;
  for (const int l : each_lane(lanes)) {
    DelayedStore x;
    x.bytes = one * i.count;
    const Place to = locate(c, Space(i.space), c.address(i, l), x.bytes, x.bytes, l);
    x.to = to.view;
    for (unsigned k = 0; k < i.count; ++k) {
      const auto words = c.read_words(c.slot(i, slot_values + k), l);
      std::memcpy(x.data + k * one, words.data(), one);
    }
    x.signals = i.flags != 0;
    if (x.signals)
      x.barrier = barrier_at(c, Space::shared_cluster, c.value(i, slot_barrier, l) + c.value(i, slot_offset, l), l);
    x.id = x.signals ? announce(c, i, l, x.barrier) : announce(c, i, l);
    touch(c, i, l, x.id, range_of(to, x.bytes), how == Combine::none ? AccessKind::write : AccessKind::atomic,
          Proxy::generic);
    Grid* grid = c.grid;
    c.cluster->later(copy_least, copy_spread, i.operation, [=] {
      if (how == Combine::none)
        std::memcpy(x.to.data, x.data, x.bytes);
      else
        combine_bytes(how, type, x.to.data, x.data, x.bytes);
      x.to.mark(x.bytes);
      if (x.signals) deliver(x.barrier, x.bytes, x.id);
      finish(*grid, x.id);
    });
  }
}

}  // namespace

void bind_async_store(Binder& binder, const ir::Operation& op, const ops::AsyncStore& store, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  if (op.opcode == Opcode::red_async && !can_combine(m.combine, m.type())) throw Gap{"this reduction"};
  inst.flags = bool(store.mbarrier);
  binder.address(inst, store.address);
  binder.append_address(inst, store.mbarrier);
  binder.append_all(inst, store.value, m.type());
  // An mbarrier lies in shared memory of the cluster, and so does what it waits for.
  inst.space = u8(m.spaces.count == 0 && inst.flags ? Space::shared_cluster : m.space());
  inst.width = u8(m.type());
  inst.count = u8(isa::vector_width(m.vector));
  inst.mode = u8(m.combine);
  if (inst.more_count != slot_values + inst.count) throw Gap{"a vector of this length"};
  inst.run = goes_on<store_later>;
}

}  // namespace kiln::sim
