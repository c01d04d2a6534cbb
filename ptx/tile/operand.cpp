#include "ptx/tile/operand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace kiln::tile {
namespace {

using isa::Swizzle;
using rules::tile_group_lines;
using u32 = std::uint32_t;

// Elements of a piece along K.
int elements(const SharedOperand& o) { return Tile::piece * 8 / isa::container_bits(o.kind); }

// A box of 16-byte rows and more than one dimension of them: core matrices. Other boxes without a swizzle may hold any
// layout that was prepared in global memory.
bool is_core_matrices(const Tile& t) { return t.pieces == 1 && t.extents[0] < t.rows; }

// Rows that differ along the first dimension of rows alone.
bool same_row_block(const Tile::At& a, const Tile::At& b) {
  return std::equal(a.along.begin() + 1, a.along.end(), b.along.begin() + 1);
}

}  // namespace

TileOperand::TileOperand(const SharedOperand& operand, const CopiedTiles& tiles, char name)
    : operand_(operand), tiles_(tiles), name_(name) {
  if (operand.first_row != 0 || tiles.empty()) return;
  const u32 mask = ~(Tile::piece - 1);
  for_pieces(operand, [&](int, u32 address) {
    if (!places_.empty() && places_[0].tile == 0) return;
    places_.push_back({address & mask, tiles.number_at(address), {}});
  });
  if (places_.empty() || places_[0].tile == 0) return;
  const int per_piece = int(Tile::piece) / operand.container_bytes();
  pieces_ = k_major() ? operand.k_bytes / int(Tile::piece) : (operand.rows + per_piece - 1) / per_piece;
  lines_ = int(places_.size()) / pieces_;
  const Tile& first = tile();
  known_ = swizzled() || is_core_matrices(first);
  if (!known_) return;
  for (Place& p : places_) {
    if (p.tile && !tiles.tile(p.tile).same_shape(first)) p.tile = 0;
    if (p.tile) p.at = tiles.tile(p.tile).find(p.address);
  }
}

