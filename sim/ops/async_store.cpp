// Stores and reductions that complete later: st.async and red.async, and with multimem those into each memory behind an
// address. PTX ISA "st.async", "red.async", "multimem.st.async", "multimem.red.async".
#include <cstring>
#include <vector>

#include "sim/async/async.hpp"
#include "sim/core/atomics.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

// a, value: destination; more: the mbarrier's address and its offset, then the values; width: the type; mode: what to
// do with what is there.
enum : u8 { flag_signals = 1, flag_multimem = 2 };
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

// Does what a lane has issued, some time later.
void start_store(Context& c, const Inst& i, int l, DelayedStore x) {
  const auto type = ScalarType(i.width);
  const auto how = Combine(i.mode);
  x.id = x.signals ? announce(c, i, l, x.barrier, x.bytes) : announce(c, i, l);
  touch(c, i, l, x.id, range_of(x.to, x.bytes), how == Combine::none ? AccessKind::write : AccessKind::atomic,
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

void store_later(Context& c, const Inst& i, Mask lanes) {
  if (Space(i.space) == Space::shared_cluster) want_clusters(c, i);
  const u32 one = u32(isa::bits(ScalarType(i.width))) / 8;
  for (const int l : each_lane(lanes)) {
    DelayedStore x;
    x.bytes = one * i.count;
    for (unsigned k = 0; k < i.count; ++k) {
      const auto words = c.read_words(c.slot(i, slot_values + k), l);
      std::memcpy(x.data + k * one, words.data(), one);
      note_poison(c, c.slot(i, slot_values + k), l, k * one, one, x);
    }
    const u64 address = c.address(i, l);
    x.signals = (i.flags & flag_signals) != 0;
    if (x.signals)
      x.barrier = barrier_at(c, Space::shared_cluster, c.value(i, slot_barrier, l) + c.value(i, slot_offset, l), l);
    const std::vector<u64> places =
        i.flags & flag_multimem ? c.grid->memory.memories(address, x.bytes) : std::vector<u64>{address};
    for (const u64 place : places) {
      x.to = locate(c, Space(i.space), place, x.bytes, x.bytes, l);
      start_store(c, i, l, x);
    }
  }
}

void bind(Binder& binder, const ir::Operation& op, const ops::Operand& address, const ops::Operand& value,
          const ops::Operand& mbarrier, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  if (m.combine != Combine::none && !can_combine(m.combine, m.type())) throw Gap{"this reduction"};
  binder.address(inst, address);
  binder.append_address(inst, mbarrier);
  binder.append_all(inst, value, m.type());
  inst.width = u8(m.type());
  inst.count = u8(isa::vector_width(m.vector));
  inst.mode = u8(m.combine);
  if (inst.more_count != slot_values + inst.count) throw Gap{"a vector of this length"};
  inst.run = goes_on<store_later>;
}

}  // namespace

void bind_async_store(Binder& binder, const ir::Operation& op, const ops::AsyncStore& store, Inst& inst) {
  bind(binder, op, store.address, store.value, store.mbarrier, inst);
  inst.flags = store.mbarrier ? flag_signals : 0;
  // An mbarrier lies in shared memory of the cluster, and so does what it waits for.
  const isa::Modifiers& m = op.modifiers;
  inst.space = u8(m.spaces.count == 0 && inst.flags ? Space::shared_cluster : m.space());
}

void bind_multimem_async(Binder& binder, const ir::Operation& op, const ops::MemoryAccess& store, Inst& inst) {
  bind(binder, op, store.address, store.value, {}, inst);
  inst.flags = flag_multimem;
  inst.space = u8(Space::global);
}

}  // namespace kiln::sim
