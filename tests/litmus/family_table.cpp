#include "tests/litmus/family_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "ptx/diag/render.hpp"
#include "tests/litmus/family.hpp"
#include "tests/litmus/program_ptx.hpp"
#include "tests/unit/sim/run.hpp"
#include "verifier/explore.hpp"
#include "verifier/verify.hpp"

namespace kiln::test {
namespace {

constexpr int schedules = 10;

// What an engine says, and what it is worth: an error or PORTABILITY of a race, or of something else.
struct Answer {
  bool error = false, portability = false, incomplete = false;
  std::set<std::string> others{};  // slugs that are about no race
};

bool is_race(const std::string& slug) {
  constexpr std::array slugs{
      "race",           "race-async",           "proxy-fence", "proxy-fence-read", "cluster-relaxed",
      "mbarrier-scope", "mbarrier-wait-acquire"};
  return std::find(slugs.begin(), slugs.end(), slug) != slugs.end();
}

void take(const diag::Sink& sink, Answer& a) {
  for (const diag::Diagnostic& d : sink.all()) {
    if (d.severity == diag::Severity::incomplete)
      a.incomplete = true;
    else if (!is_race(d.slug))
      d.severity == diag::Severity::error ? a.others.insert(d.slug.empty() ? d.message : d.slug).first : a.others.end();
    else if (d.severity == diag::Severity::error)
      a.error = true;
    else if (d.severity == diag::Severity::portability)
      a.portability = true;
  }
}

std::string word(const Answer& a, Truth truth) {
  std::string out = a.error ? "race" : a.portability ? "portability" : a.incomplete ? "incomplete" : "clean";
  if (truth == Truth::races && !a.error && !a.portability) out += a.incomplete ? "" : " MISSED";
  if (truth == Truth::ordered && (a.error || a.portability)) out += " FALSE";
  for (const std::string& slug : a.others) out += " " + slug;
  return out;
}

Answer simulated(const Program& p, const std::string& ptx, bool is_shown = false) {
  Answer a;
  for (int seed = 1; seed <= schedules; ++seed) {
    sim::Options options;
    options.seed = std::uint64_t(seed);
    options.max_steps = 20000;
    const Run r = run(ptx, launch_of(p), options);
    take(r.sink, a);
    if (is_shown && seed == 1) std::cout << r.findings();
  }
  return a;
}

Answer checked(const Program& p, const std::string& ptx, bool is_shown = false) {
  Answer a;
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<const diag::Source>("test.ptx", ptx), sink);
  verifier::check(module, sink);
  const launch::Contract contract = launch_of(p);
  verifier::check_synchronisation(module, sink, &contract);
  take(sink, a);
  if (is_shown) std::cout << diag::render_text(sink);
  return a;
}

struct Row {
  std::string name;
  Truth truth;
  std::string sim, check;

