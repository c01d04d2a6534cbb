// The tests of other tools, re-created as pairs of kernels: both engines must say of each what docs/peers.md says.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tests/litmus/litmus.hpp"
#include "tests/unit/sim/run.hpp"
#include "verifier/explore.hpp"
#include "verifier/verify.hpp"

namespace {

using namespace kiln;

constexpr int schedules = 10;
constexpr std::pair<const char*, const char*> suites[] = {{"consan", "ConSan"}, {"sanitizer", "compute-sanitizer"}};

// One test of a suite, as a paragraph of its file.
struct Case {
  std::string test, mistake, peer, differs, use, ptx, body;
  bool is_poisoned = false;
};

// A kernel with the mistake, or its repaired twin.
struct Twin {
  std::string ptx;
  launch::Contract contract;
};

std::string after(const std::string& line, std::string_view word) {
  return line.size() > word.size() && line.starts_with(word) && line[word.size()] == ' ' ? line.substr(word.size() + 1)
                                                                                         : "";
}

void read_line(Case& c, const std::string& line) {
  for (const auto& [word, to] :
       {std::pair{"test", &Case::test}, std::pair{"mistake", &Case::mistake}, std::pair{"peer", &Case::peer},
        std::pair{"differs", &Case::differs}, std::pair{"use", &Case::use}, std::pair{"ptx", &Case::ptx}})
    if (const std::string value = after(line, word); !value.empty()) {
      c.*to = value;
      return;
    }
  if (line == "poison")
    c.is_poisoned = true;
  else
    c.body += line + "\n";
}

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::vector<Case> out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("test ")) out.emplace_back();
    if (out.empty()) throw std::runtime_error(path + ": begins without a test");
    read_line(out.back(), line);
  }
  return out;
}

launch::Contract contract_of(std::uint32_t ctas, std::uint32_t threads, bool is_cluster, bool is_poisoned) {
  launch::Contract c;
  c.buffers = {test::buffer("gx", 4096, is_poisoned ? launch::Init::Kind::poison : launch::Init::Kind::zeros)};
  launch::Launch l;
  l.entry = "k";
  l.grid = {ctas, 1, 1};
  if (is_cluster) l.cluster = l.grid;
  l.block = {threads, 1, 1};
  l.params = {test::pointer("gx")};
  c.launches = {l};
  return c;
}

Twin litmus_twin(const test::LitmusPattern& p, test::Place place, const std::string& removed, bool is_poisoned) {
  const bool is_cluster = place == test::Place::cluster;
  const bool is_pair = is_cluster || place == test::Place::grid;
  return {kernel_of(p, place, removed), contract_of(is_pair ? 2 : 1, 64, is_cluster, is_poisoned)};
}

test::Place place_of(const std::string& word) {
  for (const test::Place p :
       {test::Place::same, test::Place::lane, test::Place::warp, test::Place::cluster, test::Place::grid})
    if (word == spelling(p)) return p;
  throw std::runtime_error("no place `" + word + "`");
}

// `use PATTERN PLACE STEP`: a hand-over of tests/litmus without a step.
Twin used_twin(const Case& c, bool is_bad) {
  std::istringstream in(c.use);
  std::string pattern, place, step;
  in >> pattern >> place >> step;
  return litmus_twin(test::read_pattern(KILN_LITMUS "/patterns/" + pattern + ".litmus"), place_of(place),
                     is_bad ? step : "", c.is_poisoned);
}

// A file of PTX, with lines that end in `// BAD` and lines that begin with `// GOOD: `.
Twin ptx_twin(const Case& c, bool is_bad) {
  std::ifstream in(KILN_PEERS "/" + c.ptx);
  if (!in) throw std::runtime_error("cannot read " + c.ptx);
  constexpr std::string_view good = "// GOOD: ";
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with("// BAD") && !is_bad) continue;
    if (line.starts_with(good)) {
      if (is_bad) continue;
      line = line.substr(good.size());
    }
    out += line + "\n";
  }
  return {out, contract_of(1, 128, false, c.is_poisoned)};
}

// Lines of the litmus format, of which some begin with BAD or GOOD.
Twin written_twin(const Case& c, bool is_bad) {
  std::istringstream in(c.body);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(is_bad ? "GOOD " : "BAD ")) continue;
    kept += (line.starts_with("BAD ") || line.starts_with("GOOD ") ? line.substr(line.find(' ') + 1) : line) + "\n";
  }
  std::istringstream lines(kept);
  const test::LitmusPattern p = test::read_pattern(lines, c.test);
  return litmus_twin(p, p.places.at(0), "", c.is_poisoned);
}

Twin twin_of(const Case& c, bool is_bad) {
  return !c.use.empty() ? used_twin(c, is_bad) : !c.ptx.empty() ? ptx_twin(c, is_bad) : written_twin(c, is_bad);
}

// What is said: slugs of errors, and of PORTABILITY in brackets; `incomplete`, or `clean`.
struct Answer {
  std::set<std::string> errors{}, portability{};
  bool incomplete = false;

