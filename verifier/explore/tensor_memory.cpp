#include "verifier/explore/tensor_memory.hpp"

#include <algorithm>

#include "ptx/isa/tmem.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/order.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "ptx/rules/tcgen05_order.hpp"
#include "verifier/cluster_use.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::Opcode;

constexpr std::uint64_t column_mask = 0xFFFF;
constexpr const char* address_of_tensor_memory = "an address of tensor memory";

}  // namespace

// The first free columns are allocated; their address goes to shared memory.
void TensorMemory::allocate(const Turn& t) {
  const auto allocation = ops::roles<ops::TmemAllocation>(t.op);
  const auto columns = std::uint32_t(values_.number(t, allocation.columns, 32, "the columns of an allocation"));
  std::uint32_t first = 0;
  for (const auto& [at, a] : t.cta.allocations) {
    if (at >= first + columns) break;
    first = at + a.columns;
  }
  if (first + columns > std::uint32_t(isa::tmem_columns))
    throw Unfollowed{"an allocation that waits for another to be freed", &t.op};
  if (is_of_pair(t.op) && t.s.ctas.size() > 1) meet_peer(t);
  t.cta.allocations[first] = {columns, &t.op};
  // Allocation waits until all earlier accesses to the columns are over.
  for (Common<Intervals>& block : t.cta.tensor) Memory::clear(block.change(), first, first + columns);
  const auto to = memory_.place(t, allocation.slot, t.leader(), isa::Space::shared_cta);
  const EventId id = t.add_access(true, Proxy::generic, false);
  memory_.touch(t, id, to, 4, t.lanes);
  t.warp.learn(t.lanes, id);
  t.cta.stored[to.address] = {{4, values_.symbols().terms().constant(first, 32)}};
}

// An allocation for a pair ends when both CTAs have executed it.
void TensorMemory::meet_peer(const Turn& t) {
  const std::uint32_t peer = t.cta_index ^ 1;
  if (memory_.knows_start(t, peer)) return memory_.use(t, peer);
  findings_.add(rules::alloc_peer(false), t.op, nullptr, "a CTA of the pair whose start is not known here");
  t.warp.publish(t.lanes, t.s.ctas[peer].started);
}

// Freeing columns is a write to all of them, and stays one for later accesses; a pair frees those of both, each CTA at
// its own dealloc or the other's.
void TensorMemory::deallocate(const Turn& t) {
  const auto allocation = ops::roles<ops::TmemAllocation>(t.op);
  const auto first = std::uint32_t(values_.number(t, allocation.address, 32, "what is freed") & column_mask);
  const auto columns = std::uint32_t(values_.number(t, allocation.columns, 32, "the columns that are freed"));
  const EventId id = t.add_access(true, Proxy::tensor_memory, false);
  const auto free = [&](std::uint32_t cta) {
    for (int block = 0; block < int(t.cta.tensor.size()); ++block)
      memory_.touch(t, id, {cta, block}, first, first + columns, t.lanes);
  };
  free(t.cta_index);
  const auto found = t.cta.allocations.find(first);
  findings_.add(rules::dealloc_size(columns, found == t.cta.allocations.end() ? 0 : found->second.columns), t.op);
  t.cta.allocations.erase(first);
  ++t.cta.frees;
  if (!is_of_pair(t.op) || t.s.ctas.size() < 2) return;
  // What the peer has freed before is allocated no longer.
  if (t.s.ctas[t.cta_index ^ 1].frees < t.cta.frees) free(t.cta_index ^ 1);
}

