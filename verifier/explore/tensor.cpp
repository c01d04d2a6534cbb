// tcgen05: allocation, the tensor core's queue, loads and stores.
#include <algorithm>
#include <bit>

#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/tcgen05_order.hpp"
#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::Opcode;

constexpr std::uint64_t column_mask = 0xFFFF;

bool is_pair(const ir::Operation& op) { return op.modifiers.cta_group == isa::CtaGroup::two; }

}  // namespace

// Columns come from the front; the address goes to shared memory.
void Machine::allocate(Turn& t) {
  const auto allocation = ops::roles<ops::TmemAllocation>(t.op);
  const auto columns = std::uint32_t(number(t, allocation.columns, t.leader(), 32, "the columns of an allocation"));
  std::uint32_t first = 0;
  for (const auto& [at, a] : t.cta.allocations) {
    if (at >= first + columns) break;
    first = at + a.columns;
  }
  if (first + columns > std::uint32_t(isa::tmem_columns)) {
    t.f.wait = {Wait::Kind::lanes, 0, 0, 0, 0};
    throw Unfollowed{"an allocation that waits for another to be freed", &t.op};
  }
  if (is_pair(t.op) && t.s.ctas.size() > 1) use_remote(t, t.cta_index ^ 1);
  t.cta.allocations[first] = {columns, &t.op};
  // Columns are given out when everything done to them before is over.
  for (Intervals& block : t.cta.tensor)
    for_cells(block, first, first + columns, [](Cell& c) { c.writers.clear(), c.readers.clear(); });
  const auto to = place(t, allocation.slot, t.leader(), isa::Space::shared_cta);
  const EventId id = t.add_access(true, Proxy::generic, false);
  access(t, id, t.cta.shared, to.address, to.address + 4, t.lanes);
  t.warp.learn(t.lanes, id);
  t.cta.stored[to.address] = {{4, terms_.constant(first, 32)}};
}

// Freeing columns is a write to all of them, and stays one for those who come later; a pair frees those of both, each
// CTA at its own dealloc or the other's.
void Machine::deallocate(Turn& t) {
  const auto allocation = ops::roles<ops::TmemAllocation>(t.op);
  const auto first = std::uint32_t(number(t, allocation.address, t.leader(), 32, "what is freed") & column_mask);
  const auto columns = std::uint32_t(number(t, allocation.columns, t.leader(), 32, "the columns that are freed"));
  const EventId id = t.add_access(true, Proxy::tensor_memory, false);
  for (Intervals& block : t.cta.tensor) access(t, id, block, first, first + columns, t.lanes);
  const auto found = t.cta.allocations.find(first);
  breach(rules::dealloc_size(columns, found == t.cta.allocations.end() ? 0 : found->second.columns), t.op);
  t.cta.allocations.erase(first);
  ++t.cta.frees;
  if (!is_pair(t.op) || t.s.ctas.size() < 2) return;
  Cta& peer = t.s.ctas[t.cta_index ^ 1];
  // What the peer has freed before is nobody's any more.
  if (peer.frees >= t.cta.frees) return;
  for (Intervals& block : peer.tensor) access(t, id, block, first, first + columns, t.lanes);
}

// Scales may begin in one of a few columns (Program leaves out what chooses it).
flow::Bits Machine::tensor_address(const Turn& t, const Footprint& print) {
  const flow::TermId word = read(t, *print.address, t.leader(), 32);
  const flow::Bits bits = terms_.bits(word);
  const bool is_scale = print.role == Footprint::Role::sfa || print.role == Footprint::Role::sfb;
  if (is_scale && bits.largest() - bits.smallest() <= flow::Demands::most_small) return bits;
  return flow::Bits::constant(number(t, *print.address, t.leader(), 32, "an address of tensor memory"));
}

