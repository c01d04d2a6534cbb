#include "verifier/explore/memory.hpp"

#include <algorithm>
#include <bit>

#include "ptx/isa/access_bytes.hpp"
#include "ptx/isa/tensor_copy.hpp"
#include "ptx/order/judge.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::Opcode;

std::string name_of(std::uint32_t cta) { return "CTA " + std::to_string(cta) + " of the cluster"; }

// What the threads of an abstract run know of a pair: the questions of order::judge.
struct PairKnowledge {
  const Turn& t;
  const Touch& touch;
  Mask lanes;
  const Event& earlier;
  const Event& later;

  // Each names a scope that includes the other thread.
  bool are_morally_strong() const {
    const auto is_wide = [](const Event& e) {
      return order::reach_of(e.operation->modifiers.scope) != order::Reach::cta;
    };
    return order::is_strong(*earlier.operation) && order::is_strong(*later.operation) &&
           (earlier.cta == later.cta || (is_wide(earlier) && is_wide(later)));
  }
  bool is_same_warp() const { return earlier.cta == t.cta_index && earlier.warp == t.warp_index; }
  bool are_same_threads() const { return is_same_warp() && touch.lanes == lanes; }
  bool is_same_accumulator() const { return true; }  // addresses of accumulators are not compared
  // The warp's lanes have made, or have fenced, the part of the event that touched the interval.
  bool has_part(Mask Part::*known) const {
    return std::any_of(t.warp.parts.begin(), t.warp.parts.end(),
                       [&](const Part& p) { return p.event == touch.event && (touch.lanes & ~(p.*known)) == 0; });
  }
  bool is_over() const {
    if (t.knows(touch.event)) return true;
    if (!is_same_warp() || (touch.lanes & ~lanes)) return false;
    return !earlier.is_async || (earlier.proxy == Proxy::generic && has_part(&Part::lanes));
  }
  bool is_met() const { return t.warp.all_have(t.lanes, &Clock::met, touch.event); }
  // Of an asynchronous read: lanes that knew of its end have been waited for.
  bool has_ended() const { return t.warp.all_have(t.lanes, &Clock::ended, touch.event); }
  // How different issuers of the tensor core synchronise is not tracked, so any order between them is accepted. This is
  // unsound.
  bool is_issued() const { return true; }
  bool is_issue_tensor_fenced() const { return true; }
  bool is_proxy_fenced() const {
    return t.warp.all_have(t.lanes, &Clock::fenced, touch.event) || has_part(&Part::fenced);
  }
  bool is_map_fenced() const { return true; }  // judged in copies.cpp
  bool is_tensor_fenced() const {
    return !earlier.is_async || !later.is_async || t.warp.all_have(t.lanes, &Clock::tensor, touch.event);
  }
};

rules::Verdict verdict_of(const Turn& t, const Touch& e, Mask lanes, const Event& later) {
  const Event& earlier = t.s.events[e.event];
  // Assumption: threads that store to one place by one instruction store the same.
  if (earlier.operation == later.operation && later.proxy == Proxy::generic && !earlier.is_async) return rules::legal;
  const auto side = [](const Event& x) { return order::Access{x.operation, x.proxy, x.writes, x.is_async}; };
  const auto broken = order::judge(side(earlier), side(later), PairKnowledge{t, e, lanes, earlier, later});
  // Without the addresses of accumulators a pair of one thread cannot be told from a listed one.
  if (!broken || *broken == rules::Rule::tcgen05_pipeline) return rules::legal;
  return rules::breaks(*broken);
}

// The branch that decides whether a touch is there to be judged, or whether threads know of it.
std::uint32_t decider_of(const State& s, const Touch& t) {
  return t.decider != no_branch ? t.decider : s.events[t.event].decider;
}

constexpr int matrix_row_bytes = 16;

// Bytes that one lane touches.
std::uint32_t bytes_of(const ir::Operation& op) {
  if (op.opcode == Opcode::ldmatrix || op.opcode == Opcode::stmatrix) return matrix_row_bytes;
  return isa::access_bytes(op.modifiers);
}

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

