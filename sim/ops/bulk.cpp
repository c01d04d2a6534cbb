// Asynchronous bulk copies and their groups. PTX ISA "cp.async.bulk", "cp.reduce.async.bulk".
//
// What is wrong with a copy is found when it is issued. Its reads and writes happen at a seeded later time, so a source
// that is overwritten too early or a destination that is read too early shows in the data.
#include <bit>
#include <cstring>

#include "ptx/rules/memory.hpp"
#include "ptx/rules/tma.hpp"
#include "sim/async/async.hpp"
#include "sim/core/atomics.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

// more: destination, source, size, mbarrier, the offsets of the three addresses, CTA mask, byte mask, bytes to ignore
// before and after.
constexpr unsigned slot_to = 0, slot_from = 1, slot_size = 2, slot_signal = 3, slot_offsets = 4, slot_ctas = 7,
                   slot_bytes = 8, slot_before = 9, slot_after = 10;
enum : u8 { flag_grouped = 1, flag_multicast = 2, flag_masked = 4, flag_replicated = 8 };

constexpr u32 mask_bytes = 16, whole_mask = 0xFFFF;  // .cp_mask says which bytes of each 16 are copied

// What one thread copies, as it will be done later. Of a multicast one destination.
struct PlainCopy {
  Place to{}, from{};
  u32 bytes = 0;
  u32 before = 0, after = 0;  // bytes of the destination that nothing is copied to: what they then hold is not known
  u32 mask = whole_mask;
  std::shared_ptr<BulkGroup> group{};  // or
  Barrier barrier{};
  AsyncId id = 0;
};

// What was read: `written` is empty where all of it was written.
struct CopiedBytes {
  std::vector<u8> bytes{}, written{};
  PoisonSource source = 0;
};

constexpr std::string_view by_bulk_copy = "what a bulk copy writes to global memory";

// Bytes that a reduction adds to must hold something as well.
void combine_copy(Grid& grid, const ir::Operation& operation, const PlainCopy& x, const CopiedBytes& from) {
  const isa::Modifiers& m = operation.modifiers;
  const PoisonSource left =
      !x.to.view.all_written(x.bytes) ? poison_source(grid, &operation, x.to, x.bytes) : from.source;
  combine_bytes(m.combine, m.type(), x.to.view.data, from.bytes.data(), x.bytes);
  leave_poison(grid, &operation, x.to, x.bytes, left, by_bulk_copy);
}

void write_copy(Grid& grid, const ir::Operation& operation, const PlainCopy& x, const CopiedBytes& from) {
  if (operation.modifiers.combine != Combine::none) return combine_copy(grid, operation, x, from);
  if (x.mask == whole_mask && !from.source) {
    std::memcpy(x.to.view.data, from.bytes.data(), x.bytes);
    return x.to.view.mark(x.bytes);
  }
  for (u32 at = 0; at < x.bytes; ++at)
    if (x.mask >> at % mask_bytes & 1) {
      x.to.view.data[at] = from.bytes[at];
      Place byte = x.to;
      byte.view = x.to.view.from(at);
      leave_poison(grid, &operation, byte, 1, from.source && !from.written[at] ? from.source : 0, by_bulk_copy);
    }
}

// What is not copied may be poison, and counts as written.
CopiedBytes read_copy(Grid& grid, const ir::Operation* operation, const PlainCopy& x) {
  CopiedBytes out{{x.from.view.data, x.from.view.data + x.bytes}, {}, 0};
  if (x.from.view.all_written(x.bytes)) return out;
  out.written.assign(x.from.view.written, x.from.view.written + x.bytes);
  for (u32 at = 0; at < x.bytes; ++at)
    if (!(x.mask >> at % mask_bytes & 1)) out.written[at] = 1;
  if (std::memchr(out.written.data(), 0, x.bytes)) out.source = poison_source(grid, operation, x.from, x.bytes);
  return out;
}

void leave_ends(const PlainCopy& x) {
  if (x.before) x.to.owner->shared.poison(u32(x.to.address) - x.before, x.before);
  if (x.after) x.to.owner->shared.poison(u32(x.to.address) + x.bytes, x.after);
}

