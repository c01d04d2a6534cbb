#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/views/pictures.hpp"
#include "harness/views/svg.hpp"
#include "sim/views/words.hpp"

namespace kiln::harness {
namespace {

using sim::AccessKind;
using sim::MapUse;
using sim::Operand;
using sim::SharedRegion;

constexpr double strip_x = 20, strip_width = 50, table_x = 110, top = 62, line_height = 19, row_gap = 8, width = 1180;
constexpr double bytes_x = table_x + 172, name_x = bytes_x + 80, uses_x = name_x + 175;
constexpr std::size_t line_characters = 78;

std::string mbarrier_phrase(const std::string& instruction) {
  if (instruction.starts_with("cp.")) return "TMA completes";
  const std::size_t dot = instruction.find('.');
  return dot == std::string::npos ? instruction : instruction.substr(dot + 1);
}

// "tensor core reads A", "TMA writes": all uses that read alike become one with several roles.
std::string phrase(const MapUse& u, const SharedRegion& r) {
  const bool reads = u.kind == AccessKind::read;
  if (r.is_mbarrier) return mbarrier_phrase(u.instruction);
  if (u.instruction.starts_with("tcgen05.mma"))
    return fmt::format("tensor core reads {}{}", sim::spelling(u.operand),
                       r.swizzle.empty() || r.swizzle == "none" ? "" : " (" + r.swizzle + " swizzle)");
  if (u.instruction.starts_with("tcgen05")) return u.instruction + (reads ? " reads" : " writes");
  if (u.proxy == sim::Proxy::async) return reads ? "TMA reads" : "TMA writes";
  return u.kind == AccessKind::atomic ? "threads read and write" : reads ? "threads read" : "threads write";
}

std::vector<std::string> use_lines(const SharedRegion& r) {
  std::map<std::string, std::set<std::string>> roles;
  for (const MapUse& u : r.uses) roles[phrase(u, r)].insert(u.role.empty() ? "no role" : u.role);
  std::vector<std::string> lines{""};
  for (const auto& [words, who] : roles) {
    const std::string next = fmt::format("{} ({})", words, fmt::join(who, ", "));
    if (!lines.back().empty() && lines.back().size() + next.size() + 3 > line_characters)
      lines.push_back(next);
    else
      lines.back() += (lines.back().empty() ? "" : " · ") + next;
  }
  return lines;
}

std::string_view fill_of(const SharedRegion& r) {
  if (r.is_mbarrier) return colour::purple;
  for (const MapUse& u : r.uses) {
    if (u.operand == Operand::a) return colour::orange;
    if (u.operand == Operand::b) return colour::green;
    if (u.operand == Operand::copied) return colour::yellow;
  }
  if (!r.content.empty()) return colour::blue;
  return colour::grey;
}

// Tiles are named by what they hold and counted.
std::vector<std::string> names_of(const std::vector<SharedRegion>& regions) {
  std::map<std::string, int> total, seen;
  for (const SharedRegion& r : regions) ++total[r.content];
  std::vector<std::string> out;
  for (const SharedRegion& r : regions) {
    if (r.content.empty()) {
      out.push_back(r.name.empty() ? "(no name)" : r.name);
      continue;
    }
    const std::string number = total[r.content] > 1 ? fmt::format(" {}", seen[r.content]++) : "";
    out.push_back(fmt::format("tile of {}{}{}", r.content, number, r.name.empty() ? "" : " in " + r.name));
  }
  return out;
}

void draw_legend(Svg& svg, double y) {
  double x = table_x;
  for (const auto& [fill, words] : {std::pair{colour::purple, "mbarrier"},
                                    {colour::orange, "operand A"},
                                    {colour::green, "operand B"},
                                    {colour::blue, "other TMA tile"},
                                    {colour::yellow, "source of tcgen05.cp"},
                                    {colour::grey, "other"}}) {
    svg.rect(x, y - 12, 20, 14, fill);
    svg.text(x + 26, y, words);
    x += 50 + text_width(words);
  }
}

}  // namespace

std::string shared_memory_picture(const sim::MemoryMap& map) {
  Svg svg;
  svg.text(strip_x, 24, fmt::format("Shared memory of {}: {} bytes", map.cta, map.shared_bytes), Anchor::start, true,
           colour::ink, 16);
  const std::vector<std::string> names = names_of(map.shared);
  double y = top, height = 0;
  for (const SharedRegion& r : map.shared) height += row_gap + line_height * double(use_lines(r).size());
  height = std::max(height, 60.0);
  svg.text(strip_x, top - 10, "to scale", Anchor::start, false, colour::soft);
  for (const auto& [x, words] :
       {std::pair{table_x + 26, "address"}, {bytes_x, "bytes"}, {name_x, "name"}, {uses_x, "roles that use it"}})
    svg.text(x, top - 10, words, Anchor::start, true);
  svg.rect(strip_x, top, strip_width, height, "#f3f4f6", colour::soft);
  const double scale = height / std::max<double>(1, map.shared_bytes);
  for (std::size_t k = 0; k < map.shared.size(); ++k) {
    const SharedRegion& r = map.shared[k];
    const std::vector<std::string> lines = use_lines(r);
    const double row_height = row_gap + line_height * double(lines.size()), middle = y + row_height / 2;
    const double at = top + (r.begin - map.shared_begin) * scale, h = std::max(1.0, r.bytes * scale);
    svg.rect(strip_x, at, strip_width, h, fill_of(r), r.bytes * scale > 3 ? colour::ink : fill_of(r), "", names[k]);
    svg.line(strip_x + strip_width, at + h / 2, table_x - 4, middle);
    svg.rect(table_x, middle - 7, 18, 14, fill_of(r));
    svg.text(table_x + 26, middle + 5, fmt::format("{:#07x}-{:#07x}", r.begin, r.begin + r.bytes - 1));
    svg.text(bytes_x, middle + 5, fmt::format("{}", r.bytes));
    svg.text(name_x, middle + 5, names[k], Anchor::start, true);
    for (std::size_t l = 0; l < lines.size(); ++l)
      svg.text(uses_x, y + row_gap / 2 + line_height * double(l) + 14, lines[l]);
    y += row_height;
  }
  if (map.shared.empty()) svg.text(table_x, y + 20, "nothing uses shared memory");
  const double legend = top + height + 30;
  draw_legend(svg, legend);
  return svg.take(width, legend + 14, "Shared memory of " + map.cta);
}

}  // namespace kiln::harness
