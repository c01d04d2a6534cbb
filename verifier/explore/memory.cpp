// Accesses to shared memory, and when one is ordered before another: sim/order/README.md has the model.
#include <algorithm>
#include <bit>

#include "ptx/rules/memory.hpp"
#include "ptx/rules/order.hpp"
#include "ptx/rules/tcgen05_order.hpp"
#include "verifier/explore/machine.hpp"

namespace kiln::verifier::protocol {
namespace {

using isa::Opcode;

constexpr int matrix_row_bytes = 16;

// Bytes that one lane touches.
std::uint32_t bytes_of(const ir::Operation& op) {
  if (op.opcode == Opcode::ldmatrix || op.opcode == Opcode::stmatrix) return matrix_row_bytes;
  const int each = std::max(1, isa::bits(op.modifiers.type()) / 8);
  return std::uint32_t(each * isa::vector_width(op.modifiers.vector));
}

// Atomic operations, and loads and stores with an order.
bool is_strong(const ir::Operation& op) {
  if (op.opcode == Opcode::atom || op.opcode == Opcode::red) return true;
  const isa::Semantics s = op.modifiers.semantics;
  return (op.opcode == Opcode::ld || op.opcode == Opcode::st) && s != isa::Semantics::none && s != isa::Semantics::weak;
}

// A pair that the tensor core executes in the order of issue.
bool is_piped(const Event& a, const Event& b) {
  const ir::Operation &first = *a.operation, &second = *b.operation;
  return a.is_async && b.is_async && rules::is_pipelined(first.opcode) && rules::is_pipelined(second.opcode) &&
         first.modifiers.cta_group == second.modifiers.cta_group &&
         rules::pipelined(first.opcode, second.opcode, second.modifiers.shape, true);
}

}  // namespace

// The address that a generic one has in the shared window, if it is known to lie there.
std::optional<std::uint64_t> Machine::shared_address(const Turn& t, const ir::Argument& a, int lane) {
  return terms_.value(terms_.subtract(read(t, a, lane, 64), evaluator_.shared_window()));
}

// A part of an event by several lanes that these lanes know of themselves.
bool Machine::knows_own(const Turn& t, const Toucher& e) {
  return std::any_of(t.warp.parts.begin(), t.warp.parts.end(),
                     [&](const Part& p) { return p.event == e.event && (e.lanes & ~p.lanes) == 0; });
}

// A shared address names a CTA of the cluster in its upper byte; without .shared::cluster it is the thread's own.
Machine::SharedPlace Machine::place(const Turn& t, const ir::Argument& a, int lane, isa::Space space) {
  const auto generic = space == isa::Space::generic ? shared_address(t, a, lane) : std::nullopt;
  const std::uint64_t address = generic ? *generic : number(t, a, lane, 64, "a shared address");
  SharedPlace p{t.cta_index, std::uint32_t(address & flow::shared_window_mask)};
  if (space == isa::Space::shared_cluster || generic) p.cta = std::uint32_t(address) >> isa::cluster_rank_shift;
  if (p.cta >= t.s.ctas.size()) throw Unfollowed{"an address of a CTA outside the cluster", &t.op};
  return p;
}

EventId Machine::access_event(Turn& t, bool writes, Proxy proxy, bool is_async) {
  return add_event(t.s, {&t.op, t.cta_index, t.warp_index, t.lanes, proxy, is_async, writes, t.may != nullptr});
}

rules::Verdict Machine::judge(const Turn& t, const Toucher& e, Mask lanes, const Event& later) const {
  const Event& earlier = t.s.events[e.event];
  if (!earlier.writes && !later.writes) return rules::legal;
  // The CTAs of a pair free their columns together.
  const bool frees = earlier.operation->opcode == Opcode::tcgen05_dealloc;
  if (frees && later.operation->opcode == Opcode::tcgen05_dealloc) return rules::legal;
  // Threads that one instruction lets store to one place are taken to store the same.
  if (earlier.operation == later.operation && later.proxy == Proxy::generic) return rules::legal;
  if (is_strong(*earlier.operation) && is_strong(*later.operation)) return rules::legal;
  const bool same_warp = earlier.cta == t.cta_index && earlier.warp == t.warp_index;
  const bool copied = earlier.is_async && earlier.proxy == Proxy::generic;
  if (!copied && (earlier.is_async || later.proxy == Proxy::tensor)) {
    if (knows(t, e.event)) return judge_tensor_fence(t, e, later);
    if (same_warp && !earlier.is_async && (e.lanes & ~lanes) == 0) return rules::legal;
    if (earlier.proxy == Proxy::tensor && later.proxy == Proxy::tensor) {
      // What one thread gives the tensor core is done in order.
      const auto mine = t.warp.tensor.find(t.leader());
      // Threads that give it work one after the other tell each other by ways that are not followed here.
      if (is_piped(earlier, later) && (!same_warp || e.lanes != lanes)) return rules::legal;
      const bool piped = later.is_async && mine != t.warp.tensor.end() && mine->second.has(e.event);
      return piped ? rules::legal : rules::race_tmem(false);
    }
    return rules::race_async(false);
  }
  const bool own = same_warp && (e.lanes & ~lanes) == 0;
  const bool known = knows(t, e.event) || (own && (!copied || knows_own(t, e)));
  if (!known) return copied ? rules::race_async(false) : rules::race(false);
  if (later.proxy == Proxy::generic) return rules::legal;
  const bool fenced = all_have(t, &Clock::fenced, e.event) ||
                      std::any_of(t.warp.parts.begin(), t.warp.parts.end(),
                                  [&](const Part& p) { return p.event == e.event && (e.lanes & ~p.fenced) == 0; });
  return earlier.writes ? rules::proxy_fence(fenced) : rules::proxy_fence_read(fenced);
}

// Operations on tensor memory that are known to be over. That tcgen05.dealloc needs the fences too nobody writes.
rules::Verdict Machine::judge_tensor_fence(const Turn& t, const Toucher& e, const Event& later) const {
  const Event& earlier = t.s.events[e.event];
  const bool same_warp = earlier.cta == t.cta_index && earlier.warp == t.warp_index;
  if (earlier.proxy != Proxy::tensor || later.proxy != Proxy::tensor || same_warp) return rules::legal;
  if (!earlier.is_async || !later.is_async) return rules::legal;
  return rules::tcgen05_fence(all_have(t, &Clock::tensor, e.event));
}

void Machine::access(Turn& t, EventId id, Intervals& memory, std::uint32_t first, std::uint32_t end, Mask lanes) {
  const Event later = t.s.events[id];
  use_memory(t, memory);
  check_bounds(t, memory, first, end);
  if (later.writes && later.proxy != Proxy::tensor) forget_tiles(t.s, memory, first, end);
  for_cells(memory, first, end, [&](Cell& c) {
    // A write that threads have read was there for them; that they had to fence it for a copy is no more than a note.
    const bool was_read = later.writes && std::any_of(c.readers.begin(), c.readers.end(), [&](const Toucher& e) {
                            return t.s.events[e.event].proxy == Proxy::generic;
                          });
    for (const std::vector<Toucher>* list : {&c.writers, &c.readers})
      for (const Toucher& e : *list) {
        if (e.event == id) continue;
        const rules::Verdict v = judge(t, e, lanes, later);
        if (!v.broken() || (was_read && v.rule == rules::Rule::proxy_fence)) continue;
        is_guess_ = later.may_be || t.s.events[e.event].may_be;
        breach(v, t.op, t.s.events[e.event].operation);
        is_guess_ = false;
      }
    const auto add = [&](std::vector<Toucher>& list) {
      for (Toucher& e : list)
        if (e.event == id) {
          e.lanes |= lanes;
          return;
        }
      list.push_back({id, lanes});
    };
    if (later.writes && !later.may_be) {
      std::erase_if(c.writers, [&](const Toucher& e) { return e.event != id; });
      c.readers.clear();
      return add(c.writers);
    }
    if (later.writes) return add(c.writers);
    // Who knows of this read knows of the earlier ones by the same lanes: threads and queues go in order.
    std::erase_if(c.readers, [&](const Toucher& e) {
      const Event& old = t.s.events[e.event];
      return e.event != id && old.cta == t.cta_index && old.warp == t.warp_index && old.proxy == later.proxy &&
             old.is_async == later.is_async && !(e.lanes & ~lanes);
    });
    add(c.readers);
  });
}

// Loads and stores by threads. What they store is kept where it is a word.
void Machine::touch_shared(Turn& t) {
  const isa::Modifiers& m = t.op.modifiers;
  const bool loads = t.op.opcode == Opcode::ld || t.op.opcode == Opcode::ldmatrix;
  const ir::Argument& address = t.op.arg(loads || t.op.opcode == Opcode::atom ? 1 : 0);
  std::uint32_t bytes = bytes_of(t.op);
  std::optional<EventId> id;
  for (Mask mask = t.lanes; mask; mask &= mask - 1) {
    const int l = std::countr_zero(mask);
    // A generic address that is not one of the shared window's is taken to be one of global memory.
    if (m.space() == isa::Space::generic && !shared_address(t, address, l)) continue;
    const auto p = place(t, address, l, m.space());
    if (!id) id = access_event(t, !loads, Proxy::generic, false);
    Cta& owner = t.s.ctas[p.cta];
    access(t, *id, owner.shared, p.address, p.address + bytes, Mask{1} << l);
    if (loads) continue;
    for (std::uint32_t at = p.address; at < p.address + bytes; ++at) owner.stored.erase(at);
    if (t.may) continue;
    if (t.op.opcode == Opcode::st && m.vector == isa::Vector::none && t.op.arg(1).kind != ir::Argument::Kind::real)
      owner.stored[p.address][int(bytes)] = read(t, t.op.arg(1), l, int(bytes) * 8);
  }
  if (id) made(t.warp, t.lanes, *id);
}

}  // namespace kiln::verifier::protocol