  void take(const diag::Sink& sink) {
    for (const diag::Diagnostic& d : sink.all()) {
      const std::string name = d.slug.empty() ? d.message : d.slug;
      if (d.severity == diag::Severity::error) errors.insert(name);
      if (d.severity == diag::Severity::portability) portability.insert("(" + name + ")");
      incomplete |= d.severity == diag::Severity::incomplete;
    }
  }
  bool says_something() const { return !errors.empty() || !portability.empty(); }
  std::string text() const {
    std::vector<std::string> all(errors.begin(), errors.end());
    all.insert(all.end(), portability.begin(), portability.end());
    if (incomplete && errors.empty()) all.push_back("incomplete");
    return all.empty() ? "clean" : fmt::format("{}", fmt::join(all, ", "));
  }
};

Answer simulated(const Twin& t) {
  Answer a;
  for (int seed = 1; seed <= schedules; ++seed) {
    sim::Options options;
    options.seed = std::uint64_t(seed);
    options.max_steps = 20000;
    a.take(test::run(t.ptx, t.contract, options).sink);
  }
  return a;
}

Answer checked(const Twin& t) {
  Answer a;
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<const diag::Source>("test.ptx", t.ptx), sink);
  verifier::check(module, sink);
  if (!sink.has_errors()) verifier::check_synchronisation(module, sink, &t.contract);
  a.take(sink);
  return a;
}

struct Count {
  int cases = 0, simulated = 0, checked = 0, good = 0;
};

// One row of the table; `wrong` counts what nothing explains.
std::string row(const Case& c, Count& count, int& wrong) {
  const Twin bad = twin_of(c, true), good = twin_of(c, false);
  const Answer sim = simulated(bad), check = checked(bad), good_sim = simulated(good), good_check = checked(good);
  const bool is_good_clean = !good_sim.says_something() && !good_check.says_something();
  ++count.cases, count.simulated += sim.says_something(), count.checked += check.says_something(),
      count.good += is_good_clean;
  const bool agrees = sim.says_something() && check.says_something() && is_good_clean;
  if (agrees != c.differs.empty())
    ++wrong, std::cout << fmt::format("{}: {}; sim: {}; check: {}; repaired: {}; {}\n", c.test,
                                      agrees ? "agrees, but `differs` says why not" : "no `differs` says why",
                                      sim.text(), check.text(), good_sim.text(), good_check.text());
  return fmt::format("| {} | {} | {} | {} | {} |{}\n", c.test, c.mistake, c.peer, sim.text(), check.text(),
                     c.differs.empty() ? " |" : " " + c.differs + " |");
}

std::string tables(int& wrong) {
  std::string out;
  for (const auto& [file, name] : suites) {
    Count n;
    std::string body;
    for (const Case& c : read_cases(KILN_PEERS "/" + std::string(file) + ".txt")) body += row(c, n, wrong);
    out += fmt::format(
        "## {}\n\nOf {} planted mistakes `kiln sim` finds {}, `kiln check --launch` {}. Of the repaired twins {} are "
        "clean in "
        "both.\n\n| its test | mistake | what it finds | kiln sim | kiln check | where they differ "
        "|\n|---|---|---|---|---|---|\n{}\n",
        name, n.cases, n.simulated, n.checked, n.good, body);
  }
  return out;
}

// The text between the marks of a page.
struct Page {
  std::string path, before, between, behind;

  explicit Page(const std::string& p) : path(p) {
    std::ifstream in(path);
    const std::string all{std::istreambuf_iterator<char>(in), {}};
    constexpr std::string_view begin = "<!-- measured -->\n", end = "<!-- end -->\n";
    const std::size_t first = all.find(begin), last = all.find(end);
    if (first == all.npos || last == all.npos) throw std::runtime_error(path + " has no marks");
    before = all.substr(0, first + begin.size());
    between = all.substr(before.size(), last - before.size());
    behind = all.substr(last);
  }
};

int show(const std::string& test) {
  for (const auto& [file, name] : suites)
    for (const Case& c : read_cases(KILN_PEERS "/" + std::string(file) + ".txt"))
      if (c.test == test)
        for (const bool is_bad : {true, false}) {
          const Twin t = twin_of(c, is_bad);
          std::cout << t.ptx << test::run(t.ptx, t.contract).findings() << "-- check: " << checked(t).text() << '\n';
        }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> args(argv + 1, argv + argc);
    if (args.size() == 2 && args[0] == "--show") return show(args[1]);
    int wrong = 0;
    const std::string now = tables(wrong);
    const Page page(KILN_PEERS "/../../docs/peers.md");
    if (args.size() == 1 && args[0] == "--write") {
      std::ofstream(page.path) << page.before << now << page.behind;
      return wrong != 0;
    }
    if (!args.empty()) return std::cerr << "usage: peers [--write | --show TEST]\n", 2;
    if (now != page.between) ++wrong, std::cout << "docs/peers.md is not up to date; now:\n" << now;
    return wrong != 0;
  } catch (const std::exception& e) {
    std::cerr << "peers: " << e.what() << '\n';
    return 2;
  }
}
