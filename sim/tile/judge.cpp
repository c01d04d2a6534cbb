#include "sim/tile/judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/rules/finding.hpp"
#include "sim/report.hpp"
#include "sim/tensor_core.hpp"

namespace kiln::sim {
namespace {

bool same(const Tile::At& a, const Tile::At& b) { return a.piece == b.piece && a.row == b.row && a.along == b.along; }

// Elements along K of the MMA to one that is stored: of a sparse A, every other one is.
int per_stored(const MmaTask& t) { return t.form.sparse ? 2 : 1; }

}  // namespace

void TileJudge::start(Cluster& cluster, std::uint32_t) {
  cluster_ = &cluster;
  chains_.clear();
  tiles_.resize(cluster.ctas.size());
  for (std::size_t k = 0; k < tiles_.size(); ++k) tiles_[k].reset(cluster.ctas[k].shared.size());
}

CopiedTiles& TileJudge::tiles_of(std::uint32_t cta) {
  std::size_t k = 0;
  while (cluster_->ctas[k].index != cta) ++k;
  return tiles_[k];
}

void TileJudge::transfer(AsyncId id, const Transfer& t) {
  loading_ = t.box ? id : 0;
  box_ = t.box;
}

void TileJudge::access(const Agent&, const ir::Operation& op, const Range& r, AccessKind kind, Proxy, AsyncId id) {
  if (r.space != isa::Space::shared_cta || kind == AccessKind::read) return;
  CopiedTiles& tiles = tiles_of(r.cta);
  if (id && id == loading_)
    tiles.add(Tile::of(op, *box_, std::uint32_t(r.address)));
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
  if (const RightOperands::Known* like = right_.find(shared, tiles, first)) return judged(like->start);
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
  Chain& chain = chains_[{cta.index, t.d}];
  if (!t.accumulate) chain = {};
  if (t.disabled != decltype(t.disabled){}) return;
  const bool goes_on =
      chain.a == a.number && chain.b == b.number && same(chain.a_at, a.start.at) && same(chain.b_at, b.start.at);
  if (!goes_on) chain = {a.number, b.number, a.start.at, b.start.at, {}};
  const rules::KSlices now{a.start.k * per_stored(t), b.start.k};
  const auto wrong = std::find_if(chain.slices.begin(), chain.slices.end(), [&](const Chain::Slice& e) {
    return rules::sdesc_advance(e.k, now, t.k()).broken();
  });
  if (wrong != chain.slices.end()) return report_advance(t, a, b, now, *wrong);
  const auto is_now = [&](const Chain::Slice& s) { return s.k == now; };
  if (std::none_of(chain.slices.begin(), chain.slices.end(), is_now)) chain.slices.push_back({now, t.operation});
}

void TileJudge::report_advance(const MmaTask& t, const Judged& a, const Judged& b, rules::KSlices now,
                               const Chain::Slice& other) {
  const ir::Code& code = *cluster_->grid.program.code;
  const std::string repair =
      fmt::format("repair: the same {} elements of both in each MMA; addresses in descriptors count {} bytes", t.k(),
                  isa::descriptor_unit_bytes);
  report(rules::Rule::sdesc_advance, t,
         fmt::format("A from K = {} of its tile and B from K = {}, where another MMA of this accumulator has {} and {}",
                     now.a, now.b, other.k.a, other.k.b),
         {{"the other MMA is here", code.where(*other.operation)},
          {"A was copied here", code.where(*a.tile->operation)},
          {"B was copied here", code.where(*b.tile->operation)},
          {repair, {}}});
}

void TileJudge::report(rules::Rule rule, const MmaTask& t, const std::string& got, std::vector<diag::Note> notes) {
  if (!reported_.insert({rule, t.operation}).second) return;
  diag::Diagnostic d = rules::finding(rule, got);
  d.where = cluster_->grid.program.code->where(*t.operation);
  d.notes = std::move(notes);
  cluster_->grid.sink.report(std::move(d));
}

}  // namespace kiln::sim
