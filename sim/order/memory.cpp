// From an access to the cells that it touches: each is judged against what the cell remembers, then recorded.
//
// Neighbouring cells mostly remember the same and get the same verdict, so a cell that looks like the one before is
// not judged again: it becomes what that one became, list and all.
#include "sim/order/memory.hpp"

#include <algorithm>

#include "ptx/rules/order.hpp"

namespace kiln::sim {

class Memory::Sweep {
 public:
  Sweep(Memory& memory, const Agent& a, AccessId id, const Range& range, AccessKind kind)
      : memory_(memory),
        records_(memory.records_),
        knowledge_(memory.agents_[a]),
        later_{records_[id], first_lane(a.lanes), a.lanes, kind != AccessKind::read, range.space},
        as_write_{records_[id], first_lane(a.lanes), a.lanes, true, range.space},
        range_(range),
        id_(id),
        rewrites_(kind == AccessKind::rewrite),
        rounds_(kind == AccessKind::rounded),
        transitive_(!later_.access.is_async || isa::unit(later_.access.operation->opcode) == isa::Unit::tcgen05) {}

  // Touches cells [first, end), `bytes` of each.
  void cells(Shadow& shadow, std::size_t first, std::size_t end, std::uint16_t bytes) {
    while (first < end) {
      const std::size_t before = first;
      for (const Memo::Judged& j : memory_.memo_.judged)
        if (j.bytes == bytes) first = shadow.replace(first, end, j.before, j.after);
      if (first == before) cell(shadow, first++, bytes);
    }
  }

 private:
  void cell(Shadow& shadow, std::size_t at, std::uint16_t bytes) {
    Memo& memo = memory_.memo_;
    Memo::Judged& j = memo.judged[memo.next++ % memo.judged.size()];
    memory_.forget(j);
    j.bytes = bytes;
    j.before = shadow.at(at);
    memory_.lists_.keep(j.before.more);
    judge_all(shadow, at, bytes);
    write_down(shadow, at, {id_, later_.lanes, bytes});
    j.after = shadow.at(at);
    memory_.lists_.keep(j.after.more);
  }

  Earlier earlier(const Touch& t, bool writes) const {
    return {records_[t.access], t.lanes, writes, records_.completion_of(records_[t.access])};
  }

  void judge_all(const Shadow& shadow, std::size_t at, std::uint16_t bytes) {
    kept_.clear();
    shadow.each(at, bytes, [&](const TouchLists::Entry& entry) {
      const Touch& t = entry.touch;
      if (t.access == id_ && t.lanes == later_.lanes) return;
      const Earlier e = earlier(t, entry.is_write);
      if (e.access.async && e.access.async == later_.access.async) return;
      const bool exempt = is_exempt(e);
      if (later_.writes && !is_superseded(e, exempt))
        kept_.push_back(
            {{t.access, t.lanes, t.bytes & bytes}, e.writes, true, entry.is_replaced || !is_update(later_.access)});
      if (exempt) return;
      auto broken = judge(e, later_, knowledge_);
      // An instruction of the whole warp is executed once all lanes are there: what one of them knows will do.
      Later other = later_;
      for (Mask rest = later_.lanes & (later_.lanes - 1); broken && rest; rest &= rest - 1) {
        other.lane = first_lane(rest);
        const auto of_lane = judge(e, other, knowledge_);
        if (!of_lane || rules::info(*of_lane).severity != diag::Severity::error) broken = of_lane;
      }
      // The reads after the write are judged by themselves.
      if (broken && e.writes && later_.writes && has_landed(shadow, at, t.access, t.bytes & bytes)) return;
      if (broken && e.writes && !entry.is_replaced && is_observed(shadow, at, t.access, t.bytes & bytes)) return;
      const bool is_rounding = rounds_ && e.writes && !e.access.is_async &&
                               order::leave_the_same(*e.access.operation, *later_.access.operation, true);
      if (broken && is_rounding) {
        const rules::Verdict v = rules::race_rounding(false);
        broken = v.broken() ? std::optional(v.rule) : std::nullopt;
      }
      if (broken) memory_.reports_.report(*broken, e, later_, range_);
    });
  }

