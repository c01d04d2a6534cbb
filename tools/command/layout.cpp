// kiln layout: how a tile or a fragment lies, in CuTe's notation and as a picture.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "tools/command/explain.hpp"
#include "tools/command/json.hpp"
#include "tools/command/layout_subjects.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* examples =
    "  kiln layout bf16 128 64                                                   a tile; K_major, swizzle_128B\n"
    "  kiln layout \"SharedTile<tf32, 128, 32, MN_major, swizzle_128B_atom_32B>\"  the same word as in a kernel\n"
    "  kiln layout mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32           fragments of a warp\n"
    "  kiln layout wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16         fragments of a warpgroup\n"
    "  kiln layout tcgen05.ld.16x256b.x2                                         registers and tensor memory\n"
    "  kiln layout tcgen05.mma.cta_group::2 128x256                              an accumulator";

// Columns as wide as their longest cell. The last heading may be longer than its column.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::size_t k = 0; k < rows[r].size(); ++k) {
      if (k >= widths.size()) widths.resize(k + 1);
      const bool spills = r == 0 && k + 1 == rows[r].size();
      if (!spills) widths[k] = std::max(widths[k], rows[r][k].size());
    }
  std::string out;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t k = 0; k < row.size(); ++k) line += fmt::format(" {:<{}}", row[k], widths[k]);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string text_of(const DrawnLayout& d) {
  std::string out = fmt::format("{}: {}\n  {}\n", d.name, notation(d), d.maps);
  for (const auto& [name, value] : d.facts) out += fmt::format("  {}: {}\n", name, value);
  return out + table(d.picture);
}

Json json_of(const LayoutMode& m) { return {{"shape", m.extents}, {"stride", m.strides}}; }

Json json_of(const DrawnLayout& d) {
  Json j = {{"name", d.name}, {"layout", notation(d)}, {"maps", d.maps}, {"modes", Json::array()}};
  for (const LayoutMode& m : d.modes) j["modes"].push_back(json_of(m));
  if (d.swizzle) j["swizzle"] = {{"bits", d.swizzle->bits}, {"base", d.swizzle->base}, {"shift", d.swizzle->shift}};
  for (const auto& [name, value] : d.facts) j[name] = value;
  j["picture"] = d.picture;
  return j;
}

}  // namespace

std::string layout_text(const std::string& subject, bool as_json) {
  const std::vector<DrawnLayout> layouts = layouts_of(subject);
  if (as_json) {
    Json all = Json::array();
    for (const DrawnLayout& d : layouts) all.push_back(json_of(d));
    return versioned(Json{{"layouts", all}});
  }
  std::string out;
  for (const DrawnLayout& d : layouts) out += (out.empty() ? "" : "\n") + text_of(d);
  return out;
}

void add_layout(const Builder& builder) {
  CLI::App* sub =
      builder.add("layout", "Print how a tile or a fragment lies: (shape):(stride), and a picture", examples);
  auto words = std::make_shared<std::vector<std::string>>();
  auto json = std::make_shared<bool>(false);
  sub->add_option("SUBJECT", *words, "a tile (element type, rows, K, K_major or MN_major, swizzle) or an instruction")
      ->required();
  sub->add_flag("--json", *json, "print it as JSON");
  sub->callback([=, &action = builder.action] {
    action = [=] {
      std::string subject;
      for (const std::string& w : *words) subject += (subject.empty() ? "" : " ") + w;
      print(layout_text(subject, *json));
      return Exit::clean;
    };
  });
}

}  // namespace kiln::command
