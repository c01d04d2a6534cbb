// Runs every litmus kernel under the race detector and compares what is reported with the frozen table.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "ptx/diag/render.hpp"
#include "tests/litmus/family_table.hpp"
#include "tests/litmus/litmus.hpp"
#include "tests/unit/sim/run.hpp"

namespace {

using namespace kiln;
namespace fs = std::filesystem;

constexpr int seeds = 10;

struct Row {
  std::string pattern, place, removed, reported, cites;

  std::string key() const {
    return fmt::format("{:<26} {:<8} {:<14}", pattern, place, removed.empty() ? "-" : removed);
  }
  std::string text() const { return fmt::format("{} {:<42} {}", key(), reported, cites); }
};

test::Run run_once(const test::LitmusPattern& p, const std::string& ptx, test::Place place, std::uint64_t seed) {
  launch::Contract c;
  c.buffers = {test::buffer("gx", 4096)};
  launch::Launch l;
  l.entry = "k";
  l.grid = {place == test::Place::cluster || place == test::Place::grid ? 2u : 1u, 1, 1};
  l.block = {p.wgmma ? 128u : 64u, 1, 1};
  l.params = {test::pointer("gx")};
  if (p.prior == "writes") l.pdl = {{"gx"}, {}};
  if (p.prior == "reads") l.pdl = {{}, {"gx"}};
  c.launches = {l};
  sim::Options options;
  options.seed = seed;
  options.max_steps = 20000;
  return test::run(ptx, c, options);
}

// All slugs that any schedule gives, in alphabetical order.
std::string reported(const test::LitmusPattern& p, test::Place place, const std::string& removed) {
  const std::string ptx = kernel_of(p, place, removed);
  std::set<std::string> slugs;
  for (int seed = 1; seed <= seeds; ++seed) {
    const test::Run r = run_once(p, ptx, place, std::uint64_t(seed));
    for (const diag::Diagnostic& d : r.sink.all()) slugs.insert(d.slug.empty() ? d.message : d.slug);
  }
  return slugs.empty() ? "clean" : fmt::format("{}", fmt::join(slugs, " "));
}

std::vector<test::LitmusPattern> patterns() {
  std::vector<std::string> paths;
  for (const auto& f : fs::directory_iterator(KILN_LITMUS "/patterns")) paths.push_back(f.path());
  std::sort(paths.begin(), paths.end());
  std::vector<test::LitmusPattern> out;
  for (const std::string& p : paths) out.push_back(test::read_pattern(p));
  return out;
}

std::vector<Row> rows() {
  std::vector<Row> out;
  for (const test::LitmusPattern& p : patterns())
    for (const test::Place place : p.places) {
      const auto add = [&](const std::string& removed, const std::string& cites) {
        out.push_back({p.name, std::string(spelling(place)), removed, reported(p, place, removed), cites});
      };
      add("", p.about);
      for (const test::LitmusStep& s : p.steps)
        if (!s.name.empty()) add(s.name, s.cites);
    }
  return out;
}

int compare(const std::vector<Row>& found) {
  std::ifstream in(KILN_LITMUS "/table.txt");
  std::set<std::string> table, now;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') table.insert(line);
  for (const Row& r : found) now.insert(r.text());
  int wrong = 0;
  for (const std::string& line : table)
    if (!now.contains(line)) ++wrong, std::cout << "- " << line << '\n';
  for (const std::string& line : now)
    if (!table.contains(line)) ++wrong, std::cout << "+ " << line << '\n';
  std::cout << fmt::format("{} litmus tests, {} schedules each; {} lines differ from table.txt\n", found.size(), seeds,
                           wrong);
  return wrong != 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() >= 3 && args[0] == "--ptx") {
      for (const test::LitmusPattern& p : patterns())
        for (const test::Place place : p.places)
          if (p.name == args[1] && spelling(place) == args[2]) {
            const std::string ptx = kernel_of(p, place, args.size() > 3 ? args[3] : "");
            std::cout << ptx;
            for (int seed = 1; seed <= seeds; ++seed)
              std::cerr << run_once(p, ptx, place, std::uint64_t(seed)).findings();
          }
      return 0;
    }
    if (args.size() == 1 && args[0] == "--print-family") return test::print_family(), 0;
    if (args.size() == 2 && args[0] == "--family") return test::show_family(args[1]), 0;
    const std::vector<Row> found = rows();
    if (args.empty()) return compare(found) | test::compare_family();
    if (args[0] != "--print")
      return std::cerr << "usage: litmus [--print | --ptx PATTERN PLACE [STEP] | --print-family | --family WORDS]\n", 2;
    for (const Row& r : found) std::cout << r.text() << '\n';
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "litmus: " << e.what() << '\n';
    return 2;
  }
}
