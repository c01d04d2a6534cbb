#include "sim/views/memory_map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/ops/operations.hpp"
#include "sim/core/machine.hpp"
#include "sim/tensor/core.hpp"
#include "sim/views/words.hpp"

namespace kiln::sim {
namespace {

constexpr std::uint32_t word_bytes = 4;
constexpr int columns = isa::tmem_columns, lanes = isa::tmem_lanes;

// Cuts a set of cells into rectangles: runs of columns, grown downwards while the next lane has the same run.
std::vector<TensorArea> areas_of(std::vector<bool> cells) {
  const auto at = [&](int lane, int column) { return cells[std::size_t(lane * columns + column)]; };
  std::vector<TensorArea> out;
  for (int lane = 0; lane < lanes; ++lane)
    for (int column = 0; column < columns; ++column) {
      if (!at(lane, column)) continue;
      TensorArea a{lane, 1, column, 0};
      while (column + a.columns < columns && at(lane, column + a.columns)) ++a.columns;
      const auto same = [&](int next) {
        if (column > 0 && at(next, column - 1)) return false;
        for (int c = 0; c < a.columns; ++c)
          if (!at(next, column + c)) return false;
        return column + a.columns == columns || !at(next, column + a.columns);
      };
      while (lane + a.lanes < lanes && same(lane + a.lanes)) ++a.lanes;
      for (int l = lane; l < lane + a.lanes; ++l)
        for (int c = column; c < column + a.columns; ++c) cells[std::size_t(l * columns + c)] = false;
      out.push_back(a);
    }
  return out;
}

// Where the region ends that holds an address; 0 if none does.
std::uint32_t end_of_region(const std::vector<SharedRegion>& regions, std::uint32_t at) {
  for (const SharedRegion& r : regions)
    if (at - r.begin < r.bytes) return r.begin + r.bytes;
  return 0;
}

MmaUse use_of(const MmaTask& t) {
  const bool scaled = isa::is_block_scaled(t.form.kind);
  return {t.form,
          t.shape.m,
          t.shape.n,
          t.k(),
          t.a_type(),
          t.b_type(),
          scaled ? isa::ScalarType::f32 : isa::d_type(t.shape.d_type),
          t.shape.a_major,
          t.shape.b_major,
          t.a_swizzle,
          t.b_swizzle};
}

}  // namespace

void MemoryMapper::start(Cluster& cluster, std::uint32_t launch) {
  over_ = cluster_ != nullptr || launch != 0;
  if (over_) return;
  cluster_ = &cluster;
  const Layout& layout = cluster.grid.program.layout;
  for (const Cta& c : cluster.ctas) {
    CtaUse& u = ctas_[c.index];
    u.map.cta = fmt::format("CTA ({}, {}, {})", c.id.x, c.id.y, c.id.z);
    u.map.rank = c.rank;
    u.map.shared_begin = reserved_shared_bytes;
    u.map.shared_bytes = layout.shared_bytes - reserved_shared_bytes;
    for (const Layout::SharedSymbol& s : layout.shared)
      u.symbols.push_back({s.offset, s.bytes, s.name, {}, {}, false, {}});
  }
}

MemoryMapper::CtaUse* MemoryMapper::used(std::uint32_t cta) {
  if (over_) return nullptr;
  const auto found = ctas_.find(cta);
  return found == ctas_.end() ? nullptr : &found->second;
}

void MemoryMapper::access(const Agent&, const ir::Operation& op, const Range& r, AccessKind kind, Proxy proxy,
                          AsyncId id) {
  if (over_ || r.space == isa::Space::global) return;
  CtaUse* u = used(r.cta);
  if (!u) return;
  if (last_.first != &op) {
    last_.first = &op;
    last_.second.role = std::string(role_of(cluster_->grid.program, op));
    last_.second.instruction = std::string(isa::spelling(op.opcode));
  }
  MapUse& use = last_.second;
  use.proxy = proxy, use.kind = kind, use.operand = r.operand;
  if (r.space == isa::Space::reg) return touch_tensor(*u, use, r);
  touch_shared(*u, use, r);
  if (id && id == moved_) {
    Tile& tile = u->tiles[std::uint32_t(r.address)];
    tile.bytes = std::max(tile.bytes, std::uint32_t(r.bytes));
    if (("," + tile.content + ",").find("," + buffer_ + ",") == std::string::npos)
      tile.content += (tile.content.empty() ? "" : ",") + buffer_;
  }
}

void MemoryMapper::touch_tensor(CtaUse& u, const MapUse& use, const Range& r) {
  std::vector<bool>& cells = u.cells[use];
  cells.resize(std::size_t(lanes * columns));
  const int first = int(r.address & 0xFFFF), count = int(r.bytes / 4), lane = int(r.address >> 16);
  for (int l = lane; l < std::min(lane + int(r.rows), lanes); ++l)
    std::fill_n(cells.begin() + l * columns + first, std::min(count, columns - first), true);
}

void MemoryMapper::touch_shared(CtaUse& u, const MapUse& use, const Range& r) {
  std::vector<bool>& words = u.words[use];
  words.resize((u.map.shared_begin + u.map.shared_bytes + word_bytes - 1) / word_bytes);
  const std::size_t first = r.address / word_bytes, end = (r.address + r.bytes + word_bytes - 1) / word_bytes;
  for (std::size_t k = first; k < std::min(end, words.size()); ++k) words[k] = true;
}

void MemoryMapper::transfer(AsyncId id, const Transfer& t) {
  if (over_) return;
  moved_ = id;
  buffer_ = buffer_name(cluster_->grid, t.global);
}

void MemoryMapper::sync(const Agent&, const ir::Operation* op, const Sync& s) {
  CtaUse* u = used(s.cta);
  if (!u) return;
  if (s.kind == SyncKind::mbarrier_init) u->mbarriers.insert(std::uint32_t(s.object));
  const bool uses_barrier = s.kind == SyncKind::mbarrier_init || s.kind == SyncKind::mbarrier_arrive ||
                            s.kind == SyncKind::mbarrier_expect || s.kind == SyncKind::mbarrier_observe ||
                            s.kind == SyncKind::mbarrier_use || s.kind == SyncKind::tcgen05_commit;
  if (uses_barrier && op) {
    const bool observes = s.kind == SyncKind::mbarrier_observe;
    const MapUse use{std::string(role_of(cluster_->grid.program, *op)), std::string(isa::spelling(op->opcode)),
                     Proxy::generic, observes ? AccessKind::read : AccessKind::write, Operand::none};
    touch_shared(*u, use, {isa::Space::shared_cta, s.cta, s.object, isa::mbarrier_bytes, 1});
  }
  if (s.kind == SyncKind::tmem_alloc) {
    u->map.allocations.push_back({int(s.object), int(s.value), {}});
    if (op)
      for (const ir::Argument& x : cluster_->grid.program.code->components(ops::roles<ops::TmemAllocation>(*op).slot))
        if (x.kind == ir::Argument::Kind::symbol)
          u->map.allocations.back().name = cluster_->grid.program.code->symbols[x.id].variable->name;
  }
}

void MemoryMapper::multiply(AsyncId, const Agent& a, const MmaTask& t) {
  CtaUse* u = used(a.cta);
  if (!u) return;
  const MmaUse use = use_of(t);
  if (std::find(u->map.mmas.begin(), u->map.mmas.end(), use) == u->map.mmas.end()) u->map.mmas.push_back(use);
}

// The name of bytes that the kernel's static variables give; empty outside them.
std::string MemoryMapper::name_of(const CtaUse& u, std::uint32_t at, std::uint32_t bytes) {
  for (const SharedRegion& s : u.symbols) {
    if (at - s.begin >= s.bytes) continue;
    if (s.bytes <= bytes) return s.name;
    const std::uint32_t inside = at - s.begin;
    return inside % bytes == 0 ? fmt::format("{}[{}]", s.name, inside / bytes) : fmt::format("{}+{}", s.name, inside);
  }
  return {};
}

// mbarriers; the boxes that TMA moves; static variables that hold neither; what else was touched.
void MemoryMapper::lay_out(CtaUse& u) {
  std::vector<SharedRegion>& regions = u.map.shared;
  for (const std::uint32_t at : u.mbarriers)
    regions.push_back({at, isa::mbarrier_bytes, name_of(u, at, isa::mbarrier_bytes), {}, {}, true, {}});
  for (const auto& [at, tile] : u.tiles)
    if (!end_of_region(regions, at))
      regions.push_back({at, tile.bytes, name_of(u, at, tile.bytes), tile.content, {}, false, {}});
  for (const SharedRegion& s : u.symbols) {
    bool apart = true;
    for (const SharedRegion& r : regions) apart &= r.begin >= s.begin + s.bytes || s.begin >= r.begin + r.bytes;
    if (apart) regions.push_back(s);
  }
  add_rest(u);
  std::sort(regions.begin(), regions.end(), [](const auto& x, const auto& y) { return x.begin < y.begin; });
}

void MemoryMapper::add_rest(CtaUse& u) {
  std::vector<SharedRegion>& regions = u.map.shared;
  const std::uint32_t end = u.map.shared_begin + u.map.shared_bytes;
  const auto touched = [&](std::uint32_t x) {
    return std::any_of(u.words.begin(), u.words.end(), [=](const auto& w) { return w.second[x / word_bytes]; });
  };
  for (std::uint32_t at = u.map.shared_begin; at < end;) {
    if (const std::uint32_t next = end_of_region(regions, at)) {
      at = next;
      continue;
    }
    std::uint32_t stop = at;
    while (stop < end && !end_of_region(regions, stop) && touched(stop)) stop += word_bytes;
    if (stop > at) regions.push_back({at, stop - at, name_of(u, at, stop - at), {}, {}, false, {}});
    at = std::max(stop, at + word_bytes);
  }
}

std::vector<MemoryMap> MemoryMapper::take() {
  std::vector<MemoryMap> out;
  for (auto& [index, u] : ctas_) {
    for (const auto& [use, cells] : u.cells) u.map.tensor.push_back({use, areas_of(cells)});
    lay_out(u);
    for (SharedRegion& r : u.map.shared)
      for (const auto& [use, words] : u.words) {
        const auto first = words.begin() + std::ptrdiff_t(r.begin / word_bytes);
        const auto end = words.begin() + std::ptrdiff_t((r.begin + r.bytes + word_bytes - 1) / word_bytes);
        if (std::find(first, end, true) == end) continue;
        r.uses.push_back(use);
        for (const MmaUse& m : u.map.mmas)
          if (use.operand == Operand::a || use.operand == Operand::b)
            r.swizzle = isa::spelling(use.operand == Operand::a ? m.a_swizzle : m.b_swizzle);
      }
    out.push_back(std::move(u.map));
  }
  ctas_.clear();
  return out;
}

}  // namespace kiln::sim
