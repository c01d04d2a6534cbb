#include "sim/tile/judge.hpp"

#include <algorithm>

#include "ptx/rules/finding.hpp"
#include "sim/async/tma.hpp"
#include "sim/tensor/operands.hpp"

namespace kiln::sim {
namespace {

using tile::CopiedTiles;
using tile::SharedOperand;
using tile::Tile;
using tile::TileOperand;

// A box as it lies in shared memory.
Tile tile_of(const ir::Operation& operation, const Box& box, std::uint32_t address) {
  Tile t;
  t.operation = &operation;
  t.swizzle = box.swizzle();
  t.address = address;
  t.pitch = box.row_pitch();
  t.pieces = box.shared_row_bytes() / Tile::piece;
  t.rows = box.rows();
  t.extents.fill(1);
  t.extents[0] = t.rows;
  if (box.map.pixels || box.picks_rows()) return t;
  for (int d = 1; d < box.map.rank; ++d) t.extents[std::size_t(d - 1)] = box.extent(d);
  return t;
}

// Elements along K of the MMA to one that is stored: of a sparse A, every other one is.
int per_stored(const MmaTask& t) { return t.form.sparse ? 2 : 1; }

}  // namespace

void TileJudge::start(Cluster& cluster, std::uint32_t) {
  if (!cluster.beside) std::erase_if(clusters_, [&](const auto& entry) { return entry.first != &cluster; });
  cluster_ = &cluster;
  now_ = &clusters_[&cluster];
  now_->chains.clear();
  now_->tiles.resize(cluster.ctas.size());
  for (std::size_t k = 0; k < now_->tiles.size(); ++k) now_->tiles[k].reset(cluster.ctas[k].shared.size());
}

void TileJudge::enter(Cluster& cluster) {
  cluster_ = &cluster;
  now_ = &clusters_.at(&cluster);
}

CopiedTiles& TileJudge::tiles_of(std::uint32_t cta) {
  std::size_t k = 0;
  while (cluster_->ctas[k].index != cta) ++k;
  return now_->tiles[k];
}

void TileJudge::transfer(AsyncId id, const Transfer& t) {
  loading_ = t.box ? id : 0;
  box_ = t.box;
}

void TileJudge::access(const Agent&, const ir::Operation& op, const Range& r, AccessKind kind, Proxy, AsyncId id) {
  if (r.space != isa::Space::shared_cta || kind == AccessKind::read) return;
  CopiedTiles& tiles = tiles_of(r.cta);
  if (id && id == loading_)
    tiles.add(tile_of(op, *box_, std::uint32_t(r.address)));
  else
    tiles.forget(r.address, r.bytes);
}

void TileJudge::multiply(AsyncId, const Agent& agent, const MmaTask& t) {
  Cta& issuer =
      *std::find_if(cluster_->ctas.begin(), cluster_->ctas.end(), [&](const Cta& c) { return c.index == agent.cta; });
  for (int k = 0; k < t.members(); ++k) {
    const Cta& cta = member(t, issuer, k);
    const CopiedTiles& tiles = tiles_of(cta.index);
    if (tiles.empty()) continue;
    if (t.mask.generate) continue;  // columns of B that are not read
    const auto b = judge_operand(t, operand_b(t), tiles, 'B');
    if (t.form.a_in_tmem) continue;
    const auto a = judge_operand(t, operand_a(t), tiles, 'A');
    if (a && b) advance(t, cta, *a, *b);
  }
}

// Nothing, unless the operand is known and right, and it is known where along K it begins.
std::optional<TileJudge::Judged> TileJudge::judge_operand(const MmaTask& t, const SharedOperand& shared,
                                                          const CopiedTiles& tiles, char name) {
  const isa::SharedDescriptorFields& d = shared.descriptor;
  const std::uint32_t first = tiles.number_at(isa::swizzled(shared.swizzle, d.start, d.base_offset));
  if (!first) return {};
  const auto judged = [&](const std::optional<TileOperand::Start>& start) {
    return start ? std::optional(Judged{&tiles.tile(first), first, *start}) : std::nullopt;
  };
  if (const tile::RightOperands::Known* like = right_.find(shared, tiles, first)) return judged(like->start);
  const TileOperand operand(shared, tiles, name);
  if (!operand.known()) return {};
  if (const auto wrong = operand.misread()) {
    const ir::Code& code = *cluster_->grid.program.code;
    report(rules::Rule::sdesc_tile, t, wrong->got,
           {{"the tile was copied here", code.where(*operand.tile().operation)}, {wrong->repair, {}}});
    return {};
  }
  right_.add(shared, tiles, operand);
  return judged(operand.start());
}

void TileJudge::advance(const MmaTask& t, const Cta& cta, const Judged& a, const Judged& b) {
  tile::Accumulation& chain = now_->chains[{cta.index, t.d}];
  if (!t.accumulate) chain.clear();
  if (t.disabled != decltype(t.disabled){}) return;
  const auto apart = chain.add(a, b, t.k(), per_stored(t), *t.operation);
  if (!apart) return;
  const ir::Code& code = *cluster_->grid.program.code;
  report(rules::Rule::sdesc_advance, t, tile::got(*apart),
         {{"the other MMA is here", code.where(*apart->other.operation)},
          {"A was copied here", code.where(*a.tile->operation)},
          {"B was copied here", code.where(*b.tile->operation)},
          {tile::advance_repair(t.k()), {}}});
}

void TileJudge::report(rules::Rule rule, const MmaTask& t, const std::string& got, std::vector<diag::Note> notes) {
  if (!reported_.insert({rule, t.operation}).second) return;
  diag::Diagnostic d = rules::finding(rule, got);
  d.where = cluster_->grid.program.code->where(*t.operation);
  d.notes = std::move(notes);
  cluster_->grid.sink.report(std::move(d));
}

}  // namespace kiln::sim
