// Loads, stores, prefetches and fences. PTX ISA "ld", "st", "prefetch", "fence", "membar".
#include <cstring>

#include "ptx/rules/memory.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/core/polling.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;
using isa::ScalarType;
using isa::Space;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

enum : std::uint8_t { flag_signed = 1 };

// One element of `width` bytes between memory and a register.
template <int width>
void load_element(Context& c, Slot to, int lane, const std::uint8_t* from, bool is_signed) {
  if constexpr (width == 16) {
    auto* words = c.lanes<u64>(to.offset);
    std::memcpy(words + lane, from, 8);
    std::memcpy(words + warp_lanes + lane, from + 8, 8);
  } else {
    using U =
        std::conditional_t<width == 1, std::uint8_t,
                           std::conditional_t<width == 2, std::uint16_t, std::conditional_t<width == 4, u32, u64>>>;
    U v;
    std::memcpy(&v, from, width);
    c.write(to, lane, is_signed ? u64(std::int64_t(std::make_signed_t<U>(v))) : u64(v));
  }
}

template <int width>
void store_element(Context& c, Slot s, int lane, std::uint8_t* to) {
  if constexpr (width == 16) {
    const auto* words = c.lanes<u64>(s.offset);
    std::memcpy(to, words + lane, 8);
    std::memcpy(to + 8, words + warp_lanes + lane, 8);
  } else {
    const u64 v = c.read(s, lane);
    std::memcpy(to, &v, width);
  }
}

// The common cases without a call: own shared memory, and the buffer of the access before. Nobody may be watching.
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

template <int width>
Status load(Context& c, const Inst& i, Mask lanes) {
  const u32 bytes = u32(width) * i.more_count;
  const auto space = Space(i.space);
  const bool is_signed = (i.flags & flag_signed) != 0;
  const Slot* slots = &c.slot(i, 0);
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    const u64 address = c.address(i, l);
    View view;
    if (c.grid->observer || !nearby(c, space, address, bytes, view) || !view.all_written(bytes)) {
      const Place p = locate(c, space, address, bytes, bytes, l);
      check_written(*c.grid, i.operation, p, bytes);
      observe(c, i, l, p, bytes, AccessKind::read);
      view = p.view;
    }
    for (unsigned k = 0; k < i.more_count; ++k) load_element<width>(c, slots[k], l, view.data + k * width, is_signed);
  }
  return Status::next;
}

// Whether the store changes nothing: compilers let several threads store one value that all of them have.
template <int width>
AccessKind kind_of_store(Context& c, const Inst& i, int lane, View to) {
  std::uint8_t bytes[width * 8];  // .v8 has the most elements
  const u32 size = u32(width) * i.more_count;
  if (size > sizeof bytes || !to.all_written(size)) return AccessKind::write;
  const Slot* slots = &c.slot(i, 0);
  for (unsigned k = 0; k < i.more_count; ++k) store_element<width>(c, slots[k], lane, bytes + k * width);
  return std::memcmp(bytes, to.data, size) == 0 ? AccessKind::rewrite : AccessKind::write;
}

template <int width>
Status store(Context& c, const Inst& i, Mask lanes) {
  const u32 bytes = u32(width) * i.more_count;
  const auto space = Space(i.space);
  const Slot* slots = &c.slot(i, 0);
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
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
  ++c.cluster->writes;
  return Status::next;
}

// A load of what others may change at any time: a loop around it may be waiting.
template <int width>
Status polling_load(Context& c, const Inst& i, Mask lanes) {
  const Status s = load<width>(c, i, lanes);
  note_poll(c, i, lanes);
  return s;
}

Handler polling(int width) {
  switch (width) {
    case 1: return polling_load<1>;
    case 2: return polling_load<2>;
    case 4: return polling_load<4>;
    case 8: return polling_load<8>;
    case 16: return polling_load<16>;
    default: return nullptr;
  }
}