void TensorMemory::touch(const Turn& t, EventId id, std::uint32_t cta, const Footprint& print) {
  flow::Bits place = values_.symbols().terms().bits(values_.read(t, *print.address, t.leader(), 32));
  // Scales may begin in one of a few columns (Program leaves out what chooses it).
  const bool is_scale = print.role == Footprint::Role::sfa || print.role == Footprint::Role::sfb;
  if (!is_scale || place.largest() - place.smallest() > flow::Demands::most_small)
    place = flow::Bits::constant(values_.number(t, *print.address, 32, address_of_tensor_memory));
  const std::uint64_t address = place.smallest();
  const auto base = std::int64_t(address & column_mask), room = std::int64_t(place.largest() - address);
  const isa::ColumnRange columns{base + print.columns.first, print.columns.count + room},
      used{base + print.used().first, print.used().count + (print.read ? 0 : room)};
  const bool may = !place.value();  // it is not known which columns it touches
  t.s.events[id].is_uncertain |= may;
  const int block_of_address = int(address >> 16 & (isa::tmem_lanes - 1)) / tensor_block_lanes;
  int from = 0, until = isa::tmem_lanes / tensor_block_lanes, step = 1;
  if (print.role == Footprint::Role::data) {
    from = block_of_address;
    until = from + (print.half_lanes ? 1 : 2);
  } else if (print.half_lanes) {
    // 16 of each 32 lanes: another accumulator may lie in the others, in the same columns.
    from = block_of_address % 2;
    step = 2;
  }
  check_columns(t, cta, columns, used, may);
  for (int block = from; block < until; block += step)
    memory_.touch(t, id, {cta, block}, std::uint32_t(columns.first), std::uint32_t(columns.end()), t.lanes);
}

// tcgen05.mma, cp and shift: operands are read and D is written some time later, in the order of issue.
void TensorMemory::multiply(const Turn& t) {
  const std::uint32_t members = is_of_pair(t.op) && t.s.ctas.size() > 1 ? 2 : 1;
  EventSet& queue = t.warp.tensor[t.leader()];
  findings_.add(rules::mma_issuer(std::popcount(t.lanes)), t.op);
  const auto mma = ops::as<ops::Mma>(t.op);
  if (mma && !mma->form.a_in_tmem) check_descriptor(t, *mma, true);
  if (mma) check_descriptor(t, *mma, false);
  const auto a = mma ? known_operand(t, *mma, true) : std::nullopt,
             b = mma ? known_operand(t, *mma, false) : std::nullopt;
  const std::vector<Footprint> prints = footprints(program_.facts, t.op);
  for (std::uint32_t k = 0; k < members; ++k) {
    const std::uint32_t cta = t.cta_index ^ k;
    if (mma) {
      judge_tiles(t, cta, *mma, a, b);
      if (!mma->form.a_in_tmem) queue.add(read_operand(t, cta, mma->a, a));
      queue.add(read_operand(t, cta, mma->b, b));
    } else if (const auto copy = ops::as<ops::TmemCopy>(t.op)) {
      queue.add(read_operand(t, cta, copy->from, std::nullopt));
    }
    for (const Footprint& print : prints) {
      const bool writes = print.role == Footprint::Role::d || print.role == Footprint::Role::copied ||
                          print.role == Footprint::Role::shifted;
      const EventId id = t.add_access(writes, Proxy::tensor_memory, true);
      touch(t, id, cta, print);
      queue.add(id);
    }
  }
}

void TensorMemory::commit(const Turn& t) {
  findings_.add(rules::mma_issuer(std::popcount(t.lanes)), t.op);
  const int l = t.leader();
  Clock clock = t.warp.released(t.lanes);
  clock.seen.join(t.warp.tensor[l]), clock.past.join(t.warp.tensor[l]);
  const auto commit = ops::roles<ops::Commit>(t.op);
  const auto p = memory_.place(t, commit.mbarrier, l, isa::Space::shared_cluster);
  std::uint32_t ctas = 1u << p.cta;
  if (commit.ctas)
    ctas = std::uint32_t(values_.number(t, commit.ctas, l, t.op.modifiers.cta_mask_bits(), "the CTAs of a commit"));
  EventSet &ended = t.warp.ended_phases[l], &sent = t.warp.sent[l];
  clock.past.join(ended);
  clock.followed.join(sent);
  clock.tensor.join(clock.seen);  // a commit implies tcgen05.fence::before_thread_sync
  for (std::uint32_t c = 0; c < t.s.ctas.size(); ++c) {
    if (!(ctas >> c & 1)) continue;
    const SharedPlace there{c, p.address};
    barriers_.check_init(t, barriers_.at(t, there), true);
    Clock released = clock;
    if (const EventId use = barriers_.note_use(t, there, Mask{1} << l, true)) released.seen.add(use), sent.add(use);
    if (const EventId end = barriers_.arrive(t, there, 1, released)) ended.add(end);
  }
}