void start_copy(Cluster& cluster, const ir::Operation* operation, const PlainCopy& x) {
  Cluster* self = &cluster;
  cluster.later(copy_least, copy_spread, operation, [=] {
    const auto data = std::make_shared<CopiedBytes>(read_copy(self->grid, operation, x));
    if (x.group) close_read(*self, *x.group);
    self->later(1, copy_spread, operation, [=] {
      write_copy(self->grid, *operation, x, *data);
      leave_ends(x);
      finish(self->grid, x.id);
      if (x.group)
        close_write(*self, *x.group);
      else
        deliver(x.barrier, x.before + x.bytes + x.after, x.id);
    });
  });
}

// What travels, for observers that draw it.
void describe_copy(Context& c, const PlainCopy& x, u32 ctas) {
  if (!c.grid->observer) return;
  const u64 global = x.to.space == Space::global ? x.to.address : x.from.space == Space::global ? x.from.address : 0;
  const Barrier& b = x.barrier;
  c.grid->observer->transfer(x.id, {.bytes = x.bytes,
                                    .global = global,
                                    .signals = b.cta != nullptr,
                                    .mbarrier_cta = b.cta ? b.cta->index : 0,
                                    .mbarrier = b.address,
                                    .ctas = ctas});
}

// To one of `ctas` destinations.
void issue_copy(Context& c, const Inst& i, int l, PlainCopy x, u32 ctas = 1) {
  x.id = x.group ? announce(c, i, l) : announce(c, i, l, x.barrier, x.before + x.bytes + x.after);
  describe_copy(c, x, ctas);
  const bool combines = i.operation->modifiers.combine != Combine::none;
  touch(c, i, l, x.id, range_of(x.from, x.bytes), AccessKind::read);
  touch(c, i, l, x.id, range_of(x.to, x.bytes), combines ? AccessKind::atomic : AccessKind::write);
  c.grid->statistics.tma_bytes += x.bytes;
  start_copy(*c.cluster, i.operation, x);
}

// The same offset and the same mbarrier offset in every CTA of the mask.
void issue_multicast(Context& c, const Inst& i, int l, const PlainCopy& x) {
  const u32 mask = cta_mask(*i.operation, c.value(i, slot_ctas, l));
  check_cta_mask(c, mask);
  for (Cta& cta : c.cluster->ctas) {
    if (!(mask >> cta.rank & 1)) continue;
    PlainCopy one = x;
    one.to = {cta.shared.view(x.to.address), Space::shared_cta, &cta, x.to.address};
    one.barrier = {&cta, x.barrier.address};
    issue_copy(c, i, l, one, u32(std::popcount(mask)));
  }
}

// .ignore_oob: bytes at the ends of the source that are not read.
void leave_out_ends(Context& c, const Inst& i, int l, PlainCopy& x, u64& from) {
  x.before = u32(c.value(i, slot_before, l)), x.after = u32(c.value(i, slot_after, l));
  require(rules::memory_alignment(from, 16), "address {:#x}, not a multiple of {}", from, 16);
  if (x.before + x.after >= x.bytes) unmodelled("a copy that ignores all of its bytes");
  x.bytes -= x.before + x.after;
  from += x.before;
}

Place moved(Place p, u32 bytes) {
  p.view = p.view.from(bytes);
  p.address += bytes;
  return p;
}