template <bool loads>
Handler of_width(int width) {
  switch (width) {
    case 1: return loads ? load<1> : store<1>;
    case 2: return loads ? load<2> : store<2>;
    case 4: return loads ? load<4> : store<4>;
    case 8: return loads ? load<8> : store<8>;
    case 16: return loads ? load<16> : store<16>;
    default: return nullptr;
  }
}

bool bind_access(Binder& l, const ir::Operation& op, Inst& inst, bool loads) {
  const isa::Modifiers& m = op.modifiers;
  const ScalarType t = m.type();
  const ir::Argument& address = op.arg(loads ? 1 : 0);
  const ir::Argument& value = op.arg(loads ? 0 : 1);
  l.address(inst, address);
  inst.space = std::uint8_t(m.space());
  inst.flags = loads && isa::is_signed(t) ? flag_signed : 0;
  inst.width = std::uint8_t((isa::bits(t) + 7) / 8);
  if (loads && value.kind == ir::Argument::Kind::sink)
    l.append(inst, l.scratch(register_bytes(t)));
  else
    l.append_all(inst, value, t);
  inst.run = loads ? of_width<true>(inst.width) : of_width<false>(inst.width);
  if (loads && is_strong(op)) inst.run = polling(inst.width);
  return true;
}

Status nothing(Context&, const Inst&, Mask) { return Status::next; }

// Fences move no data here: memory is one copy. A detector learns of them.
Status fence(Context& c, const Inst& i, Mask lanes) {
  observe(c, i, lanes, Sync{SyncKind(i.mode), c.cta->index, 0, 0, 0});
  return Status::next;
}

Status check_address(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) locate(c, Space(i.space), c.address(i, first_lane(m)), 1, 1, first_lane(m));
  return Status::next;
}

// st.bulk writes zeros. more[0]: the size.
Status store_bulk(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    const auto bytes = u32(c.read(c.slot(i, 0), l));
    if (bytes == 0) continue;
    const Place p = locate_shared(c, Space(i.space), c.address(i, l), bytes, 8, l);
    observe(c, i, l, p, bytes, AccessKind::write);
    std::memset(p.view.data, 0, bytes);
    p.view.mark(bytes);
  }
  ++c.cluster->writes;
  return Status::next;
}

bool bind_fence(Inst& inst, SyncKind kind) {
  inst.mode = std::uint8_t(kind);
  inst.run = fence;
  return true;
}

bool bind_policy(Binder& l, const ir::Operation& op, Inst& inst) {
  inst.d = l.result(op.arg(0), ScalarType::b64).offset;  // the policy is a hint: its bits stay what they were
  inst.run = nothing;
  return true;
}

}  // namespace

bool bind_memory(Binder& l, const ir::Operation& op, Inst& inst) {
  switch (op.opcode) {
    case Opcode::ld:
    case Opcode::ldu: return bind_access(l, op, inst, true);
    case Opcode::st: return bind_access(l, op, inst, false);
    case Opcode::st_bulk:
      l.address(inst, op.arg(0));
      inst.space = std::uint8_t(op.modifiers.space());
      l.append(inst, l.any_width(op.arg(1), ScalarType::u64));
      inst.run = store_bulk;
      return true;
    case Opcode::createpolicy: return bind_policy(l, op, inst);
    case Opcode::fence:
    case Opcode::membar: return bind_fence(inst, SyncKind::fence);
    case Opcode::fence_proxy:
    case Opcode::membar_proxy: return bind_fence(inst, SyncKind::fence_proxy);
    case Opcode::fence_mbarrier_init: return bind_fence(inst, SyncKind::fence_mbarrier_init);
    case Opcode::prefetch:
    case Opcode::prefetchu:
      if (op.modifiers.spaces.count == 0 || op.modifiers.space() == Space::param) {
        inst.run = nothing;
        return true;
      }
      l.address(inst, op.arg(0));
      inst.space = std::uint8_t(op.modifiers.space());
      inst.run = check_address;
      return true;
    case Opcode::discard:
    case Opcode::applypriority: inst.run = nothing; return true;
    default: return false;
  }
}

}  // namespace kiln::sim
