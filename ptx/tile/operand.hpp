// An operand of the tensor core as its descriptor finds it in copied tiles.
//
// Its lines are rows where K is contiguous, else the steps along K; each line is some pieces of 16 bytes. An operand is
// judged in the tile of its first piece. Only pieces that copies of the same shape have brought are judged: other rows
// may come from another source, or have no meaning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ptx/rules/shared_tile.hpp"
#include "ptx/tile/copied.hpp"

namespace kiln::tile {

class TileOperand {
 public:
  struct Place {
    std::uint32_t address = 0;
    std::uint32_t tile = 0;  // its number; 0: of none, or of another shape than the first
    Tile::At at{};
  };
  /// What is wrong with how the descriptor reads, in words.
  struct Misread {
    std::string got{};
    std::string repair{};
  };

  /// Of shared memory with these tiles. `name` is A or B.
  TileOperand(const SharedOperand& operand, const CopiedTiles& tiles, char name);

  /// Whether the operand can be judged: its first piece was copied, in a layout that shows what belongs together.
  bool known() const { return known_; }
  const Tile& tile() const { return tiles_.tile(places_[0].tile); }
  std::uint32_t tile_number() const { return places_[0].tile; }
  /// The numbers of all tiles that it lies in; 0 among them where there is none, or one of another shape.
  std::vector<std::uint32_t> tiles() const;
  std::optional<Misread> misread() const;

  /// Where the operand begins in its tile: along K in elements as the MMA counts them, and everything else.
  struct Start {
    std::int64_t k = 0;
    Tile::At at{};  // without what lies along K
  };
  std::optional<Start> start() const;

 private:
  const Place& place(int line, int piece) const { return places_[std::size_t(line * pieces_ + piece)]; }
  bool k_major() const { return operand_.major == isa::Major::K; }
  bool swizzled() const { return operand_.swizzle != isa::Swizzle::none || tile().swizzle != isa::Swizzle::none; }
  int group_lines() const;
  std::int64_t group_bytes() const;
  std::array<bool, Tile::dims> stepped() const;
  bool is_broadcast(int piece) const;

  std::optional<Misread> shuffled() const;
  std::optional<Misread> slanted() const;
  std::optional<Misread> cut() const;
  std::optional<Misread> repeated() const;

  std::string line_name(int line) const;
  std::string layouts() const;
  std::string swizzle_repair() const;
  std::string leading_repair(std::int64_t rows, std::size_t dimension) const;
  std::string stride_repair(const char* stride, std::uint32_t given, std::int64_t right) const;

  const SharedOperand& operand_;
  const CopiedTiles& tiles_;
  char name_;
  bool known_ = false;
  int lines_ = 0, pieces_ = 0;
  std::vector<Place> places_{};
};

}  // namespace kiln::tile