  // Pairs that are no race whatever orders them.
  bool is_exempt(const Earlier& e) const {
    const Access &then = e.access, &now = later_.access;
    if (are_morally_strong(then, now)) return true;
    if (!e.writes || !later_.writes) return false;
    // The CTAs of a pair free their columns together.
    if (order::free_together(*then.operation, *now.operation)) return true;
    return (!then.is_async && order::leave_the_same(*then.operation, *now.operation, rewrites_)) || is_same_copy(then);
  }

  // Whether this write takes the place of the earlier access, so that later accesses are judged against the write
  // alone. It does not where the pair is exempt without being ordered. It does not where the write is strong and the
  // earlier access is weaker: a later strong access may conflict with that one and not with the write.
  bool is_superseded(const Earlier& e, bool exempt) const {
    if (!is_as_strong_as(e.access, later_.access)) return false;
    return !exempt || (e.access.proxy == later_.access.proxy && is_known(e, later_, knowledge_));
  }

  // Lanes that execute one copy with the same source write the same bytes: CUTLASS has a whole warp issue a tensor
  // store.
  bool is_same_copy(const Access& then) const {
    const Access& now = later_.access;
    return then.is_async && now.is_async && then.operation == now.operation && then.is_same_thread_as(now) &&
           then.epoch == now.epoch && then.tick == now.tick && then.source != Access::no_source &&
           then.source == now.source;
  }

  // Whether what a write left has been read, and the later access knows of that: the write has landed where the reader
  // looked, it was judged against the read, and a write over it must only come after the reads. An asynchronous read
  // that is complete hands over nothing of what its issuer knew, so this may be all that is known of the write.
  bool has_landed(const Shadow& shadow, std::size_t at, AccessId write, std::uint16_t bytes) const {
    if (later_.space == isa::Space::reg) return false;
    std::uint16_t seen = 0;
    shadow.each(at, bytes, [&](const TouchLists::Entry& entry) {
      const Touch& t = entry.touch;
      if (entry.is_write || (entry.is_kept && t.access < write)) return;
      if (are_morally_strong(records_[write], records_[t.access])) return;  // and so not judged
      if (is_known(earlier(t, false), later_, knowledge_)) seen = std::uint16_t(seen | t.bytes);
    });
    return (bytes & ~seen) == 0;
  }

  // Whether a strong write comes before in causality order because it has been observed: by a strong read or an atom,
  // after which the later access comes. What else its thread did is not handed over. A red lets its thread conclude
  // nothing: in another run it comes first. PTX ISA "Observation Order", "Causality Order".
  bool is_observed(const Shadow& shadow, std::size_t at, AccessId write, std::uint16_t bytes) const {
    const Access& x = records_[write];
    if (!x.strong || later_.space == isa::Space::reg) return false;
    std::uint16_t seen = 0;
    shadow.each(at, bytes, [&](const TouchLists::Entry& entry) {
      const Touch& t = entry.touch;
      const Access& r = records_[t.access];
      const bool observes =
          entry.is_write ? t.access > write && r.operation->opcode == isa::Opcode::atom : !entry.is_kept;
      if (!observes || !are_morally_strong(x, r)) return;
      const Earlier as_write = earlier(t, true);
      if (is_known(as_write, later_, knowledge_) && !judge(as_write, later_, knowledge_))
        seen = std::uint16_t(seen | t.bytes);
    });
    return (bytes & ~seen) == 0;
  }
  static bool is_update(const Access& x) {
    return x.operation->opcode == isa::Opcode::atom || x.operation->opcode == isa::Opcode::red;
  }

  void write_down(Shadow& shadow, std::size_t at, const Touch& t) {
    if (later_.writes) {
      shadow.write(at, t);
      for (const TouchLists::Entry& e : kept_) shadow.keep(at, e);
      return;
    }
    // A read takes the place of those that a write in its place would need no fence after.
    shadow.read(at, t, [&](const Touch& old) {
      if (!transitive_) return false;
      const Access &then = records_[old.access], &now = later_.access;
      if (!is_as_strong_as(then, now)) return false;
      // A strong read observes; what its thread does next rests on that.
      if (then.strong && !(now.strong && then.is_same_thread_as(now))) return false;
      if (then.is_same_thread_as(now) && old.lanes == later_.lanes && then.is_async == now.is_async &&
          then.operation->opcode == now.operation->opcode)
        return true;
      const Earlier e = earlier(old, false);
      return is_known(e, later_, knowledge_) && !judge(e, as_write_, knowledge_);
    });
  }

