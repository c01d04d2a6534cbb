#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/views/page_template.hpp"
#include "harness/views/pages.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/rules/tcgen05_mma.hpp"
#include "sim/views/accumulation.hpp"

namespace kiln::harness {
namespace {

using Json = nlohmann::ordered_json;
using isa::Major;
using isa::Swizzle;

constexpr int n_choices[] = {8, 16, 32};
constexpr Swizzle swizzles[] = {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128};

std::string_view spelling(Major m) { return m == Major::K ? "K" : "MN"; }

// "rows/K/128B" -> bytes and, for each piece, address, step, row, k.
void add_tiles(Json& tiles, int rows, const sim::AccumulationShape& shape) {
  for (const Major major : {Major::K, Major::MN})
    for (const Swizzle swizzle : swizzles) {
      const sim::TilePieces t = sim::tile_pieces(major, swizzle, rows, shape);
      Json pieces = Json::array();
      for (const sim::OperandPiece& p : t.pieces)
        for (const int v : {int(p.address), p.step, p.row, p.k}) pieces.push_back(v);
      tiles[fmt::format("{}/{}/{}", rows, spelling(major), isa::spelling(swizzle))] = {{"bytes", t.bytes},
                                                                                       {"pieces", pieces}};
    }
}

Json lanes_of(int m) {
  const isa::DataPath path = isa::data_path(m, isa::CtaGroup::one, false, false);
  Json lanes = Json::array();
  for (int row = 0; row < m; ++row) lanes.push_back(isa::accumulator_cell(path, row, 0, n_choices[0]).lane);
  return lanes;
}

Json data(const sim::MmaUse& first) {
  const sim::AccumulationShape shape;
  const isa::MmaRows rows = isa::mma_rows(isa::CtaGroup::one, isa::MmaKind::f16);
  const sim::Accumulation sums = sim::accumulate(shape);
  Json j{{"k", shape.k()}, {"step_k", shape.step_k()}, {"steps", shape.steps}, {"columns", shape.n}, {"a", sums.a},
         {"b", sums.b},    {"sums", sums.sums}};
  for (const int m : {rows.small, rows.large}) {
    add_tiles(j["tiles"], m, shape);
    j["m"].push_back(m);
    j["lanes"][std::to_string(m)] = lanes_of(m);
  }
  for (const int n : n_choices) {
    if (!rules::mma_n(isa::MmaKind::f16, isa::CtaGroup::one, n).ok()) continue;
    add_tiles(j["tiles"], n, shape);
    j["n"].push_back(n);
  }
  for (const Swizzle s : swizzles) j["swizzles"].push_back(isa::spelling(s));
  j["first"] = {{"m", first.m == rows.small ? rows.small : rows.large},
                {"a_major", spelling(first.a_major)},
                {"b_major", spelling(first.b_major)},
                {"a_swizzle", isa::spelling(first.a_swizzle)},
                {"b_swizzle", isa::spelling(first.b_swizzle)}};
  return j;
}

}  // namespace

std::string step_page(const sim::MmaUse& first) { return fill_page("step", {{"data", data(first).dump()}}); }

}  // namespace kiln::harness
