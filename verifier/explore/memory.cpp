// Accesses to shared memory, and when one is ordered before another: sim/order/README.md has the model.
#include <algorithm>
#include <bit>

#include "ptx/order/judge.hpp"
#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::Opcode;

constexpr int matrix_row_bytes = 16;

// Bytes that one lane touches.
std::uint32_t bytes_of(const ir::Operation& op) {
  if (op.opcode == Opcode::ldmatrix || op.opcode == Opcode::stmatrix) return matrix_row_bytes;
  const int each = std::max(1, isa::bits(op.modifiers.type()) / 8);
  return std::uint32_t(each * isa::vector_width(op.modifiers.vector));
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

// What the threads of an abstract run know of a pair: the questions of order::judge.
struct Machine::PairKnowledge {
  const Turn& t;
  const Toucher& touch;
  Mask lanes;
  const Event& earlier;
  const Event& later;

  // Scopes are not compared.
  bool are_morally_strong() const { return order::is_strong(*earlier.operation) && order::is_strong(*later.operation); }
  bool is_same_warp() const { return earlier.cta == t.cta_index && earlier.warp == t.warp_index; }
  bool are_same_threads() const { return is_same_warp() && touch.lanes == lanes; }
  bool is_same_accumulator() const { return true; }  // addresses of accumulators are not compared
  bool is_over() const {
    if (t.knows(touch.event)) return true;
    if (!is_same_warp() || (touch.lanes & ~lanes)) return false;
    return !earlier.is_async || (earlier.proxy == Proxy::generic && knows_own(t, touch));
  }
  // How different issuers of the tensor core synchronise is not tracked, so any order between them is accepted. This is
  // unsound.
  bool is_issued() const { return true; }
  bool is_issue_tensor_fenced() const { return true; }
  bool is_proxy_fenced() const {
    return t.warp.all_have(t.lanes, &Clock::fenced, touch.event) ||
           std::any_of(t.warp.parts.begin(), t.warp.parts.end(),
                       [&](const Part& p) { return p.event == touch.event && (touch.lanes & ~p.fenced) == 0; });
  }
  bool is_map_fenced() const { return true; }  // judged in maps.cpp
  bool is_tensor_fenced() const {
    return !earlier.is_async || !later.is_async || t.warp.all_have(t.lanes, &Clock::tensor, touch.event);
  }
};

rules::Verdict Machine::judge(const Turn& t, const Toucher& e, Mask lanes, const Event& later) const {
  const Event& earlier = t.s.events[e.event];
  // Threads that one instruction lets store to one place are taken to store the same.
  if (earlier.operation == later.operation && later.proxy == Proxy::generic) return rules::legal;
  const auto side = [](const Event& x) { return order::Access{x.operation, x.proxy, x.writes, x.is_async}; };
  const auto broken = order::judge(side(earlier), side(later), PairKnowledge{t, e, lanes, earlier, later});
  // Without the addresses of accumulators a pair of one thread cannot be told from a listed one.
  if (!broken || *broken == rules::Rule::tcgen05_pipeline) return rules::legal;
  return rules::breaks(*broken);
}

void Machine::access(Turn& t, EventId id, Intervals& memory, std::uint32_t first, std::uint32_t end, Mask lanes) {
  const Event later = t.s.events[id];
  use_memory(t, memory);
  check_bounds(t, memory, first, end);
  if (later.writes && later.proxy != Proxy::tensor_memory) forget_tiles(t.s, memory, first, end);
  for_cells(memory, first, end, [&](Cell& c) {
    // The reads of a write are judged by themselves: without their proxy fence they are PORTABILITY.
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

namespace {

// Where a thread reads or writes.
const ir::Argument& shared_operand(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::atom:
    case Opcode::red: return ops::roles<ops::Atomic>(op).address;
    case Opcode::ldmatrix:
    case Opcode::stmatrix: return ops::roles<ops::MatrixAccess>(op).address;
    default: return ops::roles<ops::MemoryAccess>(op).address;
  }
}

}  // namespace

// Loads and stores by threads. What they store is kept where it is a word.
void Machine::touch_shared(Turn& t) {
  const isa::Modifiers& m = t.op.modifiers;
  const bool loads = t.op.opcode == Opcode::ld || t.op.opcode == Opcode::ldmatrix;
  const auto accessed = ops::roles<ops::MemoryAccess>(t.op);
  const ir::Argument& address = shared_operand(t.op);
  std::uint32_t bytes = bytes_of(t.op);
  std::optional<EventId> id;
  for (const int l : Lanes(t.lanes)) {
    // A generic address that is not one of the shared window's is taken to be one of global memory.
    if (m.space() == isa::Space::generic && !shared_address(t, address, l)) continue;
    const auto p = place(t, address, l, m.space());
    if (!id) id = t.add_access(!loads, Proxy::generic, false);
    Cta& owner = t.s.ctas[p.cta];
    access(t, *id, owner.shared, p.address, p.address + bytes, Mask{1} << l);
    if (loads) continue;
    for (std::uint32_t at = p.address; at < p.address + bytes; ++at) owner.stored.erase(at);
    if (t.may) continue;
    if (t.op.opcode == Opcode::st && m.vector == isa::Vector::none && accessed.value->kind != ir::Argument::Kind::real)
      owner.stored[p.address][int(bytes)] = read(t, accessed.value, l, int(bytes) * 8);
  }
  if (id) t.warp.learn_own(t.lanes, *id);
}

}  // namespace kiln::verifier::explore