// ld and st by a warp.
void TensorMemory::load_or_store(const Turn& t) {
  const bool loads = isa::is_tensor_load(t.op.opcode);
  for (const Footprint& print : footprints(program_.facts, t.op)) {
    const auto first = values_.known(t, *print.address, t.leader(), 32);
    for (const int l : Lanes(first ? t.lanes : 0))
      if (const auto other = values_.known(t, *print.address, l, 32))
        findings_.add(rules::warp_uniform(*other, *first), t.op);
    const int lane = int(values_.number(t, *print.address, 32, address_of_tensor_memory) >> 16 & 0xFFFF);
    const rules::Verdict v = rules::ld_lane(t.op.modifiers.shape, lane);
    findings_.add(v.broken() ? v : rules::ld_quarter(t.op.modifiers.shape, lane, int(t.warp_index)), t.op);
    const EventId id = t.add_access(!loads, Proxy::tensor_memory, true);
    touch(t, id, t.cta_index, print);
    if (!loads) {
      t.warp.stores.add(id);
      continue;
    }
    const auto written = program_.facts.definitions.written(t.at);
    t.warp.loads.push_back({id, {written.begin(), written.end()}});
  }
}

void TensorMemory::consume_loads(const Turn& t) {
  if (t.warp.loads.empty()) return;
  for (const ir::RegisterId r : program_.facts.code.read(t.op))
    for (PendingLoad& p : t.warp.loads) std::erase(p.registers, r);
  while (!t.warp.loads.empty() && t.warp.loads.front().registers.empty()) {
    t.warp.learn(all_lanes, t.warp.loads.front().event);
    t.warp.loads.erase(t.warp.loads.begin());
  }
}

// Columns of the own CTA. When the peer allocates its columns is not compared.
void TensorMemory::check_columns(const Turn& t, std::uint32_t cta, isa::ColumnRange columns, isa::ColumnRange used, bool may) {
  const auto& all = t.s.ctas[cta].allocations;
  if (cta != t.cta_index || all.empty()) return;
  const auto above = all.upper_bound(std::uint32_t(columns.first));
  const auto& [base, allocation] = above == all.begin() ? *above : *std::prev(above);
  const std::int64_t begin = base;
  std::int64_t end = begin + allocation.columns;
  for (auto next = above; next != all.end() && next->first == end; ++next) end += next->second.columns;
  const rules::Verdict v = rules::tmem_range(shifted(columns, -begin), shifted(used, -begin), end - begin);
  findings_.add({v, &t.op, allocation.operation, {}, {}, "the allocation is here", {}}, may);
}

std::optional<KnownOperand> TensorMemory::known_operand(const Turn& t, const ops::Mma& mma, bool is_a) {
  if (mma.zero_mask || (is_a && mma.form.a_in_tmem)) return std::nullopt;
  const auto instruction = program_.facts.known.of(mma.idesc, 32).value();
  const auto word = values_.known(t, is_a ? mma.a : mma.b, t.leader(), 64);
  if (!instruction || !word) return std::nullopt;
  return KnownOperand::of(mma.form, std::uint32_t(*instruction), *word, is_a);
}

EventId TensorMemory::read_operand(const Turn& t, std::uint32_t cta, const ir::Argument& descriptor,
                                   const std::optional<KnownOperand>& known) {
  const EventId id = t.add_access(false, Proxy::async, true);
  if (known) {
    for (const ByteRun& run : tiles_.reads(*known)) memory_.touch(t, id, {cta}, run.first, run.end, t.lanes);
    return id;
  }
  const auto bits = values_.symbols().terms().bits(values_.read(t, descriptor, t.leader(), 64));
  if (!bits.knows(isa::descriptor_address_mask >> 4))
    throw Unfollowed{"the address in a descriptor is not known", &t.op};
  const std::uint32_t start = isa::unpack_shared(bits.one).start;
  memory_.touch(t, id, {cta}, start, start + Memory::looked_at, t.lanes);
  return id;
}