  std::string text() const {
    constexpr std::string_view words[] = {"ordered", "races", "blocked"};
    return fmt::format("{:<88} {:<8} {:<20} {}", name, words[int(truth)], sim, check);
  }
};

std::string name_of(const FamilyTest& t) { return fmt::format("{}, {}, {}", t.shape, t.place, t.detail); }

Row row_of(const FamilyTest& t) {
  const std::string ptx = ptx_of(t.program);
  const Truth truth = truth_of(t.program);
  std::string check = word(checked(t.program, ptx), truth);
  // Exploring does not judge global memory.
  if (check == "clean MISSED" && truth_of(t.program, true) == Truth::ordered) check = "clean (global)";
  return {name_of(t), truth, word(simulated(t.program, ptx), truth), check};
}

std::vector<Row> rows() {
  std::vector<Row> out;
  for (const FamilyTest& t : family()) out.push_back(row_of(t));
  return out;
}

// Lines of a file of this folder, without comments.
std::vector<std::string> lines_of(const char* file) {
  std::ifstream in(std::string(KILN_LITMUS "/") + file);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out.push_back(line);
  return out;
}

// `*` stands for anything.
bool fits(std::string_view glob, std::string_view name) {
  if (glob.empty()) return name.empty();
  if (glob[0] != '*') return !name.empty() && glob[0] == name[0] && fits(glob.substr(1), name.substr(1));
  return fits(glob.substr(1), name) || (!name.empty() && fits(glob, name.substr(1)));
}

// A line of disagreements.txt: `simulator MISSED NAMES ! reason`.
struct Reason {
  std::string engine{}, what{}, names{};
  int uses = 0;
};

Reason reason_of(const std::string& line) {
  Reason r;
  std::istringstream in(line.substr(0, line.find(" ! ")));
  in >> r.engine >> r.what;
  std::getline(in >> std::ws, r.names);
  return r;
}

// Whether a disagreement has a reason; all reasons that fit are used.
bool is_named(const Row& row, const std::string& engine, const std::string& answer, std::vector<Reason>& reasons) {
  const std::size_t at = std::min(answer.find("MISSED"), answer.find("FALSE"));
  if (at == answer.npos) return true;
  bool found = false;
  for (Reason& r : reasons)
    if (r.engine == engine && answer.compare(at, r.what.size(), r.what) == 0 && fits(r.names, row.name))
      ++r.uses, found = true;
  return found;
}

// Every disagreement needs a reason, and every reason a disagreement.
int unexplained(const std::vector<Row>& rows) {
  std::vector<Reason> reasons;
  for (const std::string& line : lines_of("disagreements.txt")) reasons.push_back(reason_of(line));
  int wrong = 0;
  for (const Row& row : rows)
    for (const auto& [engine, answer] : {std::pair{"simulator", row.sim}, std::pair{"check", row.check}})
      if (!is_named(row, engine, answer, reasons))
        ++wrong, std::cout << fmt::format("no reason for `{}` of {}: {}\n", answer, engine, row.name);
  for (const Reason& r : reasons)
    if (r.uses == 0) ++wrong, std::cout << fmt::format("no {} of {} has these names: {}\n", r.what, r.engine, r.names);
  return wrong;
}

int count(const std::vector<Row>& rows, std::string Row::*engine, std::string_view what) {
  return int(std::count_if(rows.begin(), rows.end(),
                           [&](const Row& r) { return (r.*engine).find(what) != std::string::npos; }));
}

}  // namespace

void print_family() {
  for (const Row& r : rows()) std::cout << r.text() << '\n';
}

void show_family(const std::string& words) {
  for (const FamilyTest& t : family()) {
    if (name_of(t).find(words) == std::string::npos) continue;
    const std::string ptx = ptx_of(t.program);
    std::cout << ptx << "-- simulator\n";
    simulated(t.program, ptx, true);
    std::cout << "-- check\n";
    checked(t.program, ptx, true);
    std::cout << "-- " << row_of(t).text() << '\n';
  }
}

int compare_family() {
  const std::vector<Row> now = rows();
  const std::vector<std::string> lines = lines_of("family.txt");
  std::set<std::string> table(lines.begin(), lines.end()), found;
  for (const Row& r : now) found.insert(r.text());
  int wrong = unexplained(now);
  for (const std::string& line : table)
    if (!found.contains(line)) ++wrong, std::cout << "- " << line << '\n';
  for (const std::string& line : found)
    if (!table.contains(line)) ++wrong, std::cout << "+ " << line << '\n';
  const auto races = std::count_if(now.begin(), now.end(), [](const Row& r) { return r.truth == Truth::races; });
  std::cout << fmt::format(
      "{} programs of the family, {} of them race; simulator: {} missed, {} false; check: {} missed, {} in global "
      "memory, {} "
      "false, {} incomplete; {} lines differ from family.txt or have no reason\n",
      now.size(), races, count(now, &Row::sim, "MISSED"), count(now, &Row::sim, "FALSE"),
      count(now, &Row::check, "MISSED"), count(now, &Row::check, "(global)"), count(now, &Row::check, "FALSE"),
      count(now, &Row::check, "incomplete"), wrong);
  return wrong != 0;
}

}  // namespace kiln::test
