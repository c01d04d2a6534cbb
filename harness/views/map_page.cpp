#include <fmt/format.h>

#include <algorithm>

#include "harness/views/page_template.hpp"
#include "harness/views/pages.hpp"
#include "harness/views/pictures.hpp"
#include "harness/views/svg.hpp"

namespace kiln::harness {
namespace {

using isa::CtaGroup;
using isa::MmaKind;

std::string figure(const std::string& svg) { return "<figure>" + svg + "</figure>\n"; }

std::string operand(isa::ScalarType type, isa::Major major, isa::Swizzle swizzle, bool in_tmem) {
  if (in_tmem) return fmt::format("{} in tensor memory", isa::spelling(type));
  return fmt::format("{}, {}-major, {}", isa::spelling(type), major == isa::Major::K ? "K" : "MN",
                     swizzle == isa::Swizzle::none ? "no swizzle" : fmt::format("{} swizzle", isa::spelling(swizzle)));
}

isa::DataPath path_of(const sim::MmaUse& u) { return isa::data_path(u.m, u.form.group, u.form.sparse, u.form.ws); }

std::string mma_table(const std::vector<sim::MmaUse>& mmas) {
  std::string rows;
  for (const sim::MmaUse& u : mmas)
    rows += fmt::format(
        "<tr><td>tcgen05.mma{}{}.{}</td><td>cta_group::{}</td><td>{} x {} x {}</td><td>{}</td><td>{}</td>"
        "<td>{}</td><td>{}</td></tr>\n",
        u.form.ws ? ".ws" : "", u.form.sparse ? ".sp" : "", isa::spelling(u.form.kind),
        u.form.group == CtaGroup::two ? 2 : 1, u.m, u.n, u.k,
        escaped(operand(u.a, u.a_major, u.a_swizzle, u.form.a_in_tmem)),
        escaped(operand(u.b, u.b_major, u.b_swizzle, false)), isa::spelling(u.d), char('A' + int(path_of(u))));
  if (rows.empty()) return "<p>The kernel issues no tcgen05.mma.</p>";
  return "<table><tr><th>instruction</th><th>group</th><th>M x N x K</th><th>A</th><th>B</th><th>D</th>"
         "<th>accumulator layout</th></tr>\n" +
         rows + "</table>";
}

std::string memory(const std::vector<sim::MemoryMap>& maps) {
  std::string out;
  for (const sim::MemoryMap& map : maps)
    out += fmt::format("<h2 id=\"cta{}\">{}</h2>\n", map.rank, escaped(map.cta)) + figure(tensor_memory_picture(map)) +
           figure(shared_memory_picture(map));
  return out;
}

std::vector<sim::MmaUse> mmas_of(const std::vector<sim::MemoryMap>& maps) {
  std::vector<sim::MmaUse> all;
  for (const sim::MemoryMap& map : maps)
    for (const sim::MmaUse& u : map.mmas)
      if (std::find(all.begin(), all.end(), u) == all.end()) all.push_back(u);
  return all;
}

/// The shapes that the ISA's layouts are for, one each.
struct PathShape {
  int m;
  CtaGroup group;
  bool sparse, ws;
  const char* words;
};
constexpr PathShape path_shapes[] = {
    {256, CtaGroup::two, false, false, "cta_group::2, M = 256"},
    {128, CtaGroup::two, false, false, "cta_group::2, M = 128"},
    {128, CtaGroup::two, true, false, "cta_group::2, M = 128, sparse"},
    {128, CtaGroup::one, false, false, "cta_group::1, M = 128, and .ws with M = 128"},
    {64, CtaGroup::one, false, true, ".ws, M = 64"},
    {64, CtaGroup::one, false, false, "cta_group::1, M = 64"},
    {32, CtaGroup::one, false, true, ".ws, M = 32"},
};

std::string accumulators(const std::vector<sim::MmaUse>& mmas) {
  constexpr int other_n = 128;
  std::string used, others;
  for (const PathShape& s : path_shapes) {
    const isa::DataPath path = isa::data_path(s.m, s.group, s.sparse, s.ws);
    const auto mine = std::find_if(mmas.begin(), mmas.end(), [=](const sim::MmaUse& u) { return path_of(u) == path; });
    const bool is_used = mine != mmas.end();
    const int m = is_used ? mine->m : s.m, n = is_used ? mine->n : other_n;
    const std::string pictures = figure(placement_picture(path, m, n)) + figure(accumulator_picture(path, m, n));
    (is_used ? used : others) +=
        fmt::format("<h3>{}{}</h3>\n", s.words, is_used ? " <em>used by this kernel</em>" : "") + pictures;
  }
  return used + "<details><summary>" + (used.empty() ? "All layouts" : "The other layouts") + "</summary>\n" + others +
         "</details>\n";
}

std::string scales() {
  std::string out;
  std::vector<int> seen;
  for (const isa::BlockScaling& s : isa::block_scalings) {
    if (std::find(seen.begin(), seen.end(), s.scales()) != seen.end()) continue;
    seen.push_back(s.scales());
    out += figure(scale_picture(s.scales()));
  }
  return out;
}

std::string metadata() {
  std::string out;
  for (const MmaKind kind : {MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::mxf4})
    out += figure(metadata_picture(kind));
  return out;
}

}  // namespace

std::string map_page(const PageFacts& facts, const std::vector<sim::MemoryMap>& maps) {
  const std::vector<sim::MmaUse> mmas = mmas_of(maps);
  const std::string remark = facts.remark.empty() ? "" : "<p class=\"remark\">" + escaped(facts.remark) + "</p>";
  return fill_page("map", {{"kernel", escaped(facts.kernel)},
                           {"facts", escaped(facts.target + (facts.sizes.empty() ? "" : ", " + facts.sizes))},
                           {"remark", remark},
                           {"mmas", mma_table(mmas)},
                           {"memory", memory(maps)},
                           {"accumulators", accumulators(mmas)},
                           {"scales", scales()},
                           {"metadata", metadata()}});
}

}  // namespace kiln::harness
