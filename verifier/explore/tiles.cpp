#include "verifier/explore/tiles.hpp"

#include <algorithm>

#include "ptx/isa/tcgen05.hpp"

namespace kiln::verifier::explore {
namespace {

using tile::Tile;
using u32 = std::uint32_t;

constexpr u32 line_bytes = 128;         // that a swizzle turns around
constexpr std::size_t most_sets = 512;  // beyond, nothing is known of tiles

u32 first_line(u32 at) { return at & ~(line_bytes - 1); }
u32 end_line(u32 at) { return first_line(at + line_bytes - 1); }
u32 end_of(const Tile& t) { return end_line(t.address + t.rows * t.pitch); }

std::vector<std::uint64_t> key(const std::vector<Tile>& tiles) {
  std::vector<std::uint64_t> out;
  for (const Tile& t : tiles) {
    out.insert(out.end(), {reinterpret_cast<std::uintptr_t>(t.operation), t.address, t.pitch, t.pieces, t.rows,
                           std::uint64_t(t.swizzle)});
    out.insert(out.end(), t.extents.begin(), t.extents.end());
  }
  return out;
}

}  // namespace

TileSet TileSets::number(Tiles tiles) {
  if (tiles.empty() || sets_.size() >= most_sets) return 0;
  const auto [found, is_new] = known_.try_emplace(key(tiles), TileSet(sets_.size()));
  if (is_new) sets_.push_back(std::move(tiles));
  return found->second;
}

TileSet TileSets::without(TileSet set, u32 first, u32 end) {
  const auto meets = [&](const Tile& t) { return first_line(t.address) < end && first < end_of(t); };
  if (std::none_of(sets_[set].begin(), sets_[set].end(), meets)) return set;
  Tiles left = sets_[set];
  std::erase_if(left, meets);
  return number(std::move(left));
}

TileSet TileSets::with(TileSet set, const Tile& t) {
  Tiles tiles = sets_[without(set, first_line(t.address), end_of(t))];
  const auto before = [](const Tile& a, const Tile& b) { return a.address < b.address; };
  tiles.insert(std::upper_bound(tiles.begin(), tiles.end(), t, before), t);
  return number(std::move(tiles));
}

const tile::CopiedTiles& TileSets::memory(TileSet set) {
  const auto [found, is_new] = memories_.try_emplace(set);
  if (!is_new || sets_[set].empty()) return found->second;
  u32 end = 0;
  for (const Tile& t : sets_[set]) end = std::max(end, end_of(t));
  found->second.reset(end);
  for (const Tile& t : sets_[set]) found->second.add(t);
  return found->second;
}

std::optional<KnownOperand> KnownOperand::of(const isa::MmaForm& form, u32 instruction, std::uint64_t word, bool is_a) {
  KnownOperand o{form, isa::unpack(instruction, form.kind), word, isa::unpack_shared(word), {}, is_a};
  const auto swizzle = isa::descriptor_swizzle(o.descriptor.swizzle_code);
  if (!swizzle) return std::nullopt;
  o.swizzle = *swizzle;
  const tile::SharedOperand shared = o.shared();
  if (shared.rows <= 0 || tile::undocumented(shared, is_a ? "A" : "B")) return std::nullopt;
  return o;
}

const std::vector<ByteRun>& TileJudge::reads(const tile::SharedOperand& shared) {
  const auto [found, is_new] =
      reads_.try_emplace({isa::pack(shared.descriptor), std::uint64_t(shared.swizzle), std::uint64_t(shared.first_row),
                          std::uint64_t(shared.rows), std::uint64_t(shared.k_bytes), std::uint64_t(shared.major),
                          std::uint64_t(shared.kind)});
  if (!is_new) return found->second;
  std::vector<u32> lines;
  tile::for_pieces(shared, [&](int, u32 at) {
    if (lines.empty() || lines.back() != first_line(at)) lines.push_back(first_line(at));
  });
  std::sort(lines.begin(), lines.end());
  std::vector<ByteRun>& runs = found->second;
  for (const u32 at : lines) {
    if (runs.empty() || runs.back().end < at) runs.push_back({at, at});
    runs.back().end = at + line_bytes;
  }
  return runs;
}

std::optional<TileFinding> TileJudge::judge(TileSet set, const KnownOperand& o,
                                            std::optional<tile::Beginning>& begins) {
  if (set == 0) return std::nullopt;
  const tile::CopiedTiles& tiles = sets_.memory(set);
  const tile::SharedOperand shared = o.shared();
  const u32 first = tiles.number_at(isa::swizzled(o.swizzle, o.descriptor.start, o.descriptor.base_offset));
  if (first == 0) return std::nullopt;
  // Each set numbers its tiles; addresses are the same in all sets.
  const auto begin = [&](const std::optional<tile::TileOperand::Start>& start) {
    if (start) begins = tile::Beginning{&tiles.tile(first), tiles.tile(first).address + 1, *start};
  };
  if (const tile::RightOperands::Known* like = right_.find(shared, tiles, first))
    return begin(like->start), std::nullopt;
  const tile::TileOperand operand(shared, tiles, o.is_a ? 'A' : 'B');
  if (!operand.known()) return std::nullopt;
  if (const auto wrong = operand.misread())
    return TileFinding{rules::breaks(rules::Rule::sdesc_tile), wrong->got, wrong->repair, operand.tile().operation};
  right_.add(shared, tiles, operand);
  begin(operand.start());
  return std::nullopt;
}

std::optional<TileFinding> TileJudge::go_on(tile::Accumulation& sum, const tile::Beginning& a, const tile::Beginning& b,
                                            const KnownOperand& o, const ir::Operation& op) {
  const int k = isa::mma_k(o.form.kind, o.form.sparse, o.shape.k96, o.shape.wide);
  const auto apart = sum.add(a, b, k, o.form.sparse ? 2 : 1, op);
  if (!apart) return std::nullopt;
  return TileFinding{rules::breaks(rules::Rule::sdesc_advance), tile::got(*apart), tile::advance_repair(k),
                     apart->other.operation};
}

}  // namespace kiln::verifier::explore
