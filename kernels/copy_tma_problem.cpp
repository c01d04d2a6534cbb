// What a run of copy_tma needs on the host: which numbers are refused, buffers, tensor maps, the grid.
#include "kernels/copy_tma.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

void check_copy_tma(const Sizes& sizes) {
  for (const char* name : {"rows", "cols"})
    if (sizes.at(name) == 0 || sizes.at(name) > 1u << 22)
      throw diag::InputError(std::string("--") + name + " " + std::to_string(sizes.at(name)) +
                             ": must be in [1, 4194304]");
  for (const char* name : {"cols", "shift"})
    if (sizes.at(name) % 8 != 0)
      throw diag::InputError(std::string("--") + name + " " + std::to_string(sizes.at(name)) +
                             ": must be a multiple of 8: TMA moves 16-byte units [" +
                             (name == std::string_view("cols") ? "tma-stride]" : "tma-coordinate]"));
  if (sizes.at("shift") > sizes.at("cols"))
    throw diag::InputError("--shift " + std::to_string(sizes.at("shift")) + ": must be at most --cols");
}

launch::Contract copy_tma_problem(const Kernel& kernel, const Sizes& sizes) {
  check_copy_tma(sizes);
  const CopyTile tile = copy_tma_tile(sizes);
  const std::uint64_t rows = sizes.at("rows"), cols = sizes.at("cols"), shift = sizes.at("shift");
  const std::uint64_t tiles_x = (cols + shift + tile.cols - 1) / tile.cols;
  const std::uint64_t tiles_y = (rows + copy_tma_rows - 1) / copy_tma_rows;
  if (tiles_y > 65535)
    throw diag::InputError("--rows " + std::to_string(rows) + ": needs " + std::to_string(tiles_y) +
                           " tiles along y; a grid has at most 65535");
  launch::Contract c;
  const auto buffer = [&](const char* name, isa::ScalarType type, std::vector<std::uint64_t> shape, launch::Init init) {
    launch::Buffer b;
    b.name = name;
    b.dtype = type;
    b.shape = std::move(shape);
    b.init = std::move(init);
    c.buffers.push_back(std::move(b));
  };
  launch::Init normal;
  normal.kind = launch::Init::Kind::normal;
  buffer("A", isa::ScalarType::bf16, {rows, cols}, normal);
  buffer("D", isa::ScalarType::bf16, {rows, cols + shift}, {});
  buffer("S", isa::ScalarType::u8, {tiles_y * tiles_x, tile.bytes}, {});
  c.tensor_maps["A"] = tile.map({"A", rows, cols});
  c.tensor_maps["D"] = tile.map({"D", rows, cols + shift});
  launch::Launch l;
  l.entry = kernel.name;
  l.grid = {std::uint32_t(tiles_x), std::uint32_t(tiles_y), 1};
  l.block = kernel.block;
  l.dynamic_smem = kernel.dynamic_smem;
  l.params = {{launch::TensorMapParam{"A"}}, {launch::TensorMapParam{"D"}}, {launch::PointerParam{"S", 0}},
              {launch::ScalarParam{isa::ScalarType::u32, shift}}};
  c.launches.push_back(std::move(l));
  launch::Expectation same;
  same.kind = launch::Expectation::Kind::copy;
  same.output = "D";
  same.a = "A";
  same.zeros_before = shift;
  c.expectations.push_back(same);
  return c;
}

}  // namespace kiln::kernels
