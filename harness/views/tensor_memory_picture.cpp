#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/views/pictures.hpp"
#include "harness/views/svg.hpp"
#include "ptx/isa/tmem.hpp"
#include "sim/views/words.hpp"

namespace kiln::harness {
namespace {

using sim::AccessKind;
using sim::Operand;
using sim::TensorArea;
using sim::TensorUse;

constexpr double per_column = 2, per_lane = 3, left = 60, top = 84, width = left + 512 * per_column + 30;
constexpr double map_height = isa::tmem_lanes * per_lane, line_height = 22;

std::string_view fill_of(Operand o) {
  switch (o) {
    case Operand::accumulator: return colour::blue;
    case Operand::a: return colour::orange;
    case Operand::scales_a: return colour::green;
    case Operand::scales_b: return colour::yellow;
    case Operand::metadata: return colour::purple;
    case Operand::copied: return colour::grey;
    default: return colour::none;
  }
}

bool is_drawn_full(const TensorUse& u) { return u.use.operand != Operand::none && u.use.operand != Operand::copied; }

std::string verb(const sim::MapUse& u) {
  const std::string what(sim::spelling(u.operand));
  if (u.operand == Operand::copied) return "writes";
  const std::string does = u.kind == AccessKind::read ? "reads" : "writes";
  return what.empty() ? does : does + " " + what;
}

std::string extent(const std::vector<TensorArea>& areas) {
  TensorArea all = areas.front();
  int covered = 0, bottom = 0, end = 0;
  for (const TensorArea& a : areas) {
    all.lane = std::min(all.lane, a.lane), all.column = std::min(all.column, a.column);
    bottom = std::max(bottom, a.lane + a.lanes), end = std::max(end, a.column + a.columns);
    covered += a.lanes * a.columns;
  }
  const bool whole = covered == (bottom - all.lane) * (end - all.column);
  return fmt::format("{}lanes {}-{}, columns {}-{}", whole ? "" : "within ", all.lane, bottom - 1, all.column, end - 1);
}

void draw_frame(Svg& svg, const sim::MemoryMap& map) {
  svg.text(left, 24, "Tensor memory of " + map.cta, Anchor::start, true, colour::ink, 16);
  svg.rect(left, top, isa::tmem_columns * per_column, map_height, "#f3f4f6", colour::soft);
  for (int column = 0; column <= isa::tmem_columns; column += 64) {
    const double x = left + column * per_column;
    svg.line(x, top + map_height, x, top + map_height + 6);
    svg.text(x, top + map_height + 20, fmt::format("{}", column), Anchor::middle, false, colour::soft);
  }
  for (int lane = 0; lane < isa::tmem_lanes; lane += isa::tmem_lanes_per_warp) {
    svg.line(left - 6, top + lane * per_lane, left, top + lane * per_lane);
    svg.text(left - 10, top + lane * per_lane + 12, fmt::format("{}", lane), Anchor::end, false, colour::soft);
  }
  svg.text(left - 10, top - 8, "lane", Anchor::end, false, colour::soft);
  svg.text(left + 32 * per_column, top + map_height + 20, "column", Anchor::middle, false, colour::soft);
  svg.text(width - 30, 24, "grey: not allocated", Anchor::end, false, colour::soft);
  for (const sim::TensorAllocation& a : map.allocations) {
    const double x = left + a.column * per_column, w = a.columns * per_column;
    svg.rect(x, top, w, map_height, "#ffffff", colour::soft);
    svg.rect(x, top - 30, w, 22, "#ffffff", colour::ink);
    const std::string range = fmt::format("columns {}-{}", a.column, a.column + a.columns - 1);
    svg.label(x, top - 30, w, 22,
              {"allocated: " + range + (a.name.empty() ? "" : ", address in " + a.name), range,
               fmt::format("{}", a.columns)});
  }
}

void draw_areas(Svg& svg, const sim::MemoryMap& map) {
  std::set<std::tuple<Operand, int, int, int>> drawn;
  const auto box = [&](const TensorUse& u, const TensorArea& a, bool full) {
    const double x = left + a.column * per_column, y = top + a.lane * per_lane;
    const double w = a.columns * per_column, h = a.lanes * per_lane, inset = full ? 0 : 4;
    svg.rect(x + inset, y + inset, std::max(2.0, w - 2 * inset), std::max(2.0, h - 2 * inset),
             full ? fill_of(u.use.operand) : colour::none, colour::ink, full ? "" : "5 3",
             u.use.instruction + " " + verb(u.use));
    if (full) svg.label(x, y, w, h, {sim::spelling(u.use.operand), "D"});
  };
  for (const TensorUse& u : map.tensor)
    for (const TensorArea& a : u.areas)
      if (is_drawn_full(u) && drawn.insert({u.use.operand, a.lane, a.column, a.columns}).second) box(u, a, true);
  for (const TensorUse& u : map.tensor)
    for (const TensorArea& a : u.areas)
      if (!is_drawn_full(u) && drawn.insert({Operand::none, a.lane, a.column, a.columns}).second) box(u, a, false);
}

}  // namespace

std::string tensor_memory_picture(const sim::MemoryMap& map) {
  Svg svg;
  draw_frame(svg, map);
  draw_areas(svg, map);
  double y = top + map_height + 50;
  const auto row = [&](std::string_view who, std::string_view what, std::string_view where) {
    svg.text(left + 30, y, who);
    svg.text(left + 380, y, what);
    svg.text(left + 640, y, where);
    y += line_height;
  };
  for (const TensorUse& u : map.tensor) {
    if (u.areas.empty()) continue;
    const bool full = is_drawn_full(u);
    svg.rect(left, y - 12, 20, 14, full ? fill_of(u.use.operand) : colour::white, colour::ink, full ? "" : "5 3");
    row((u.use.role.empty() ? "" : u.use.role + ": ") + u.use.instruction, verb(u.use), extent(u.areas));
  }
  if (map.tensor.empty()) svg.text(left, y, "nothing uses tensor memory"), y += line_height;
  return svg.take(width, y + 4, "Tensor memory of " + map.cta);
}

}  // namespace kiln::harness