void bulk_copy(Context& c, const Inst& i, Mask lanes) {
  const auto to_space = Space(i.space), from_space = Space(i.mode);
  const bool combines = i.operation->modifiers.combine != Combine::none;  // a reduction was not measured
  if (to_space == Space::shared_cluster && from_space == Space::shared_cta && !combines) want_clusters(c, i);
  const auto address = [&](unsigned slot, unsigned k, int l) {
    return c.value(i, slot, l) + c.value(i, slot_offsets + k, l);
  };
  for (const int l : each_lane(lanes)) {
    PlainCopy x;
    x.bytes = u32(c.value(i, slot_size, l));
    require(rules::bulk_size(x.bytes));
    const u64 to = address(slot_to, 0, l);
    u64 from = address(slot_from, 1, l);
    const std::vector<u64> memories =
        i.flags & flag_replicated ? c.grid->memory.memories(to, x.bytes) : std::vector<u64>{};
    if (!(i.flags & flag_replicated)) x.to = locate(c, to_space, to, x.bytes, 16, l);
    if (i.operation->modifiers.ignore_oob) leave_out_ends(c, i, l, x, from);
    if (x.before) x.to = moved(x.to, x.before);
    x.from = locate(c, from_space, from, x.bytes, x.before ? 1 : 16, l);
    if (i.flags & flag_masked) x.mask = u32(c.value(i, slot_bytes, l)) & 0xFFFF;
    for (const u64 one : memories) {
      x.to = locate(c, to_space, one, x.bytes, 16, l);
      x.group = open_bulk_group(c, l);
      issue_copy(c, i, l, x);
    }
    if (i.flags & flag_replicated) continue;
    if (i.flags & flag_grouped)
      x.group = open_bulk_group(c, l);
    else
      x.barrier = barrier_at(c, Space::shared_cluster, address(slot_signal, 2, l), l);
    if (i.flags & flag_multicast)
      issue_multicast(c, i, l, x);
    else
      issue_copy(c, i, l, x);
  }
}

void commit_group(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) c.cta->bulk[c.thread(l)].commit();
  observe(c, i, lanes, SyncKind::bulk_commit, 0);
}

// value: how many of the most recent groups may still be in flight; flags: .read.
Status wait_group(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const auto& committed = c.cta->bulk[c.thread(l)].committed;
    const std::size_t n = committed.size(), keep = std::size_t(i.value);
    for (std::size_t k = 0; k + keep < n; ++k)
      if ((i.flags ? committed[k]->reads_left : committed[k]->writes_left) != 0)
        return c.block({.kind = WaitKind::bulk_group, .address = keep});
  }
  observe(c, i, lanes, i.flags ? SyncKind::bulk_wait_read : SyncKind::bulk_wait, u64(i.value));
  return Status::next;
}

}  // namespace

void bind_bulk_copy(Binder& binder, const ir::Operation& op, const ops::BulkCopy& copy, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  if (m.combine != Combine::none && !can_combine(m.combine, m.type())) throw Gap{"this reduction"};
  const auto to = binder.address(copy.to), from = binder.address(copy.from);
  const auto barrier = binder.address_or_none(copy.mbarrier);
  binder.append(inst, to.first);
  binder.append(inst, from.first);
  binder.append(inst, binder.any_width(copy.bytes, ScalarType::u32));
  binder.append(inst, barrier.first);
  for (const std::int64_t offset : {to.second, from.second, barrier.second})
    binder.append(inst, binder.constant(u64(offset), 8));
  const auto mask = [&](const ops::Operand& o) {
    return o ? binder.any_width(o, ScalarType::u32) : binder.constant(0, 4);
  };
  binder.append(inst, mask(copy.ctas));
  binder.append(inst, mask(copy.byte_mask));
  if (m.ignore_oob) binder.append(inst, mask(copy.ignored_before)), binder.append(inst, mask(copy.ignored_after));
  inst.space = u8(m.spaces[0]);
  inst.mode = u8(m.spaces[1]);
  inst.flags =
      u8((copy.mbarrier ? 0 : flag_grouped) | (copy.ctas ? flag_multicast : 0) | (copy.byte_mask ? flag_masked : 0));
  inst.run = goes_on<bulk_copy>;
}

// The same copy into each memory behind a multimem address.
void bind_multimem_copy(Binder& binder, const ir::Operation& op, const ops::BulkCopy& copy, Inst& inst) {
  bind_bulk_copy(binder, op, copy, inst);
  inst.flags |= flag_replicated;
}

void bind_bulk_priority(Binder&, const ir::Operation&, const ops::Unread&, Inst& inst) { inst.run = nothing; }

void bind_bulk_prefetch(Binder&, const ir::Operation&, const ops::BulkCopy&, Inst& inst) { inst.run = nothing; }

void bind_bulk_group(Binder&, const ir::Operation& op, const ops::Count& n, Inst& inst) {
  if (n.count && n.count->kind != ir::Argument::Kind::immediate) throw Gap{"a group count that is not a number"};
  inst.value = n.count->value;
  inst.flags = op.modifiers.read;
  inst.run = n.count ? wait_group : goes_on<commit_group>;
}

}  // namespace kiln::sim