void Machine::touch_tensor(Turn& t, EventId id, std::uint32_t cta, const Footprint& print) {
  const flow::Bits place = tensor_address(t, print);
  const std::uint64_t address = place.smallest();
  const auto first = std::uint32_t(address & column_mask) + std::uint32_t(print.columns.first);
  const std::uint32_t end = first + std::uint32_t(print.columns.count) + std::uint32_t(place.largest() - address);
  if (!place.value()) t.s.events[id].may_be = is_guess_ = true;  // of none of the columns is it known
  int from = 0, until = isa::tmem_lanes / tensor_block_lanes;
  if (print.role == Footprint::Role::data) {
    const int lane = int(address >> 16 & (isa::tmem_lanes - 1));
    from = lane / tensor_block_lanes;
    until = from + (print.half_lanes ? 1 : 2);
  }
  check_columns(t, cta, first, end);
  is_guess_ = false;
  for (int block = from; block < until; ++block)
    access(t, id, t.s.ctas[cta].tensor[std::size_t(block)], first, end, t.lanes);
}

// tcgen05.mma, cp and shift: operands are read and D is written some time later, in the order of issue.
void Machine::multiply(Turn& t) {
  const std::uint32_t members = is_pair(t.op) && t.s.ctas.size() > 1 ? 2 : 1;
  EventSet& queue = t.warp.tensor[t.leader()];
  check_issuer(t);
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
      touch_tensor(t, id, cta, print);
      queue.add(id);
    }
  }
}

void Machine::commit(Turn& t) {
  check_issuer(t);
  const int l = t.leader();
  Clock clock = t.warp.released(t.lanes);
  clock.seen.join(t.warp.tensor[l]), clock.past.join(t.warp.tensor[l]);
  const auto commit = ops::roles<ops::Commit>(t.op);
  const auto p = place(t, commit.mbarrier, l, isa::Space::shared_cluster);
  std::uint32_t ctas = 1u << p.cta;
  if (commit.ctas) ctas = std::uint32_t(number(t, commit.ctas, l, 16, "the CTAs of a commit"));
  EventSet& brought = t.warp.brought[l];
  clock.past.join(brought);
  clock.tensor.join(clock.seen);  // a commit implies tcgen05.fence::before_thread_sync
  for (std::uint32_t c = 0; c < t.s.ctas.size(); ++c) {
    if (!(ctas >> c & 1)) continue;
    check_init(t, barrier_at(t, c, p.address), true);
    Clock released = clock;
    if (const EventId use = note_arrival(t, c, p.address, Mask{1} << l, true)) released.seen.add(use);
    if (const EventId end = arrive(t, c, p.address, 1, released)) brought.add(end);
  }
}

// ld and st by a warp.
void Machine::move_data(Turn& t) {
  const bool loads = isa::is_tensor_load(t.op.opcode);
  for (const Footprint& print : footprints(program_.facts, t.op)) {
    check_uniform(t, *print.address, 32);
    check_lanes(t, number(t, *print.address, t.leader(), 32, "an address of tensor memory"));
    const EventId id = t.add_access(!loads, Proxy::tensor_memory, true);
    touch_tensor(t, id, t.cta_index, print);
    if (!loads) {
      t.warp.stores.add(id);
      continue;
    }
    const auto written = program_.facts.definitions.written(t.at);
    t.warp.loads.push_back({id, {written.begin(), written.end()}});
  }
}

// A load of which every register was used is done.
void Machine::consume_loads(Turn& t) {
  if (t.warp.loads.empty()) return;
  for (const ir::RegisterId r : program_.facts.code.read(t.op))
    for (PendingLoad& p : t.warp.loads) std::erase(p.registers, r);
  while (!t.warp.loads.empty() && t.warp.loads.front().registers.empty()) {
    t.warp.learn(all_lanes, t.warp.loads.front().event);
    t.warp.loads.erase(t.warp.loads.begin());
  }
}

Status Machine::tensor(Turn& t) {
  if (t.op.modifiers.aligned && !t.converge(all_lanes)) return Status::blocked;
  switch (t.op.opcode) {
    case Opcode::tcgen05_alloc: allocate(t); break;
    case Opcode::tcgen05_dealloc: deallocate(t); break;
    case Opcode::tcgen05_commit: commit(t); break;
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_ld_red:
    case Opcode::tcgen05_st: move_data(t); break;
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