void Memory::start(State& s) {
  for (std::uint32_t c = 0; c < s.ctas.size() && s.ctas.size() > 1; ++c) {
    s.ctas[c].started = s.add({nullptr, c});
    for (Warp& w : s.ctas[c].warps)
      for (Group& g : w.groups) g.clock.seen.add(s.ctas[c].started), g.clock.published.add(s.ctas[c].started);
  }
}

bool Memory::knows_start(const Turn& t, std::uint32_t cta) {
  const Clock& known = t.warp.clock(t.leader());
  const EventId started = t.s.ctas[cta].started;
  return known.seen.has(started) || known.published.has(started);
}

void Memory::use(const Turn& t, std::uint32_t cta) {
  if (cta == t.cta_index) return;
  if (!knows_start(t, cta))
    findings_.add(rules::cluster_start(false), t.op, nullptr, name_of(cta) + ", whose start is not known here");
  if (t.s.ctas[cta].exited)
    findings_.add(rules::cta_exit(false), t.op, nullptr, "an access to " + name_of(cta) + ", which has exited");
}

// The CTA's own accesses are over; it must know that asynchronous ones and those of others are.
void Memory::exit(State& s, std::uint32_t index) {
  Cta& cta = s.ctas[index];
  cta.exited = true;
  if (cta.trapped) return;
  for (const auto& [at, a] : cta.allocations)
    findings_.add(rules::step(isa::AllocState{a.columns}, isa::AllocEvent::exit).verdict, *a.operation);
  Clock known;
  for (Warp& w : cta.warps) known.join(w.released(all_lanes));
  const auto rule = [&](EventId id, bool is_sent) {
    const Event& e = s.events[id];
    if (e.cta == index && isa::is_bulk_copy(e.operation->opcode)) return rules::cta_exit_copy(false);
    return is_sent ? rules::cta_exit_arrival(false) : rules::cta_exit(false);
  };
  const auto judge = [&](EventId id, std::uint32_t decider, bool is_sent) {
    const Event& e = s.events[id];
    if (e.is_uncertain || !e.operation || known.seen.has(id) || (e.cta == index && !e.is_async)) return;
    found({rule(id, is_sent), e.operation, nullptr,
           "the exit of " + name_of(index) + ", which does not know that this is done"},
          false, decider);
  };
  for (const auto& [at, cell] : *cta.shared)
    for (const auto* list : {&cell.writers, &cell.readers})
      for (const Touch& e : *list) judge(e.event, decider_of(s, e), false);
  // An arrival is all but there when its thread has made a later one that is over, or when it was issued and all
  // operations of its thread are over.
  const auto is_sent = [&](const RemoteUse& use) {
    const Event& e = s.events[use.arrival];
    const auto& issued = s.ctas[e.cta].warps[e.warp].tensor;
    const auto operations = issued.find(std::countr_zero(e.lanes));
    const bool waits = operations != issued.end() && !operations->second.within(known.seen);
    return known.followed.has(use.arrival) || (use.issue && known.seen.has(use.issue) && !waits);
  };
  for (const auto& [at, b] : cta.mbarriers)
    for (const RemoteUse& use : b.users) judge(use.arrival, s.events[use.arrival].decider, is_sent(use));
}

// What is found may depend on the way that threads have gone at a branch. An error is looked for on each of its ways.
void Memory::found(Breach b, bool may, std::uint32_t decider) {
  if (decider != no_branch && findings_.is_new_error(b.verdict, *b.operation))
    throw Unfollowed{"which way threads go", b.operation, true, decider};
  findings_.add(std::move(b), may || decider != no_branch);
}

