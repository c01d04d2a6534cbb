// Loads, stores, prefetches and fences. PTX ISA "ld", "st", "prefetch", "fence", "membar".
#include <cstring>

#include "ptx/rules/memory.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/core/polling.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

enum : u8 { flag_signed = 1 };

// One element of `width` bytes between memory and a register.
template <int width>
void load_element(Context& c, Slot to, int lane, const u8* from, bool is_signed) {
  if constexpr (width == 16) {
    auto* words = c.lanes<u64>(to.offset);
    std::memcpy(words + lane, from, 8);
    std::memcpy(words + warp_lanes + lane, from + 8, 8);
  } else {
    using U = std::conditional_t<width == 1, u8,
                                 std::conditional_t<width == 2, u16, std::conditional_t<width == 4, u32, u64>>>;
    U v;
    std::memcpy(&v, from, width);
    c.write(to, lane, is_signed ? u64(std::int64_t(std::make_signed_t<U>(v))) : u64(v));
  }
}

template <int width>
void store_element(Context& c, Slot s, int lane, u8* to) {
  if constexpr (width == 16) {
    const auto* words = c.lanes<u64>(s.offset);
    std::memcpy(to, words + lane, 8);
    std::memcpy(to + 8, words + warp_lanes + lane, 8);
  } else {
    const u64 v = c.read(s, lane);
    std::memcpy(to, &v, width);
  }
}

// The common cases without a call, where no observer watches: own shared memory, and the buffer of the access before.
inline bool nearby(const Context& c, Space space, u64 address, u32 bytes, View& view) {
  if (address & (bytes - 1)) return false;
  if (space == Space::global) return c.grid->memory.again(address, bytes, view);
  if (!isa::is_shared(space)) return false;
  const u32 offset = u32(address) - (c.cta->rank << cluster_rank_shift);
  const auto size = u32(c.cta->shared.size());
  if (offset < reserved_shared_bytes || offset >= size || size - offset < bytes) return false;
  view = c.cta->shared.view(offset);
  return true;
}

// What races is poison in these lanes.
void load_racing(Context& c, const Inst& i, Mask lanes) {
  lanes &=
      c.grid->racing->lanes({c.grid->number, c.grid->program.code->index(*i.operation), c.cta->index, c.warp->index});
  if (!lanes) return;
  RegisterPoison& poison = poison_of(c);
  for (unsigned k = 0; k < i.more_count; ++k) {
    poison.set(c.slot(i, k), lanes, lanes);
    poison.source(c.slot(i, k).offset) = c.grid->poison.read(i.operation, [] { return std::string("what races"); });
  }
}

template <int width>
void load_memory(Context& c, const Inst& i, Mask lanes) {
  const u32 bytes = u32(width) * i.more_count;
  const auto space = Space(i.space);
  const bool is_signed = (i.flags & flag_signed) != 0;
  const Slot* slots = &c.slot(i, 0);
  for (const int l : each_lane(lanes)) {
    const u64 address = c.address(i, l);
    View view;
    if (c.grid->observer || !nearby(c, space, address, bytes, view) || !view.all_written(bytes)) {
      const Place p = locate(c, space, address, bytes, bytes, l);
      observe(c, i, l, p, bytes, AccessKind::read);
      view = p.view;
      if (!view.all_written(bytes))
        for (unsigned k = 0; k < i.more_count; ++k) load_poison(c, i, l, p, k * width, width, slots[k], is_signed);
    }
    for (unsigned k = 0; k < i.more_count; ++k) load_element<width>(c, slots[k], l, view.data + k * width, is_signed);
  }
  if (c.grid->racing) load_racing(c, i, lanes);
}

// Whether the store changes nothing: compilers let several threads store one value that all of them have.
template <int width>
AccessKind kind_of_store(Context& c, const Inst& i, int lane, View to) {
  u8 bytes[width * 8];  // .v8 has the most elements
  const u32 size = u32(width) * i.more_count;
  if (size > sizeof bytes || !to.all_written(size)) return AccessKind::write;
  const Slot* slots = &c.slot(i, 0);
  for (unsigned k = 0; k < i.more_count; ++k) store_element<width>(c, slots[k], lane, bytes + k * width);
  return kind_of_write(to, bytes, size);
}

template <int width>
void store_poison_of(Context& c, const Inst& i, Mask lanes) {
  const u32 bytes = u32(width) * i.more_count;
  for (const int l : each_lane(lanes)) {
    const Place p = locate(c, Space(i.space), c.address(i, l), bytes, bytes, l);
    for (unsigned k = 0; k < i.more_count; ++k) store_poison(c, i, l, p, k * width, width, c.slot(i, k));
  }
}

template <int width>
void store_memory(Context& c, const Inst& i, Mask lanes) {
  const u32 bytes = u32(width) * i.more_count;
  const auto space = Space(i.space);
  const Slot* slots = &c.slot(i, 0);
  for (const int l : each_lane(lanes)) {
    const u64 address = c.address(i, l);
    View view;
    if (c.grid->observer || !nearby(c, space, address, bytes, view)) {
      const Place p = locate(c, space, address, bytes, bytes, l);
      require(rules::param_read_only(p.space == Space::param), "a store to their offset {}", p.address);
      if (c.grid->observer) observe(c, i, l, p, bytes, kind_of_store<width>(c, i, l, p.view));
      view = p.view;
    }
    for (unsigned k = 0; k < i.more_count; ++k) store_element<width>(c, slots[k], l, view.data + k * width);
    view.mark(bytes);
  }
  if (c.warp->poison) store_poison_of<width>(c, i, lanes);
  ++c.cluster->writes;
}

