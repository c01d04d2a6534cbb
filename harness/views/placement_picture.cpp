#include "harness/views/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/views/blocks.hpp"
#include "harness/views/svg.hpp"

namespace kiln::harness {
namespace {

constexpr double left = 60, top = 40, width = 380, gap = 80, height = 46, between = 22;

// Rows and columns of D from the first to the last that a CTA holds; layouts leave none out between them.
struct Part {
  int first_m, last_m, first_n, last_n;
};
Part part_of(const std::vector<Block>& blocks) {
  Part p{blocks.front().first, 0, blocks.front().second, 0};
  for (const Block& b : blocks) {
    p.first_m = std::min(p.first_m, b.first), p.last_m = std::max(p.last_m, b.first + b.rows - 1);
    p.first_n = std::min(p.first_n, b.second), p.last_n = std::max(p.last_n, b.second + b.columns - 1);
  }
  return p;
}

// Lanes that hold something: from the first to the last, and how many.
std::string lanes_of(const std::vector<Block>& blocks) {
  std::vector<bool> used(isa::tmem_lanes);
  for (const Block& b : blocks) std::fill_n(used.begin() + b.row, b.rows, true);
  const auto count = std::count(used.begin(), used.end(), true);
  if (count == isa::tmem_lanes) return "all lanes";
  return fmt::format("{} lanes", count);
}

}  // namespace

std::string placement_picture(isa::DataPath path, int m, int n) {
  Svg svg;
  const bool pair = is_of_pair(path);
  const int ctas = pair ? 2 : 1;
  const double step = height + between, right = left + (width + gap) * ctas - gap;
  const auto name = fmt::format("M = {}, N = {}: {}", m, n, pair ? "one MMA of two CTAs" : "one MMA of one CTA");
  svg.text(left, 22, name, Anchor::start, true, colour::ink, 15);
  svg.rect(left, top + step, right - left, height, colour::green);
  svg.label(left, top + step, right - left, height, {fmt::format("tcgen05.mma: D[{}, {}] += A * B^T", m, n)});
  for (int cta = 0; cta < ctas; ++cta) {
    const double x = left + cta * (width + gap), middle = x + width / 2;
    const std::vector<Block> blocks = accumulator_blocks(path, m, n, cta);
    const Part d = part_of(blocks);
    const int a_rows = m / ctas, b_rows = n / ctas;
    svg.rect(x, top, width, height, colour::purple);
    svg.label(
        x, top, width, height / 2,
        {pair ? fmt::format("shared memory of CTA {} of the pair", cta) : std::string("shared memory of the CTA")});
    svg.label(x, top + height / 2 - 4, width, height / 2,
              {fmt::format("A: rows {}-{}; B: rows {}-{}", cta * a_rows, (cta + 1) * a_rows - 1, cta * b_rows,
                           (cta + 1) * b_rows - 1)});
    svg.rect(x, top + 2 * step, width, height, colour::orange);
    svg.label(x, top + 2 * step, width, height / 2, {"its tensor memory: " + lanes_of(blocks)});
    svg.label(x, top + 2 * step + height / 2 - 4, width, height / 2,
              {fmt::format("D: rows {}-{}, columns {}-{}", d.first_m, d.last_m, d.first_n, d.last_n)});
    for (const double y : {top + height, top + step + height}) svg.line(middle, y, middle, y + between, colour::ink);
  }
  return svg.take(right + left, top + 3 * step, name);
}

}  // namespace kiln::harness