void Memory::judge(const Turn& t, EventId id, const Cell& c, Mask lanes) {
  const Event& later = t.s.events[id];
  // The reads of a write are judged by themselves: without their proxy fence they are PORTABILITY.
  bool was_read = false;
  std::uint32_t may_have_read = no_branch;
  for (const Touch& e : c.readers) {
    if (!later.writes || t.s.events[e.event].proxy != Proxy::generic) continue;
    if (const std::uint32_t decider = decider_of(t.s, e); decider != no_branch)
      may_have_read = decider;
    else
      was_read = true;
  }
  for (const Touches* list : {&c.writers, &c.readers})
    for (const Touch& e : *list) {
      if (e.event == id) continue;
      const Event& earlier = t.s.events[e.event];
      const rules::Verdict v = verdict_of(t, e, lanes, later);
      if (!v.broken() || (was_read && v.rule == rules::Rule::proxy_fence)) continue;
      const bool is_own = earlier.cta == t.cta_index && earlier.warp == t.warp_index && !(e.lanes & ~lanes);
      if (!is_own && flags_.may_order_globally(*earlier.operation, t.op, earlier.cta == t.cta_index))
        throw Unfollowed{"whether a flag in global memory orders two accesses", &t.op, true};
      std::uint32_t decider = decider_of(t.s, e);
      if (v.rule == rules::Rule::proxy_fence && decider == no_branch) decider = may_have_read;
      found({v, &t.op, earlier.operation}, later.is_uncertain || earlier.is_uncertain, decider);
    }
}

void Memory::touch(const Turn& t, EventId id, Bank bank, std::uint32_t first, std::uint32_t end, Mask lanes) {
  const Event& later = t.s.events[id];
  Cta& cta = t.s.ctas[bank.cta];
  use(t, bank.cta);
  if (bank.block < 0 && program_.shared_bytes()) {
    const std::uint32_t bytes = *program_.shared_bytes();
    const rules::Verdict v = rules::memory_bounds(first, end - first, 0, bytes);
    if (v.broken())
      findings_.add(v, t.op, nullptr,
                    std::to_string(end - first) + " bytes at offset " + std::to_string(first) + " of " +
                        std::to_string(bytes) + " bytes of shared memory");
  }
  // A write over a tile makes it unknown.
  if (bank.block < 0 && later.writes && cta.tiles) cta.tiles = tiles_.without(cta.tiles, first, end);
  if (bank.block < 0 && later.writes) cta.forget_unknown(first, end - first);
  if (bank.block < 0 && later.writes && !order::is_strong(t.op)) cta.forget_flags(first, end - first);
  for_cells(bank.in(t.s), first, end, [&](Cell& c) {
    judge(t, id, c, lanes);
    const auto add = [&](Touches& list) {
      for (Touch& e : list)
        if (e.event == id) {
          e.lanes |= lanes;
          return;
        }
      list.push_back({id, lanes});
    };
    if (later.writes && !later.is_uncertain) {
      erase_if(c.writers, [&](const Touch& e) { return e.event != id; });
      c.readers.clear();
      return add(c.writers);
    }
    if (later.writes) return add(c.writers);
    // A thread that knows of this read knows of the earlier ones by the same lanes: threads and queues go in order.
    erase_if(c.readers, [&](const Touch& e) {
      const Event& old = t.s.events[e.event];
      return e.event != id && old.cta == t.cta_index && old.warp == t.warp_index && old.proxy == later.proxy &&
             old.is_async == later.is_async && !(e.lanes & ~lanes);
    });
    add(c.readers);
  });
}

void Memory::clear(Intervals& memory, std::uint32_t first, std::uint32_t end) {
  for_cells(memory, first, end, [](Cell& c) { c.writers.clear(), c.readers.clear(); });
}

// The address that a generic one has in the shared window, if it is known to lie there.
std::optional<std::uint64_t> Memory::generic_address(const Turn& t, const ir::Argument& a, int lane) {
  flow::Terms& terms = values_.symbols().terms();
  return terms.value(terms.subtract(values_.read(t, a, lane, 64), values_.symbols().evaluator().shared_window()));
}

