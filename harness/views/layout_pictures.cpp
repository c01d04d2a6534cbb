#include "harness/views/pictures.hpp"

#include <fmt/format.h>

#include "harness/views/blocks.hpp"
#include "harness/views/svg.hpp"

namespace kiln::harness {
namespace {

constexpr double left = 60, top = 72;

std::string range(std::string_view what, int first, int count) {
  return count == 1 ? fmt::format("{} {}", what, first) : fmt::format("{} {}-{}", what, first, first + count - 1);
}

// Neighbours differ, so that edges show.
std::string_view fill_of(std::size_t k) {
  constexpr std::string_view fills[] = {colour::blue, colour::orange, colour::green, colour::yellow};
  return fills[k % 4];
}

/// Rows downwards, columns to the right, blocks with what they hold.
struct Grid {
  double x = left, per_row = 3, per_column = 4;
  std::string_view first, second;  // the names of a block's two numbers; no first: it is said elsewhere

  void draw(Svg& svg, const std::vector<Block>& blocks) const {
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const Block& b = blocks[k];
      const double at_x = x + b.column * per_column, at_y = top + b.row * per_row;
      const double w = b.columns * per_column, h = b.rows * per_row;
      svg.rect(at_x, at_y, w, h, fill_of(k));
      const std::string one = range(first, b.first, b.rows), two = range(second, b.second, b.columns);
      if (first.empty()) {
        svg.label(at_x, at_y, w, h, {two});
        continue;
      }
      if (text_width(one + ", " + two) > w - 6 && h > 40) {
        svg.label(at_x, at_y, w, h / 2 + 10, {one});
        svg.label(at_x, at_y + h / 2 - 10, w, h / 2 + 10, {two});
      } else {
        svg.label(at_x, at_y, w, h, {one + ", " + two, one});
      }
    }
  }
  void row_marks(Svg& svg, int rows, int step, std::string_view what) const {
    svg.text(x - 8, top - 8, what, Anchor::end, false, colour::soft);
    for (int row = 0; row < rows; row += step) {
      svg.line(x - 5, top + row * per_row, x, top + row * per_row);
      svg.text(x - 8, top + row * per_row + 12, fmt::format("{}", row), Anchor::end, false, colour::soft);
    }
  }
  void column_marks(Svg& svg, int rows, int columns, int step, std::string_view what) const {
    const double y = top + rows * per_row;
    for (int column = 0; column < columns; column += step) {
      svg.line(x + column * per_column, y, x + column * per_column, y + 5);
      svg.text(x + column * per_column, y + 19, fmt::format("{}", column), Anchor::middle, false, colour::soft);
    }
    svg.text(x + columns * per_column, y + 19, what, Anchor::end, false, colour::soft);
  }
};

}  // namespace

std::string accumulator_picture(isa::DataPath path, int m, int n) {
  Svg svg;
  const bool pair = is_of_pair(path);
  const int columns = isa::accumulator_columns(path, n);
  const double map_width = 380, gap = 80;
  const auto name = fmt::format("Layout {}: M = {}, N = {}, {} of {} columns", char('A' + int(path)), m, n, columns,
                                isa::tmem_columns);
  svg.text(left, 22, name, Anchor::start, true, colour::ink, 15);
  for (int cta = 0; cta <= pair; ++cta) {
    Grid g{left + cta * (map_width + gap), 2.5, map_width / columns, "m", "n"};
    svg.text(g.x + map_width / 2, top - 10, pair ? fmt::format("CTA {} of the pair", cta) : "the CTA", Anchor::middle);
    svg.rect(g.x, top, map_width, isa::tmem_lanes * g.per_row, "#f3f4f6", colour::soft);
    g.draw(svg, accumulator_blocks(path, m, n, cta));
    g.row_marks(svg, isa::tmem_lanes, isa::tmem_lanes_per_warp, "lane");
    g.column_marks(svg, isa::tmem_lanes, columns, std::max(1, columns / 4), "column of D");
  }
  return svg.take(left + (map_width + gap) * (1 + pair), top + isa::tmem_lanes * 2.5 + 30, name);
}

std::string scale_picture(int scales) {
  Svg svg;
  constexpr int rows = 128;
  const auto name = fmt::format("{} scale{} for each of {} rows of A", scales, scales == 1 ? "" : "s", rows);
  const int cells = isa::scale_columns(scales, isa::scale_columns(rows), 1);
  svg.text(left, 22, name, Anchor::start, true, colour::ink, 15);
  const Grid g{left, 4, 36, "", "k"};
  const double cell = g.per_column * isa::scales_per_cell, height = isa::tmem_lanes_per_warp * g.per_row;
  const std::vector<Block> blocks = scale_blocks(rows, scales);
  svg.rect(left, top, cells * cell, height, "#f3f4f6", colour::soft);
  g.draw(svg, blocks);
  for (const Block& b : blocks) {
    const int c = b.column / isa::scales_per_cell;
    svg.text(left + (c + 0.5) * cell, top - 22, fmt::format("column {}", c), Anchor::middle);
    svg.text(left + (c + 0.5) * cell, top - 7, range("rows", b.first, b.rows), Anchor::middle);
  }
  for (int c = 0; c <= cells; ++c) svg.line(left + c * cell, top, left + c * cell, top + height + 6, colour::ink);
  g.row_marks(svg, isa::tmem_lanes_per_warp, 8, "lane");
  for (int byte = 0; byte < cells * isa::scales_per_cell; ++byte)
    svg.text(left + (byte + 0.5) * g.per_column, top + height + 19, fmt::format("{}", byte % isa::scales_per_cell),
             Anchor::middle, false, colour::soft);
  svg.text(left - 8, top + height + 19, "byte", Anchor::end, false, colour::soft);
  return svg.take(left + cells * cell + 20, top + height + 30, name);
}

std::string metadata_picture(isa::MmaKind kind) {
  Svg svg;
  constexpr int rows = 16, nibbles = 8;
  const auto name = fmt::format("Metadata of {}: rows m and chunks of {} elements of K", isa::spelling(kind),
                                isa::metadata_chunk(kind));
  const int cells = isa::metadata_columns(kind);
  const Grid g{left, 12, 40, "m", "chunk"};
  svg.text(left, 22, name, Anchor::start, true, colour::ink, 15);
  svg.rect(left, top, cells * nibbles * g.per_column, rows * g.per_row, "#f3f4f6", colour::soft);
  g.draw(svg, metadata_blocks(kind));
  g.row_marks(svg, rows, 4, "row");
  for (int c = 0; c < cells; ++c)
    svg.text(left + (c + 0.5) * nibbles * g.per_column, top - 10, fmt::format("column {}", c), Anchor::middle);
  for (int k = 0; k < cells * nibbles; ++k)
    svg.text(left + (k + 0.5) * g.per_column, top + rows * g.per_row + 19, fmt::format("{}", k % nibbles * 4),
             Anchor::middle, false, colour::soft);
  svg.text(left - 8, top + rows * g.per_row + 19, "bit", Anchor::end, false, colour::soft);
  return svg.take(left + std::max(cells * nibbles * g.per_column + 20, text_width(name, 15) + 40),
                  top + rows * g.per_row + 30, name);
}

}  // namespace kiln::harness
