#include "tests/differential/forms_rows.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <span>
#include <sstream>
#include <stdexcept>

#include "ptx/isa/ptx_versions.hpp"

namespace kiln::test {
namespace {

constexpr isa::PtxVersion oldest_of_rows{9, 0};

std::ifstream open(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return in;
}

void add_front_coded(const std::string& line, std::vector<std::string>& to) {
  std::size_t shared = 0;
  const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), shared);
  const auto used = std::size_t(end - line.data());
  if (failed != std::errc{} || used >= line.size() || (shared && to.empty()) || (shared && shared > to.back().size()))
    throw std::runtime_error("not front-coded: " + line);
  to.push_back((shared ? to.back().substr(0, shared) : std::string()) + line.substr(used + 1));
}

// "= 9.4 sm_107a sm_107f"
AcceptedRows head_of_rows(const std::string& line) {
  std::istringstream words(line.substr(2));
  AcceptedRows rows;
  char dot = 0;
  if (!(words >> rows.version.major >> dot >> rows.version.minor)) throw std::runtime_error("no version: " + line);
  for (std::string word; words >> word;) {
    const auto target = isa::parse_target(word);
    if (!target) throw std::runtime_error("no target: " + line);
    rows.targets.push_back(*target);
  }
  return rows;
}

// What is said of instructions that must all be taken, or all be refused.
void ask_some(const Setting& setting, std::span<const std::string> instructions, bool taken, Exceptions& exceptions,
              Tally& tally) {
  const auto by_kiln = ask_kiln(setting, instructions);
  tally.forms += instructions.size();
  tally.accepted += taken ? instructions.size() : 0;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (by_kiln[i].empty() == taken) continue;
    const auto kind = taken ? Exception::Kind::accepts : Exception::Kind::refuses;
    Disagreement d{spelling(setting), instructions[i], taken ? "" : "refused", by_kiln[i]};
    const Exception* e = find_exception(exceptions, kind, d.setting, d.instruction, taken ? d.kiln : d.ptxas);
    if (e) d.row = e->row;
    (e ? tally.covered : tally.disagreements).push_back(std::move(d));
  }
}

// Few at a time: each is a kernel, and some checks of a kernel look at all of its module.
void ask(const Setting& setting, std::span<const std::string> instructions, bool taken, Exceptions& exceptions,
         Tally& tally) {
  constexpr std::size_t batch = 200;
  for (; !instructions.empty(); instructions = instructions.subspan(std::min(batch, instructions.size())))
    ask_some(setting, instructions.first(std::min(batch, instructions.size())), taken, exceptions, tally);
}

// Every `step`-th instruction, counted over all groups: `at` is how many came before.
std::vector<std::string> every(const AcceptedRows& group, std::size_t step, std::size_t& at) {
  std::vector<std::string> chosen;
  for (const std::string& i : group.instructions)
    if (at++ % step == 0) chosen.push_back(i);
  return chosen;
}

}  // namespace

const std::vector<isa::Target>& targets_of_rows() {
  using enum isa::TargetSuffix;
  static const std::vector<isa::Target> targets{{90, a},  {100},    {100, a}, {100, f}, {103, a}, {103, f}, {107},
                                                {107, a}, {107, f}, {110, a}, {110, f}, {120, a}, {121, a}};
  return targets;
}

std::vector<AcceptedRows> read_accepted_rows(const std::string& path) {
  std::ifstream in = open(path);
  std::vector<AcceptedRows> out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    if (line.starts_with("= "))
      out.push_back(head_of_rows(line));
    else if (out.empty())
      throw std::runtime_error(path + ": no targets before " + line);
    else
      add_front_coded(line, out.back().instructions);
  }
  return out;
}

std::vector<std::string> read_refused_rows(const std::string& path) {
  std::ifstream in = open(path);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) add_front_coded(line, out);
  return out;
}

Tally ask_accepted(const std::vector<AcceptedRows>& rows, std::size_t step, Exceptions& exceptions) {
  Tally tally;
  std::size_t at = 0;
  for (const AcceptedRows& group : rows) {
    const std::vector<std::string> chosen = every(group, step, at);
    if (chosen.empty()) continue;
    for (const isa::Target& t : targets_of_rows()) {
      const bool has = std::count(group.targets.begin(), group.targets.end(), t) != 0;
      ask({t, std::max(group.version, isa::lowest_version(t)), isa::newest_ptxas}, chosen, has, exceptions, tally);
      const isa::PtxVersion before{group.version.major, group.version.minor - 1};
      if (has && before >= oldest_of_rows && before >= isa::lowest_version(t))
        ask({t, before, isa::newest_ptxas}, chosen, false, exceptions, tally);
    }
  }
  return tally;
}

Tally ask_withdrawn(const std::vector<AcceptedRows>& rows, std::size_t step, Exceptions& oldest, Exceptions& newest) {
  Tally tally;
  std::size_t at = 0;
  for (const AcceptedRows& group : rows) {
    const std::vector<std::string> chosen = every(group, step, at);
    for (const isa::Target& t : group.targets) {
      ask({t, group.version, isa::oldest_ptxas}, chosen, true, oldest, tally);
      ask({t, group.version, isa::newest_ptxas}, chosen, false, newest, tally);
    }
  }
  return tally;
}

Tally ask_refused(const std::vector<std::string>& rows, std::size_t step, Exceptions& exceptions) {
  Tally tally;
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i < rows.size(); i += step) chosen.push_back(rows[i]);
  ask({isa::sm_107a, {9, 5}, isa::newest_ptxas}, chosen, false, exceptions, tally);
  return tally;
}

std::vector<VersionsRow> read_versions_rows(const std::string& path) {
  std::ifstream in = open(path);
  std::vector<VersionsRow> out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t at = line.find('@'), answers = line.find(" | "), instruction = line.find(" | ", answers + 1);
    const auto target = isa::parse_target(std::string_view(line).substr(0, at));
    const auto version =
        answers == line.npos ? std::nullopt : isa::parse_ptx_version(line.substr(at + 1, answers - at - 1));
    if (!target || !version || instruction != answers + 9) throw std::runtime_error("no row: " + line);
    out.push_back({*target, *version, line.substr(answers + 3, 6), line.substr(instruction + 3)});
  }
  return out;
}

}  // namespace kiln::test
