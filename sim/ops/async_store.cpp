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
  Place to{};
  u8 data[16] = {};
  u32 bytes = 0;
  bool signals = false;
  Barrier barrier{};
  AsyncId id = 0;
  u16 poison = 0;  // a bit for each byte
  PoisonSource source = 0;
};

void note_poison(const Context& c, Slot s, int lane, u32 at, u32 bytes, DelayedStore& x) {
  if (!c.warp->poison || !(c.warp->poison->any(s) >> lane & 1)) return;
  for (u32 k = 0; k < bytes; ++k) x.poison |= u16((c.warp->poison->bytes(s.offset)[k] >> lane & 1) << (at + k));
  x.source = c.warp->poison->source(s.offset);
}

// After the bytes were written. A reduction leaves the poison that was there.
void leave_bytes(Grid& grid, const ir::Operation* operation, const DelayedStore& x, bool combines) {
  for (u32 k = 0; k < x.bytes; ++k) {
    Place byte = x.to;
    byte.view = x.to.view.from(k), byte.address += k;
    const bool held = combines && !byte.view.all_written(1), given = (x.poison >> k & 1) != 0;
    if (!held && !given && byte.view.all_written(1)) continue;
    leave_poison(grid, operation, byte, 1,
                 given  ? x.source
                 : held ? poison_source(grid, operation, byte, 1)
                        : 0,
                 "what is stored in global memory");
  }
}

void store_later(Context& c, const Inst& i, Mask lanes) {
  const auto type = ScalarType(i.width);
  const auto how = Combine(i.mode);
  const u32 one = u32(isa::bits(type)) / 8;
  for (const int l : each_lane(lanes)) {
    DelayedStore x;
    x.bytes = one * i.count;
    const Place to = locate(c, Space(i.space), c.address(i, l), x.bytes, x.bytes, l);
    x.to = to;
    for (unsigned k = 0; k < i.count; ++k) {
      const auto words = c.read_words(c.slot(i, slot_values + k), l);
      std::memcpy(x.data + k * one, words.data(), one);
      note_poison(c, c.slot(i, slot_values + k), l, k * one, one, x);
    }
    x.signals = i.flags != 0;
    if (x.signals)
      x.barrier = barrier_at(c, Space::shared_cluster, c.value(i, slot_barrier, l) + c.value(i, slot_offset, l), l);
    x.id = x.signals ? announce(c, i, l, x.barrier) : announce(c, i, l);
    touch(c, i, l, x.id, range_of(to, x.bytes), how == Combine::none ? AccessKind::write : AccessKind::atomic,
          Proxy::generic);
    Grid* grid = c.grid;
    const ir::Operation* operation = i.operation;
    c.cluster->later(copy_least, copy_spread, operation, [=] {
      if (how == Combine::none)
        std::memcpy(x.to.view.data, x.data, x.bytes);
      else
        combine_bytes(how, type, x.to.view.data, x.data, x.bytes);
      leave_bytes(*grid, operation, x, how != Combine::none);
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
