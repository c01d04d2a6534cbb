#include "ptx/tile/right.hpp"

#include <algorithm>

namespace kiln::tile {
namespace {

using u32 = std::uint32_t;

constexpr std::size_t most = 64;  // kernels have a few layouts, and as many slices of a tile

// A tile moved to the first address from which swizzles do the same.
Tile shape_of(const Tile& t) {
  Tile shape = t;
  shape.operation = nullptr;
  shape.address %= u32(isa::period_bytes(isa::Swizzle::b128));
  return shape;
}

isa::SharedDescriptorFields relative(isa::SharedDescriptorFields d, const Tile& t) {
  d.start -= t.address;
  return d;
}

bool is_like(const RightOperands::Known& k, const SharedOperand& o, const Tile& shape) {
  return k.rows == o.rows && k.k_bytes == o.k_bytes && k.major == o.major && k.kind == o.kind &&
         k.shape.address == shape.address && k.shape.rows == shape.rows && k.shape.same_shape(shape);
}

}  // namespace

const RightOperands::Known* RightOperands::find(const SharedOperand& o, const CopiedTiles& tiles, u32 first) const {
  const Tile& tile = tiles.tile(first);
  if (!tile.whole || o.first_row != 0 || o.descriptor.leading_is_absolute) return nullptr;
  const Tile shape = shape_of(tile);
  const isa::SharedDescriptorFields descriptor = relative(o.descriptor, tile);
  for (const Known& k : known_) {
    if (!(k.descriptor == descriptor) || !is_like(k, o, shape)) continue;
    const auto is_there = [&](u32 offset) {
      const u32 address = tile.address + offset, number = tiles.number_at(address);
      return number && tiles.tile(number).address == address && tiles.tile(number).whole &&
             tiles.tile(number).same_shape(tile);
    };
    if (std::all_of(k.tiles.begin(), k.tiles.end(), is_there)) return &k;
  }
  return nullptr;
}

void RightOperands::add(const SharedOperand& o, const CopiedTiles& tiles, const TileOperand& operand) {
  if (known_.size() == most || o.first_row != 0 || o.descriptor.leading_is_absolute) return;
  const std::vector<u32> numbers = operand.tiles();
  const auto is_whole = [&](u32 number) { return number && tiles.tile(number).whole; };
  if (!std::all_of(numbers.begin(), numbers.end(), is_whole)) return;
  const Tile& first = operand.tile();
  Known k{relative(o.descriptor, first), o.major, o.kind, o.rows, o.k_bytes, shape_of(first), {}, operand.start()};
  for (const u32 number : numbers) k.tiles.push_back(tiles.tile(number).address - first.address);
  known_.push_back(std::move(k));
}

}  // namespace kiln::tile