SharedPlace Memory::place(const Turn& t, const ir::Argument& a, int lane, isa::Space space) {
  const auto generic = space == isa::Space::generic ? generic_address(t, a, lane) : std::nullopt;
  const std::uint64_t address = generic ? *generic : values_.number(t, a, lane, 64, "a shared address");
  SharedPlace p{t.cta_index, std::uint32_t(address & flow::shared_window_mask)};
  if (space == isa::Space::shared_cluster || generic) p.cta = std::uint32_t(address) >> isa::cluster_rank_shift;
  if (p.cta >= t.s.ctas.size()) throw Unfollowed{beyond_cluster, &t.op};
  return p;
}

void Memory::overwrite(const Turn& t, EventId id, SharedPlace p, std::uint32_t bytes, Mask lanes) {
  touch(t, id, p, bytes, lanes);
  t.s.ctas[p.cta].forget_words(p.address, bytes);
}

// Where all lanes read, if that is one place in shared memory.
std::optional<SharedPlace> Memory::common_place(const Turn& t, const ir::Argument& address) {
  const isa::Space space = t.op.modifiers.space();
  std::optional<SharedPlace> out;
  for (const int l : Lanes(t.lanes)) {
    if (space == isa::Space::generic && !generic_address(t, address, l)) return std::nullopt;
    const SharedPlace p = place(t, address, l, space);
    if (out && *out != p) return std::nullopt;
    out = p;
  }
  return out;
}

Status Memory::load_or_store(Turn& t) {
  const isa::Modifiers& m = t.op.modifiers;
  const bool loads = t.op.opcode == Opcode::ld || t.op.opcode == Opcode::ldmatrix;
  const ir::Argument& address = shared_operand(t.op);
  const std::uint32_t bytes = bytes_of(t.op);
  const bool is_strong = order::is_strong(t.op);
  std::optional<EventId> id;
  if (loads && is_strong)
    if (const auto p = common_place(t, address); p && flags_.read(t, *p, bytes) == Status::blocked)
      return Status::blocked;
  for (const int l : Lanes(t.lanes)) {
    // Assumption: a generic address that is not known to be shared is global.
    if (m.space() == isa::Space::generic && !generic_address(t, address, l)) continue;
    const SharedPlace p = place(t, address, l, m.space());
    if (!id) id = t.add_access(!loads, Proxy::generic, false);
    if (loads) {
      touch(t, *id, p, bytes, Mask{1} << l);
      continue;
    }
    const auto left = is_strong ? flags_.write(t, *id, p, bytes, l) : std::nullopt;
    overwrite(t, *id, p, bytes, Mask{1} << l);
    if (left) t.s.ctas[p.cta].stored[p.address][int(bytes)] = *left;
    if (t.op.opcode == Opcode::st && !(is_strong && flags_.are_followed())) keep_words(t, p, l);
  }
  if (id) t.warp.learn_own(t.lanes, *id);
  return Status::next;
}

void Memory::keep_words(const Turn& t, SharedPlace p, int lane) {
  if (t.predicates) return;
  const ir::Argument* first = program_.elements(t.op).data();
  const std::uint32_t bytes = isa::element_bytes(t.op.modifiers);
  for (const ir::Argument* word : program_.words(t.at))
    t.s.ctas[p.cta].stored[p.address + std::uint32_t(word - first) * bytes][int(bytes)] =
        values_.read(t, *word, lane, int(bytes) * 8);
}

void Memory::note_tile(const Turn& t, SharedPlace p, const std::optional<Box>& box) {
  Cta& cta = t.s.ctas[p.cta];
  if (!box) {
    cta.tiles = tiles_.without(cta.tiles, p.address, ~std::uint32_t{0});
    return;
  }
  tile::Tile tile = box->layout;
  tile.operation = &t.op;
  tile.address = p.address;
  cta.tiles = tiles_.with(cta.tiles, tile);
  std::erase_if(cta.sums, [&](const auto& sum) { return sum.second.uses(p.address + 1); });
}

}  // namespace kiln::verifier::explore