// A load of what others may change at any time: a loop around it may be waiting.
template <int width>
void polling_load(Context& c, const Inst& i, Mask lanes) {
  load_memory<width>(c, i, lanes);
  note_poll(c, i, lanes);
}

enum class MoveKind : u8 { load, polling_load, store };

template <int width>
Handler handler_of(MoveKind kind) {
  return kind == MoveKind::load    ? goes_on<load_memory<width>>
         : kind == MoveKind::store ? goes_on<store_memory<width>>
                                   : goes_on<polling_load<width>>;
}

Handler of_width(MoveKind kind, int width) {
  switch (width) {
    case 1: return handler_of<1>(kind);
    case 2: return handler_of<2>(kind);
    case 4: return handler_of<4>(kind);
    case 8: return handler_of<8>(kind);
    case 16: return handler_of<16>(kind);
    default: return nullptr;
  }
}

void bind_access(Binder& binder, const ir::Operation& op, const ops::MemoryAccess& access, Inst& inst, bool loads) {
  const ScalarType t = op.modifiers.type();
  binder.access(inst, op, access.address);
  inst.width = u8((isa::bits(t) + 7) / 8);
  if (loads && access.value->kind == ir::Argument::Kind::sink)
    binder.append(inst, binder.scratch(register_bytes(t)));
  else
    binder.append_all(inst, access.value, t);
}

// Fences move no data here: memory is one copy. A detector learns of them.
void fence(Context& c, const Inst& i, Mask lanes) { observe(c, i, lanes, SyncKind(i.mode), 0); }

void check_address(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) locate(c, Space(i.space), c.address(i, l), 1, 1, l);
}

// Lanes may have parts of their bytes in common: tells of bytes that become zero and of those that are zero apart.
void observe_zeros(Context& c, const Inst& i, int lane, const Place& p, u32 bytes) {
  constexpr u64 zero = 0;
  constexpr u32 unit = sizeof zero;  // sizes and addresses are multiples of it
  const auto kind_at = [&](u32 at) { return kind_of_write(p.view.from(at), &zero, unit); };
  for (u32 at = 0, end; at < bytes; at = end) {
    const AccessKind kind = kind_at(at);
    for (end = at + unit; end < bytes && kind_at(end) == kind;) end += unit;
    Place part = p;
    part.address += at;
    tell_access(c, i, lane, part, end - at, kind);
  }
}

// st.bulk writes zeros. more[0]: the size.
void store_bulk(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const auto bytes = u32(c.value(i, 0, l));
    if (bytes == 0) continue;
    const Place p = locate_shared(c, Space(i.space), c.address(i, l), bytes, 8, l);
    if (c.grid->observer) observe_zeros(c, i, l, p, bytes);
    std::memset(p.view.data, 0, bytes);
    p.view.mark(bytes);
  }
  ++c.cluster->writes;
}

}  // namespace

void bind_load(Binder& binder, const ir::Operation& op, const ops::MemoryAccess& access, Inst& inst) {
  bind_access(binder, op, access, inst, true);
  inst.flags = isa::is_signed(op.modifiers.type()) ? flag_signed : 0;
  inst.run = of_width(is_strong(op) ? MoveKind::polling_load : MoveKind::load, inst.width);
}

void bind_store(Binder& binder, const ir::Operation& op, const ops::MemoryAccess& access, Inst& inst) {
  bind_access(binder, op, access, inst, false);
  inst.run = of_width(MoveKind::store, inst.width);
}

void bind_bulk_store(Binder& binder, const ir::Operation& op, const ops::BulkStore& store, Inst& inst) {
  binder.access(inst, op, store.address);
  binder.append(inst, binder.any_width(store.bytes, ScalarType::u64));
  inst.run = goes_on<store_bulk>;
}

// A policy is a hint: its bits stay what they were.
void bind_cache_policy(Binder& binder, const ir::Operation&, const ops::CachePolicy& p, Inst& inst) {
  inst.d = binder.result(p.policy, ScalarType::b64).offset;
  inst.run = nothing;
}

void bind_fence(Binder&, const ir::Operation& op, const ops::Fence&, Inst& inst) {
  const bool proxy = op.opcode == Opcode::fence_proxy || op.opcode == Opcode::membar_proxy;
  inst.mode = u8(proxy                                      ? SyncKind::fence_proxy
                 : op.opcode == Opcode::fence_mbarrier_init ? SyncKind::fence_mbarrier_init
                                                            : SyncKind::fence);
  inst.run = goes_on<fence>;
}

void bind_cache_line(Binder& binder, const ir::Operation& op, const ops::CacheLine& line, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  inst.run = nothing;
  const bool prefetches = op.opcode == Opcode::prefetch || op.opcode == Opcode::prefetchu;
  if (!prefetches || m.spaces.count == 0 || m.space() == Space::param) return;
  binder.access(inst, op, line.address);
  inst.run = goes_on<check_address>;
}

}  // namespace kiln::sim