std::vector<u32> TileOperand::tiles() const {
  std::vector<u32> out;
  for (const Place& p : places_) out.push_back(p.tile);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Lines between which a descriptor's strides do not matter.
int TileOperand::group_lines() const {
  return !k_major() && operand_.swizzle == Swizzle::b128_atom32 ? tile_group_lines / 2 : tile_group_lines;
}

std::int64_t TileOperand::group_bytes() const { return std::int64_t(group_lines()) * tile().pitch; }

// The dimensions of the box that lines step along.
std::array<bool, Tile::dims> TileOperand::stepped() const {
  std::array<bool, Tile::dims> out{};
  for (int line = 1; line < lines_; ++line) {
    const Place& p = place(line, 0);
    if (p.tile != tile_number()) continue;
    for (std::size_t d = 0; d < out.size(); ++d) out[d] |= p.at.along[d] != places_[0].at.along[d];
  }
  return out;
}

std::optional<TileOperand::Misread> TileOperand::misread() const {
  std::optional<Misread> found = shuffled();
  const bool other_swizzle = found || tile().swizzle != operand_.swizzle;
  if (!found) found = slanted();
  if (!found) found = cut();
  if (!found) found = repeated();
  if (found && other_swizzle) found->got += ": " + layouts(), found->repair = swizzle_repair();
  return found;
}

// Lines that meet different pieces of their rows: the signature of two swizzles.
std::optional<TileOperand::Misread> TileOperand::shuffled() const {
  if (!swizzled()) return {};
  for (int piece = 0; piece < pieces_; ++piece) {
    int first = 0;
    while (first < lines_ && !place(first, piece).tile) ++first;
    for (int line = first + 1; line < lines_; ++line) {
      const Place& p = place(line, piece);
      if (!p.tile) continue;
      const u32 found = p.at.piece, wanted = place(first, piece).at.piece;
      if (rules::sdesc_tile_piece(int(found), int(wanted)).ok()) continue;
      return Misread{fmt::format("{} from byte {} of its row of the tile where {} reads from byte {}", line_name(line),
                                 found * Tile::piece, line_name(first), wanted * Tile::piece),
                     {}};
    }
  }
  return {};
}

// A line that goes on in another line of the tile.
std::optional<TileOperand::Misread> TileOperand::slanted() const {
  const std::array<bool, Tile::dims> steps = stepped();
  const bool core_matrices = k_major() && !swizzled();
  for (int line = 0; line < lines_; ++line) {
    const Place& first = place(line, 0);
    for (int piece = 1; piece < pieces_ && first.tile; ++piece) {
      const Place& p = place(line, piece);
      for (std::size_t d = 0; d < steps.size() && p.tile; ++d) {
        if (!steps[d]) continue;
        const int at = int(p.at.along[d]), begins = int(first.at.along[d]);
        if (rules::sdesc_tile_line(at, begins, core_matrices).ok()) continue;
        return Misread{fmt::format("{} that begins in row {} of the tile and goes on in row {}", line_name(line),
                                   first.at.row, p.at.row),
                       leading_repair(std::int64_t(at) - begins, d)};
      }
    }
  }
  return {};
}

// Groups of lines that are not those of the tile, while that goes on; or that leave some of them out and then the tile.
std::optional<TileOperand::Misread> TileOperand::cut() const {
  const int group = group_lines();
  bool left_out = false;
  for (int line = 0; line + group < lines_; ++line) {
    const Place &p = place(line, 0), &next = place(line + group, 0);
    if (!p.tile || next.address == p.address) continue;
    const Tile& t = tiles_.tile(p.tile);
    const bool goes_on = swizzled() ? p.at.row + u32(group) < t.rows : p.at.along[0] + u32(group) < t.extents[0];
    if (goes_on && t.at(p.at.row + u32(group), p.at.piece) == next.address) continue;
    const bool inside = next.tile == p.tile && same_row_block(next.at, p.at);
    const rules::Verdict v = inside ? rules::sdesc_tile_step(int(next.at.row) - int(p.at.row), group)
                                    : rules::sdesc_tile_end(!goes_on && !left_out);
    left_out |= inside;
    if (v.ok()) continue;
    const std::string where = next.tile == p.tile ? fmt::format("in row {} of it", next.at.row) : "outside of it";
    return Misread{
        fmt::format("{} in row {} of the tile and {} {}", line_name(line), p.at.row, line_name(line + group), where),
        stride_repair("stride", operand_.descriptor.stride, group_bytes())};
  }
  return {};
}

// Lines may be repeated to fill an operand, when there are no others.
bool TileOperand::is_broadcast(int piece) const {
  if (!k_major()) return false;
  std::vector<u32> rows;
  for (int line = 0; line < lines_; ++line)
    if (const Place& p = place(line, piece); p.tile == tile_number()) rows.push_back(p.at.row);
  std::sort(rows.begin(), rows.end());
  return u32(std::unique(rows.begin(), rows.end()) - rows.begin()) == tile().rows;
}

std::optional<TileOperand::Misread> TileOperand::repeated() const {
  std::unordered_map<u32, int> seen;
  seen.reserve(places_.size());
  for (int k = 0; k < int(places_.size()); ++k) {
    const Place& p = places_[std::size_t(k)];
    if (!p.tile) continue;
    const auto [found, fresh] = seen.try_emplace(p.address, k);
    if (fresh) continue;
    const int line = k / pieces_, piece = k % pieces_, earlier = found->second / pieces_;
    // Without a swizzle, columns of core matrices may overlap: windows that slide along a row.
    if (line != earlier && piece != found->second % pieces_ && !swizzled()) continue;
    if (rules::sdesc_tile_once(line != earlier && piece == found->second % pieces_ && is_broadcast(piece)).ok())
      continue;
    const std::string got = fmt::format("{} with bytes that {} reads too, in row {} of the tile", line_name(line),
                                        line == earlier ? "it" : line_name(earlier), p.at.row);
    const bool lines = piece == found->second % pieces_;
    return Misread{got, lines ? stride_repair("stride", operand_.descriptor.stride, group_bytes())
                              : fmt::format("repair: a leading dimension byte offset that keeps the pieces of a line "
                                            "apart, not {}",
                                            operand_.descriptor.leading)};
  }
  return {};
}

std::optional<TileOperand::Start> TileOperand::start() const {
  if (!known_ || lines_ < 2) return {};
  Start s;
  s.at = places_[0].at;
  // Along K, the dimension of the box; -1: pieces of a row.
  int along = -1;
  if (!(k_major() && swizzled())) {
    const Place& next = k_major() ? place(0, 1 % pieces_) : place(1, 0);
    if (next.tile != tile_number()) return {};
    int changes = 0;
    for (int d = 0; d < Tile::dims; ++d)
      if (next.at.along[std::size_t(d)] != s.at.along[std::size_t(d)]) along = d, ++changes;
    if (changes != 1) return {};
  }
  u32& k = along < 0 ? s.at.piece : s.at.along[std::size_t(along)];
  s.k = std::int64_t(k) * (k_major() ? elements(operand_) : 1);
  k = 0;
  s.at.row = 0;
  return s;
}

std::string TileOperand::line_name(int line) const {
  return k_major() ? fmt::format("row {} of {}", line, name_) : fmt::format("K = {} of {}", line, name_);
}

std::string TileOperand::layouts() const {
  const auto word = [](Swizzle s) {
    return s == Swizzle::none ? std::string("no swizzle") : "the " + std::string(isa::spelling(s)) + " swizzle";
  };
  const std::string copied = "the tile was copied with " + word(tile().swizzle);
  if (tile().swizzle != operand_.swizzle) return copied + ", the descriptor says " + word(operand_.swizzle);
  return fmt::format("{}, to {:#x}; the descriptor has it from {:#x} with base offset {}", copied, tile().address,
                     operand_.descriptor.start, operand_.descriptor.base_offset);
}

std::string TileOperand::swizzle_repair() const {
  if (tile().swizzle == Swizzle::none)
    return fmt::format("repair: the {} swizzle in the tensor map", isa::spelling(operand_.swizzle));
  if (tile().swizzle != operand_.swizzle)
    return fmt::format("repair: swizzle code {} in the descriptor, or the descriptor's swizzle in the tensor map",
                       isa::descriptor_code(tile().swizzle));
  if (operand_.descriptor.base_offset != 0) return "repair: base offset 0: copies swizzle by the shared address";
  return fmt::format(
      "repair: rows of the tile are {} bytes apart; so must those of the descriptor be, and begin at one",
      tile().pitch);
}

std::string TileOperand::leading_repair(std::int64_t rows, std::size_t dimension) const {
  if (k_major() && swizzled())
    return fmt::format("repair: the operand must lie in one row of the tile; its start {:#x} does not leave {} bytes",
                       operand_.descriptor.start, operand_.k_bytes);
  if (dimension > 0) return "repair: a leading dimension byte offset that stays in the row";
  return stride_repair("leading", operand_.descriptor.leading,
                       std::int64_t(operand_.descriptor.leading) - rows * tile().pitch);
}

std::string TileOperand::stride_repair(const char* stride, std::uint32_t given, std::int64_t right) const {
  return fmt::format("repair: a {} dimension byte offset of {}, not {}", stride, right, given);
}

}  // namespace kiln::tile
