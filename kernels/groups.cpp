#include "kernels/groups.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr std::uint64_t most_groups = 1024;

}  // namespace

Groups::Tile Groups::tile(Scope& s, const U32& number, int tile_rows) const {
  Var<U32> group = s.var(0), first = s.var(0), rows = s.var(0), row = s.var(0), begin = s.var(0), before = s.var(0);
  s.loop(count, [&](U32 g) {
    const U32 start = begin, end = s.ld_global(ends.at(widen(g))), size = end - start;
    const U32 index = number - before, tiles = (size + (tile_rows - 1)) / tile_rows;
    const Pred is_here = index < tiles;  // what lies before is a large number
    group = select(is_here, g, group);
    first = select(is_here, start, first);
    rows = select(is_here, size, rows);
    row = select(is_here, index * tile_rows, row);
    before += tiles;
    begin = end;
  });
  return {group, first, rows, row};
}

launch::Buffer of_each(launch::Buffer one, std::uint64_t groups) {
  one.shape.insert(one.shape.begin(), groups);
  return one;
}

launch::Dim3 masked_grid(const GemmSizes& s, std::uint64_t groups, int tile_rows, int tile_columns) {
  const std::uint64_t row_tiles = pieces(s.m, std::uint64_t(tile_rows));
  if (row_tiles > 65535)
    throw diag::InputError("--m " + std::to_string(s.m) + ": a grid has at most 65535 rows of tiles");
  return {std::uint32_t(pieces(s.n, std::uint64_t(tile_columns))), std::uint32_t(row_tiles), std::uint32_t(groups)};
}

std::vector<double> ends_of(std::uint64_t m, std::uint64_t groups) {
  std::vector<double> ends;
  for (std::uint64_t g = 1; g <= groups; ++g) ends.push_back(double(m * g * g / (groups * groups)));
  return ends;
}

std::vector<double> lengths_of(std::uint64_t most, std::uint64_t groups) {
  std::vector<double> lengths;
  const std::uint64_t steps = std::max<std::uint64_t>(groups - 1, 1);
  for (std::uint64_t g = 0; g < groups; ++g) lengths.push_back(double(most - most * g / steps));
  return lengths;
}

void add_ends(launch::Contract& c, std::uint64_t m, std::uint64_t groups) {
  add_workspace(c, "ends", isa::ScalarType::u32, groups, launch::Init::Kind::values).init.values = ends_of(m, groups);
  c.expectations.front().groups = "ends";
}

void add_lengths(launch::Contract& c, std::uint64_t most, std::uint64_t groups) {
  add_workspace(c, "lengths", isa::ScalarType::u32, groups, launch::Init::Kind::values).init.values =
      lengths_of(most, groups);
  c.expectations.front().lengths = "lengths";
}

std::uint64_t groups_of(const Sizes& sizes) {
  const std::uint64_t groups = sizes.at("groups");
  if (groups == 0 || groups > most_groups)
    throw diag::InputError("--groups " + std::to_string(groups) + ": must be in [1, " + std::to_string(most_groups) +
                           "]");
  return groups;
}

}  // namespace kiln::kernels