  Memory& memory_;
  const Records& records_;
  const WarpKnowledge& knowledge_;
  const Later later_, as_write_;
  const Range& range_;
  const AccessId id_;
  const bool rewrites_, rounds_, transitive_;
  std::vector<TouchLists::Entry> kept_;  // what the write does not supersede, of the current cell
};

void Memory::forget(Memo::Judged& j) {
  if (j.bytes == 0) return;
  lists_.drop(j.before.more);
  lists_.drop(j.after.more);
  j.bytes = 0;
}

void Memory::forget() {
  for (Memo::Judged& j : memo_.judged) forget(j);
}

void Memory::forget_all() {
  forget();
  for (CtaState& c : ctas_) c.shared.forget(), c.tensor.forget();
}

void Memory::start(const Cluster& cluster) {
  forget_all();  // shadows keep their memory from one cluster to the next
  ctas_.resize(cluster.ctas.size());
  for (std::size_t rank = 0; rank < ctas_.size(); ++rank) {
    ctas_[rank].shared.start(lists_, cluster.ctas[rank].shared.size() / Shadow::granule + 1);
    ctas_[rank].tensor.start(lists_, tensor_memory_cells);
    ctas_[rank].frees = 0;
  }
}

// Ranges of one access often come one by one, and nothing has happened in between. What a copy reads matters where its
// writes are judged.
void Memory::touch(const Agent& a, AccessId id, const Range& range, AccessKind kind) {
  const Access& x = records_[id];
  const std::uint64_t source = kind == AccessKind::read ? Access::no_source : x.source;
  const Memo::Key key{events_, id, a.lanes, kind, range.space, x.accumulator, source};
  if (key != memo_.key) {
    forget();
    memo_.key = key;
  }
  Sweep sweep(*this, a, id, range, kind);
  if (range.space == isa::Space::reg)
    touch_tensor(sweep, range);
  else
    touch_bytes(sweep, range);
}

void Memory::touch_bytes(Sweep& sweep, const Range& range) {
  const bool is_global = range.space == isa::Space::global;
  Shadow* shadow = is_global ? nullptr : &ctas_[agents_.rank(range.cta)].shared;
  const std::uint64_t end = range.address + range.bytes;
  for (std::uint64_t at = range.address; at < end;) {
    const std::uint64_t base = at / Shadow::granule * Shadow::granule;
    const std::uint64_t page = base / GlobalShadow::page_bytes;
    const std::uint64_t limit = is_global ? std::min(end, (page + 1) * GlobalShadow::page_bytes) : end;
    // Whole granules together, else the part of one.
    const std::uint64_t count = at == base ? std::max<std::uint64_t>(1, (limit - base) / Shadow::granule) : 1;
    const std::uint64_t next = std::min(end, base + count * Shadow::granule);
    if (is_global) shadow = &global_.page(page);
    const std::size_t cell = (is_global ? base % GlobalShadow::page_bytes : base) / Shadow::granule;
    const std::uint64_t last = count > 1 ? base + Shadow::granule : next;
    const std::size_t cells_end = std::min<std::size_t>(cell + count, shadow->size());
    sweep.cells(*shadow, cell, cells_end, Shadow::mask(at - base, last - base));
    at = next;
  }
}

void Memory::touch_tensor(Sweep& sweep, const Range& range) {
  Shadow& shadow = ctas_[agents_.rank(range.cta)].tensor;
  const auto lane = std::uint32_t(range.address >> 16), column = std::uint32_t(range.address & 0xFFFF);
  const auto columns = std::min(std::uint32_t(range.bytes / 4), std::uint32_t(isa::tmem_columns) - column);
  const std::uint32_t end = std::min(lane + range.rows, std::uint32_t(isa::tmem_lanes));
  for (std::uint32_t l = lane; l < end;) {
    const std::uint32_t block = l / tensor_block_lanes, first = block * tensor_block_lanes;
    const std::uint32_t next = std::min<std::uint32_t>(end, first + tensor_block_lanes);
    const std::size_t cell = std::size_t(block) * isa::tmem_columns + column;
    sweep.cells(shadow, cell, cell + columns, Shadow::mask(l - first, next - first));
    l = next;
  }
}

// Freeing columns is a write to all of them.
void Memory::dealloc(const Agent& a, AccessId id, Range columns, std::optional<std::uint32_t> peer) {
  touch(a, id, columns, AccessKind::write);
  CtaState& own = ctas_[agents_.rank(a.cta)];
  for (int block = 0; block < isa::tmem_lanes / tensor_block_lanes; ++block)
    own.tensor.forget(std::size_t(block) * isa::tmem_columns + columns.address, columns.bytes / 4);
  // Columns that the peer has freed before belong to no allocation any more.
  ++own.frees;
  if (!peer || ctas_[agents_.rank(*peer)].frees >= own.frees) return;
  columns.cta = *peer;
  touch(a, id, columns, AccessKind::write);
}

std::size_t Memory::shadow_bytes() const {
  std::size_t bytes = 0;
  for (const CtaState& c : ctas_) bytes += c.shared.memory() + c.tensor.memory();
  return bytes;
}

void GlobalShadow::start_launch(const Grid& grid, Records& records, bool is_early) {
  prior_access_ = 0;
  last_ = nullptr;
  const std::optional<launch::PriorGrid>& pdl = grid.launch.pdl;
  if (!pdl) {
    for (auto& [number, page] : pages_) page->forget();
    pages_.clear();
    buffers_.clear();
    return;
  }
  if (!is_early) buffers_.clear();
  // What that grid did has no instruction here, and every record has one.
  static const ir::Operation operation{.opcode = isa::Opcode::griddepcontrol};
  const auto [component, epoch] = end_of_prior_grid;
  prior_access_ =
      records.add({.operation = &operation, .cluster = prior_cluster, .component = component, .epoch = epoch});
  for (const auto* names : {&pdl->writes, &pdl->reads})
    for (const std::string& name : *names) {
      const std::uint64_t address = grid.memory.address(name);
      buffers_.push_back({address, grid.memory.region(address)->bytes, names == &pdl->writes});
    }
  // What the launch that has ended touched is now what the prior grid touches.
  for (auto& [number, page] : pages_) {
    for (std::size_t cell = 0; cell < page->size(); ++cell) {
      std::uint32_t written = 0, read = 0;
      page->each(cell, Shadow::mask(0, Shadow::granule), [&](const TouchLists::Entry& e) {
        if (is_early || records[e.touch.access].cluster != prior_cluster)
          (e.is_write ? written : read) |= e.touch.bytes;
      });
      page->forget(cell, 1);
      if (written) page->write(cell, {prior_access_, 1, written});
      if (read & ~written) add_prior_read(*page, cell, read & ~written);
    }
    add_buffers(*page, number);
  }
}

void GlobalShadow::add_prior_read(Shadow& page, std::size_t cell, std::uint32_t bytes) const {
  page.read(cell, {prior_access_, 1, bytes}, [](const Touch&) { return false; });
}

Shadow& GlobalShadow::page(std::uint64_t number) {
  if (number == last_number_ && last_) return *last_;
  auto& page = pages_[number];
  if (!page) {
    page = std::make_unique<Shadow>();
    page->start(lists_, page_bytes / Shadow::granule);
    add_buffers(*page, number);
  }
  last_number_ = number;
  return *(last_ = page.get());
}

void GlobalShadow::add_buffers(Shadow& page, std::uint64_t number) const {
  const std::uint64_t first = number * page_bytes, last = first + page_bytes;
  for (const Buffer& b : buffers_) {
    const std::uint64_t end = std::min(last, b.address + b.bytes);
    for (std::uint64_t at = std::max(first, b.address), next; at < end; at = next) {
      const std::uint64_t base = at / Shadow::granule * Shadow::granule;
      next = std::min(end, base + Shadow::granule);
      const std::uint32_t bytes = Shadow::mask(at - base, next - base);
      const std::size_t cell = std::size_t(base - first) / Shadow::granule;
      if (b.writes)
        page.write(cell, {prior_access_, 1, bytes});
      else
        add_prior_read(page, cell, bytes);
    }
  }
}

}  // namespace kiln::sim
