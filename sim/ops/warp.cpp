// Instructions that look across a warp. PTX ISA "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync",
// "activemask", "bar.warp.sync". Each waits for the lanes of its member mask.

#include "ptx/rules/execution.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/float_value.hpp"

namespace kiln::sim {
namespace {

void check_members(Mask mask, Mask lanes) {
  const rules::Verdict v = rules::warp_member_mask(mask, lanes);
  require(v, "lane {} and the mask {:#x}", v.given, mask);
}

// The handler of an instruction that the lanes of its member mask, the last of `more`, execute together: waits until
// they are here; faults when an executing lane is not among them.
template <void (*execute)(Context&, const Inst&, Mask)>
Status by_members(Context& c, const Inst& i, Mask lanes) {
  const auto mask = Mask(c.value(i, i.more_count - 1u, first_lane(lanes)));
  check_members(mask, lanes);
  if (!converged(c, lanes, mask)) return Status::blocked;
  observe(c, i, lanes, SyncKind::warp_wait, mask);
  execute(c, i, lanes);
  return Status::next;
}

// What all lanes of an exchange get is poison if what some lane gave is.
Mask poison_for_all(const Context& c, Slot from, Mask lanes) {
  return c.warp->poison && c.warp->poison->any(from) & lanes ? lanes : 0;
}
void set_poison_of(Context& c, u32 result, u8 bytes, Mask lanes, Mask poison, Slot from) {
  if (!c.warp->poison) return;
  c.warp->poison->set({result, bytes, false}, lanes, poison);
  if (poison) c.warp->poison->source(result) = c.warp->poison->source(from.offset);
}

// d: lane, b: predicate. The lowest lane wins; PTX leaves the choice open.
void elect(Context& c, const Inst& i, Mask lanes) {
  const int leader = first_lane(lanes);
  fill_lanes(c, i.d, lanes, u32(leader));
  c.write_mask(i.b, lanes, 1u << leader);
  set_poison_of(c, i.d, 4, lanes, 0, {});
  set_poison_of(c, i.b, 0, lanes, 0, {});
}

// A lane that is not poison may settle the answer alone.
bool is_settled(isa::VoteMode mode, Mask p, Mask lanes, Mask poison) {
  if (mode == isa::VoteMode::any) return (p & ~poison) != 0;
  if (mode == isa::VoteMode::all) return (~p & lanes & ~poison) != 0;
  return mode != isa::VoteMode::ballot && (p & ~poison) != 0 && (~p & lanes & ~poison) != 0;
}

// more: source predicate, member mask.
void vote(Context& c, const Inst& i, Mask lanes) {
  const Mask p = c.read_mask(c.slot(i, 0)) & lanes;
  const auto mode = isa::VoteMode(i.mode);
  Mask poison = poison_for_all(c, c.slot(i, 0), lanes);
  if (poison && is_settled(mode, p, lanes, c.warp->poison->any(c.slot(i, 0)))) poison = 0;
  set_poison_of(c, i.d, mode == isa::VoteMode::ballot ? 4 : 0, lanes, poison, c.slot(i, 0));
  switch (mode) {
    case isa::VoteMode::ballot: fill_lanes(c, i.d, lanes, p); break;
    case isa::VoteMode::all: c.write_mask(i.d, lanes, p == lanes ? all_lanes : 0); break;
    case isa::VoteMode::any: c.write_mask(i.d, lanes, p ? all_lanes : 0); break;
    default: c.write_mask(i.d, lanes, p == lanes || p == 0 ? all_lanes : 0); break;  // uni
  }
}

int shuffle_source(isa::ShuffleMode mode, int lane, int b, int clamp, int segment, bool& inside) {
  const int b5 = b & 31, lowest = lane & segment, highest = (lane & segment) | (clamp & ~segment & 31);
  int from = lane;
  switch (mode) {
    case isa::ShuffleMode::up: from = lane - b5; break;
    case isa::ShuffleMode::down: from = lane + b5; break;
    case isa::ShuffleMode::bfly: from = lane ^ b5; break;
    default: from = lowest | (b5 & ~segment & 31); break;
  }
  inside = mode == isa::ShuffleMode::up ? from >= highest : from <= highest;
  return inside ? from : lane;
}

// The source is that of the lane that is read; lane numbers that are poison make both results so.
void spread_shuffle(Context& c, const Inst& i, Mask lanes, const int* from) {
  RegisterPoison& poison = *c.warp->poison;
  const Mask chosen = (poison.any(c.slot(i, 0)) | poison.any(c.slot(i, 1))) & lanes;
  const Slot which = poison.any(c.slot(i, 0)) ? c.slot(i, 0) : c.slot(i, 1);
  const PoisonSource source = chosen ? poison.source(which.offset) : poison.source(i.a);
  const Mask* a = poison.bytes(i.a);
  Mask* d = poison.bytes(i.d);
  for (int b = 0; b < 4; ++b) {
    const Mask m = chosen | lanes_where(lanes, [&](int l) { return a[b] >> from[l] & 1; });
    d[b] = (d[b] & ~lanes) | m;
    if (m) poison.source(i.d) = source;
  }
  poison.set({i.c, 0, false}, lanes, chosen);
  if (chosen) poison.source(i.c) = source;
}

// more: b, c, member mask; d result, a value, c: predicate result.
void shuffle(Context& c, const Inst& i, Mask lanes) {
  u32 out[warp_lanes];
  int source[warp_lanes];
  Mask p = 0;
  const auto* a = c.lanes<u32>(i.a);
  for (const int l : each_lane(lanes)) {
    const auto control = u32(c.value(i, 1, l));
    bool inside = false;
    const int from = shuffle_source(isa::ShuffleMode(i.mode), l, int(c.value(i, 0, l)), int(control & 31),
                                    int(control >> 8 & 31), inside);
    out[l] = a[from];
    source[l] = from;
    p |= Mask(inside) << l;
  }
  auto* d = c.lanes<u32>(i.d);
  for (const int l : each_lane(lanes)) d[l] = out[l];
  c.write_mask(i.c, lanes, p);
  if (c.warp->poison) spread_shuffle(c, i, lanes, source);
}

// match.any: the lanes with this lane's value; match.all: all lanes, if all values agree. more: value, member mask; c:
// predicate result.
void match(Context& c, const Inst& i, Mask lanes) {
  const Slot a = c.slot(i, 0);
  const Mask poison = poison_for_all(c, a, lanes);
  if (i.mode) set_poison_of(c, i.c, 0, lanes, poison, a);
  auto* d = c.lanes<u32>(i.d);
  Mask agree = 0;
  for (const int l : each_lane(lanes)) {
    const Mask same = lanes_where(lanes, [&](int k) { return c.read(a, k) == c.read(a, l); });
    const bool all = same == lanes;
    d[l] = i.mode ? (all ? lanes : 0) : same;
    agree |= Mask(all) << l;
  }
  if (i.mode) c.write_mask(i.c, lanes, agree);
  set_poison_of(c, i.d, 4, lanes, poison, a);
}

u32 reduce_two(Combine how, ScalarType t, u32 a, u32 b, bool absolute, bool nan) {
  switch (how) {
    case Combine::add: return a + b;
    case Combine::and_: return a & b;
    case Combine::or_: return a | b;
    case Combine::xor_: return a ^ b;
    default: break;
  }
  const bool is_max = how == Combine::max;
  if (t == ScalarType::f32) {
    float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
    if (absolute) x = std::fabs(x), y = std::fabs(y);
    if (std::isnan(x) || std::isnan(y))
      return nan || (std::isnan(x) && std::isnan(y)) ? 0x7FFFFFFFu : std::bit_cast<u32>(std::isnan(x) ? y : x);
    return std::bit_cast<u32>((x < y) == is_max ? y : x);
  }
  if (t == ScalarType::s32) return (std::int32_t(a) < std::int32_t(b)) == is_max ? b : a;
  return (a < b) == is_max ? b : a;
}

// flags bit 0: .abs, bit 1: .NaN
void reduce_lanes(Context& c, const Inst& i, Mask lanes) {
  const auto* a = c.lanes<u32>(i.a);
  const auto how = Combine(i.mode);
  u32 r = a[first_lane(lanes)];
  if (i.flags & 1) r &= 0x7FFFFFFFu;
  for (const int l : each_lane(lanes & (lanes - 1)))
    r = reduce_two(how, ScalarType(i.width), r, a[l], (i.flags & 1) != 0, (i.flags & 2) != 0);
  fill_lanes(c, i.d, lanes, r);
  const Slot from{i.a, 4, false};
  set_poison_of(c, i.d, 4, lanes, poison_for_all(c, from, lanes), from);
}

void active_mask(Context& c, const Inst& i, Mask lanes) { fill_lanes(c, i.d, lanes, lanes); }

// Unlike the others, lanes may meet here from different places. The lanes that complete the mask release the rest.
Status warp_barrier(Context& c, const Inst& i, Mask lanes) {
  Fragment& f = *c.fragment;
  if (f.released) {
    f.released = false;
    return Status::next;
  }
  const Mask mask = Mask(c.value(i, 0, first_lane(lanes)));
  check_members(mask, lanes);
  Mask here = lanes;
  for (int k = 0; k < c.warp->fragment_count; ++k) {
    const Fragment& other = c.warp->fragments[std::size_t(k)];
    if (&other != &f && other.blocked && other.wait.kind == WaitKind::warp_barrier) here |= other.lanes;
  }
  if (const Mask missing = mask & c.warp->live & ~here)
    return c.block({.kind = WaitKind::warp_barrier, .lanes = missing});
  for (int k = 0; k < c.warp->fragment_count; ++k) {
    Fragment& other = c.warp->fragments[std::size_t(k)];
    if (&other == &f || !other.blocked || other.wait.kind != WaitKind::warp_barrier) continue;
    other.released = true;
    other.blocked = false;
  }
  observe(c, i, mask & c.warp->live, SyncKind::warp_sync, mask);
  return Status::next;
}

// Before Volta the forms without .sync had no mask.
Slot member_mask(Binder& binder, const ops::WarpExchange& x) {
  if (!x.members) throw Gap{"the form without .sync"};
  return binder.any_width(x.members, ScalarType::b32);
}

// The two halves of d|p; the second may be missing.
void pair_results(Binder& binder, const ir::Argument& d, u32& first, ScalarType type, u32& second) {
  const auto parts = binder.code().components(d);
  const bool pair = d.kind == ir::Argument::Kind::pair;
  first = binder.any_result(pair ? parts[0] : d, type).offset;
  second = (pair ? binder.any_result(parts[1], ScalarType::pred) : binder.scratch(0)).offset;
}

}  // namespace

void bind_elect(Binder& binder, const ir::Operation&, const ops::WarpExchange& x, Inst& inst) {
  pair_results(binder, x.d, inst.d, ScalarType::b32, inst.b);
  binder.append(inst, member_mask(binder, x));
  inst.run = by_members<elect>;
}

void bind_vote(Binder& binder, const ir::Operation& op, const ops::WarpExchange& x, Inst& inst) {
  const bool ballot = op.modifiers.vote == isa::VoteMode::ballot;
  inst.d = binder.any_result(x.d, ballot ? ScalarType::b32 : ScalarType::pred).offset;
  binder.append(inst, binder.predicate(x.a));
  binder.append(inst, member_mask(binder, x));
  inst.mode = u8(op.modifiers.vote);
  inst.run = by_members<vote>;
}

void bind_shuffle(Binder& binder, const ir::Operation& op, const ops::WarpExchange& x, Inst& inst) {
  pair_results(binder, x.d, inst.d, ScalarType::b32, inst.c);
  inst.a = binder.any_width(x.a, ScalarType::b32).offset;
  binder.append(inst, binder.any_width(x.lane, ScalarType::b32));
  binder.append(inst, binder.any_width(x.clamp, ScalarType::b32));
  binder.append(inst, member_mask(binder, x));
  inst.mode = u8(op.modifiers.shuffle);
  inst.run = by_members<shuffle>;
}

void bind_match(Binder& binder, const ir::Operation& op, const ops::WarpExchange& x, Inst& inst) {
  pair_results(binder, x.d, inst.d, ScalarType::b32, inst.c);
  binder.append(inst, binder.any_width(x.a, op.modifiers.type()));
  binder.append(inst, member_mask(binder, x));
  inst.mode = op.modifiers.vote == isa::VoteMode::all;
  inst.run = by_members<match>;
}

void bind_warp_reduction(Binder& binder, const ir::Operation& op, const ops::WarpExchange& x, Inst& inst) {
  inst.d = binder.any_result(x.d, ScalarType::b32).offset;
  inst.a = binder.source(x.a, op.modifiers.type()).offset;
  binder.append(inst, member_mask(binder, x));
  inst.mode = u8(op.modifiers.combine);
  inst.width = u8(op.modifiers.type());
  inst.flags = u8(op.modifiers.absolute | op.modifiers.propagate_nan << 1);
  inst.run = by_members<reduce_lanes>;
}

void bind_active_mask(Binder& binder, const ir::Operation&, const ops::WarpExchange& x, Inst& inst) {
  inst.d = binder.any_result(x.d, ScalarType::b32).offset;
  inst.run = goes_on<active_mask>;
}

void bind_warp_barrier(Binder& binder, const ir::Operation&, const ops::WarpExchange& x, Inst& inst) {
  binder.append(inst, member_mask(binder, x));
  inst.run = warp_barrier;
}

}  // namespace kiln::sim