// A mask of lanes that are not written, unless it is known to name none.
bool TensorMemory::may_leave_out_lanes(const ops::Mma& mma) const {
  if (!mma.lanes) return false;
  const auto parts = program_.code.components(*mma.lanes);
  return !std::all_of(parts.begin(), parts.end(),
                      [&](const ir::Argument& a) { return program_.facts.known.of(a, 32).value() == 0; });
}

void TensorMemory::judge_tiles(const Turn& t, std::uint32_t cta_index, const ops::Mma& mma,
                               const std::optional<KnownOperand>& a, const std::optional<KnownOperand>& b) {
  Cta& cta = t.s.ctas[cta_index];
  const auto say = [&](const std::optional<TileFinding>& found, const char* what) {
    if (found) findings_.add({found->verdict, &t.op, found->other, found->got, {}, what, found->repair});
  };
  std::optional<tile::Beginning> a_begins, b_begins;
  if (b) say(tiles_.judge(cta.tiles, *b, b_begins), "the tile was copied here");
  if (a) say(tiles_.judge(cta.tiles, *a, a_begins), "the tile was copied here");
  const auto d = std::uint32_t(values_.number(t, mma.d, 32, address_of_tensor_memory));
  // Assumption: an accumulator that may begin at zero does.
  const bool adds = mma.enable_input_d && program_.facts.known.of(*mma.enable_input_d, 1).value() == 1;
  if (!adds) cta.sums.erase(d);
  if (a_begins && b_begins && !may_leave_out_lanes(mma))
    say(TileJudge::go_on(cta.sums[d], *a_begins, *b_begins, *b, t.op), "the other MMA is here");
}

void TensorMemory::check_descriptor(const Turn& t, const ops::Mma& mma, bool is_a) {
  const auto word = values_.known(t, is_a ? mma.a : mma.b, t.leader(), 64);
  const auto instruction = program_.facts.known.of(mma.idesc, 32).value();
  if (!word) return;
  const isa::SharedDescriptorFields d = isa::unpack_shared(*word);
  findings_.add(rules::sdesc_fixed(d), t.op);
  findings_.add(rules::sdesc_swizzle(d.swizzle_code), t.op);
  const auto swizzle = isa::descriptor_swizzle(d.swizzle_code);
  if (!swizzle || !instruction) return;
  const auto shape = isa::unpack(std::uint32_t(*instruction), mma.form.kind);
  findings_.add(rules::sdesc_atom32(mma.form.kind, is_a ? shape.a_major : shape.b_major, *swizzle), t.op);
}

Status TensorMemory::execute(const Turn& t) {
  if (t.op.modifiers.aligned && !t.converge(all_lanes)) return Status::blocked;
  switch (t.op.opcode) {
    case Opcode::tcgen05_alloc: allocate(t); break;
    case Opcode::tcgen05_dealloc: deallocate(t); break;
    case Opcode::tcgen05_commit: commit(t); break;
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_ld_red:
    case Opcode::tcgen05_st: load_or_store(t); break;
    case Opcode::tcgen05_wait_ld:
      for (const PendingLoad& p : t.warp.loads) t.warp.learn(t.lanes, p.event);
      t.warp.loads.clear();
      break;
    case Opcode::tcgen05_wait_st:
      t.warp.stores.each([&](EventId e) { t.warp.learn(t.lanes, e); });
      t.warp.stores = {};
      break;
    case Opcode::tcgen05_fence_before:
    case Opcode::tcgen05_fence_after: t.warp.tensor_fence(t.lanes, t.op.opcode == Opcode::tcgen05_fence_before); break;
    default:
      if (rules::is_pipelined(t.op.opcode)) multiply(t);
      break;  // permits
  }
  return Status::next;
}

}  // namespace kiln::verifier::explore
