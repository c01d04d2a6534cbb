// oracle: Kiln's forms against ptxas over every generated instruction and target; prints a table.
//
//   oracle --rows                    what is known of PTX 9.0 to 9.5 instead: Kiln alone is asked, about every row
//   oracle [SETTING | OPCODE]...     settings such as sm_100a@9.0 or sm_100a, beginnings of opcodes such as mbarrier;
//                                    all when none
//   oracle --save=FILE SETTING...    writes what came out, for --merge
//   oracle --merge FILE...           what several processes have saved of one ptxas: the sums, and the exceptions that
//                                    no instruction needs, which are asked about as when all is asked in one process
//
//   --answers=FOLDER                 keeps there what ptxas says, and does not ask again what is there
//   --threads=N                      instead of as many as there are cores
//   --excepted                       also prints each instruction that an exception covers, with the row
//   --data=FOLDER                    reads the tables there, instead of in the tests/data that this was built with
//
// Exit status: 0 when the engines agree, 1 when not, 2 when ptxas is missing, a file cannot be read or a word of the
// command line chooses nothing.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <sstream>

#include "tests/differential/forms_compare.hpp"
#include "tests/differential/forms_grammar.hpp"
#include "tests/differential/forms_rows.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

// One row of the table: how much of the grammar is asked there. No version: the newest that ptxas knows.
struct Row {
  isa::Target target;
  std::size_t forms;
  std::optional<isa::PtxVersion> version{};
};

using enum isa::TargetSuffix;
const std::vector<Row> rows{
    {isa::sm_100a, 60000},
    {isa::sm_100f, 12000},
    {isa::sm_103a, 12000},
    {isa::sm_103f, 12000},
    {isa::sm_110a, 12000},
    {isa::sm_110f, 12000},
    {isa::sm_90a, 20000},
    {isa::sm_120a, 20000},
    {{120, f}, 12000},
    {{121, a}, 12000},
    {{107}, 12000},
    {{107, a}, 20000},
    {{107, f}, 12000},
    {{100}, 12000},
    {{90}, 12000},
    {{89}, 12000},
    {isa::sm_100a, 6000, {{8, 6}}},
    {isa::sm_100a, 6000, {{8, 7}}},
    {isa::sm_90a, 6000, {{8, 0}}},
    {{90}, 6000, {{7, 8}}},
    {{89}, 6000, {{8, 1}}},
    {{87}, 6000, {{7, 4}}},
    {{86}, 6000, {{7, 1}}},
    {isa::sm_80, 6000},
    {isa::sm_80, 6000, {{7, 0}}},
    {{75}, 6000},
    {{75}, 6000, {{6, 5}}},
};

Setting setting_of(const Row& row, isa::PtxasVersion ptxas) {
  return {row.target, row.version.value_or(isa::newest_version_of(ptxas)), ptxas};
}

void show_progress(const Setting& setting, std::size_t done, std::size_t of) {
  if (!::isatty(STDERR_FILENO)) return;
  std::fprintf(stderr, "\r%s  %zu of %zu\033[K", spelling(setting).c_str(), done, of);
  if (done == of) std::fprintf(stderr, "\r\033[K");
}

// What the command line asks for.
struct Choice {
  std::vector<std::string> settings{}, opcodes{};
  std::string save{}, answers{};     // --save=FILE, --answers=FOLDER
  std::string data = KILN_TEST_DATA;  // --data=FOLDER
  unsigned threads = 0;              // --threads=N
  bool shows_excepted = false;       // --excepted
  std::vector<std::string> saved{};  // of --merge

  std::string table(const std::string& name) const { return data + "/forms/" + name; }
  bool is_everything() const { return settings.empty() && opcodes.empty(); }
  bool has(const Setting& s) const {
    const std::string name = spelling(s);
    return settings.empty() || std::any_of(settings.begin(), settings.end(), [&](const std::string& word) {
             return name == word || name.starts_with(word + "@");
           });
  }
  bool has(const std::string& instruction) const {
    return opcodes.empty() || std::any_of(opcodes.begin(), opcodes.end(),
                                          [&](const std::string& o) { return instruction.starts_with(o); });
  }
};

// What a kernel has without tensor cores and asynchronous copies.
bool is_outside(const std::string& instruction) {
  std::string_view text = instruction;
  if (text.starts_with('@')) text.remove_prefix(text.find(' ') + 1);
  for (const std::string_view s : {"tcgen05.", "mbarrier.", "cp.", "fence.", "barrier.cluster", "setmaxnreg",
                                   "griddepcontrol", "clusterlaunchcontrol.", "tensormap.", "elect.", "mapa",
                                   "getctarank", "ldmatrix", "stmatrix", "movmatrix", "mma", "wgmma.", "fabric."})
    if (text.starts_with(s)) return false;
  return true;
}

std::size_t report(const char* name, const Tally& t, bool shows_excepted = false) {
  for (const Disagreement& d : t.disagreements) fmt::print("{}\n", d.text());
  if (shows_excepted)
    for (const Disagreement& d : t.covered) fmt::print("{}\n    as {}\n", d.text(), d.row);
  fmt::print("{:13} {:8} {:9} {:9} {:9} {:14}\n", name, t.forms, t.accepted, t.refused(), t.covered.size(),
             t.disagreements.size());
  return t.disagreements.size();
}

void print_head(const char* first) {
  fmt::print("{:13} {:>8} {:>9} {:>9} {:>9} {:>14}\n", first, "forms", "accepted", "rejected", "excepted",
             "disagreements");
}

// Rows that no instruction needs, in any of the lists.
std::size_t report_unused(std::initializer_list<const Exceptions*> lists) {
  std::map<std::string, std::size_t> uses;
  for (const Exceptions* list : lists)
    for (const Exception& e : *list) uses[e.row] += e.matched;
  std::size_t unused = 0;
  for (const auto& [row, count] : uses)
    if (count == 0) fmt::print("newer_exceptions.txt: matches nothing: {}\n", row), ++unused;
  return unused;
}

int run_rows(const Choice& choice) {
  const auto exceptions_of = [&](isa::PtxasVersion ptxas) {
    return read_exceptions(choice.table("newer_exceptions.txt"), ptxas);
  };
  Exceptions exceptions = exceptions_of(isa::newest_ptxas), withdrawn = exceptions_of(isa::oldest_ptxas);
  print_head("rows");
  const std::size_t wrong =
      report("accepted", ask_accepted(read_accepted_rows(choice.table("newer.txt")), 1, exceptions)) +
      report("withdrawn",
             ask_withdrawn(read_accepted_rows(choice.table("withdrawn.txt")), 1, withdrawn, exceptions)) +
      report("refused", ask_refused(read_refused_rows(choice.table("newer_refused.txt")), 1, exceptions));
  return wrong + report_unused({&exceptions, &withdrawn}) ? 1 : 0;
}

// What came out for one setting.
struct Answered {
  Setting setting{};
  std::size_t forms = 0, outside = 0, wrong = 0;
};

// What is asked, of which ptxas, and what came out so far.
class Comparison {
 public:
  Comparison(const harness::Ptxas& ptxas, isa::PtxasVersion version, std::vector<std::string> all, const Choice& choice)
      : ptxas_(ptxas),
        choice_(choice),
        all_(std::move(all)),
        exceptions_(read_exceptions(choice.table("exceptions.txt"), version)) {
    fmt::print("ptxas {}\n", ptxas.version);
    print_head("target");
  }

  // A sample of the instructions, for one setting.
  void ask(const Setting& setting, std::size_t forms) {
    const auto asked = thinned(all_, forms);
    answered_.push_back({setting});
    add(answered_.back(), asked, [&](std::size_t done) { show_progress(setting, done, asked.size()); });
  }

  // A sample may leave out what an exception is about: then the instructions that it names are asked, one setting after
  // the other, until one needs it. A row that none needs is wrong.
  void ask_for_exceptions() {
    for (Exception& e : exceptions_) {
      for (std::size_t i = 0; i < answered_.size() && e.matched == 0; ++i)
        add(answered_[i], named_by(e, answered_[i].setting));
      if (e.matched == 0) fmt::print("exceptions.txt: matches nothing: {}\n", e.row), ++unused_;
    }
  }

  std::size_t finish() const {
    std::size_t forms = 0, outside = 0, wrong = unused_;
    for (const Answered& a : answered_) forms += a.forms, outside += a.outside, wrong += a.wrong;
    fmt::print("{} settings, {} instructions, {} of them outside of asynchronous copies and the tensor core\n",
               answered_.size(), forms, outside);
    return wrong;
  }

  // Lines of words: the ptxas, each setting with its numbers, each exception with how often it was needed.
  void save(const std::string& path) const {
    std::ofstream out(path);
    out << "ptxas " << ptxas_.version << "\n";
    for (const Answered& a : answered_)
      out << "setting " << spelling(a.setting) << " " << a.forms << " " << a.outside << " " << a.wrong << "\n";
    for (const Exception& e : exceptions_) out << "use " << e.matched << " " << e.row << "\n";
    if (!out.flush()) throw std::runtime_error("cannot write " + path);
  }

  // Adds what another process has saved. Throws std::runtime_error for what is not of this ptxas and of these tables.
  void load(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string kind, name;
      words >> kind;
      if (kind == "ptxas" && words >> name && name == ptxas_.version) continue;
      if (kind == "setting" && load_setting(words)) continue;
      if (kind == "use" && load_use(words)) continue;
      throw std::runtime_error(path +
                               ": not of this ptxas and these tables, or a setting for the second time: " + line);
    }
  }

 private:
  void add(Answered& to, const std::vector<std::string>& asked, const std::function<void(std::size_t)>& progress = {}) {
    if (asked.empty()) return;
    Answers answers = choice_.answers.empty() ? Answers() : Answers(choice_.answers, ptxas_, to.setting);
    const Tally t = compare(ptxas_, to.setting, asked, exceptions_, {choice_.threads, &answers, progress});
    answers.write();
    to.forms += t.forms;
    to.outside += std::size_t(std::count_if(asked.begin(), asked.end(), is_outside));
    if (progress || !t.disagreements.empty())
      to.wrong += report(spelling(to.setting).c_str(), t, choice_.shows_excepted);
    std::fflush(stdout);
  }

  bool load_setting(std::istringstream& words) {
    std::string name;
    Answered a;
    words >> name >> a.forms >> a.outside >> a.wrong;
    const auto version = isa::parse_ptxas_version(ptxas_.version).value_or(isa::newest_ptxas);
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return spelling(setting_of(r, version)) == name; });
    const bool is_new = std::none_of(answered_.begin(), answered_.end(),
                                     [&](const Answered& b) { return spelling(b.setting) == name; });
    if (!words || row == rows.end() || !is_new) return false;
    a.setting = setting_of(*row, version);
    answered_.push_back(a);
    return true;
  }

  bool load_use(std::istringstream& words) {
    std::size_t count = 0;
    std::string row;
    words >> count >> std::ws;
    std::getline(words, row);
    const auto e =
        std::find_if(exceptions_.begin(), exceptions_.end(), [&](const Exception& x) { return x.row == row; });
    if (!words || e == exceptions_.end()) return false;
    e->matched += count;
    return true;
  }

  std::vector<std::string> named_by(const Exception& e, const Setting& setting) const {
    std::vector<std::string> out;
    const std::string_view word = needed_word(e);
    for (const std::string& i : all_)
      if (i.find(word) != i.npos && is_about(e, spelling(setting), i)) out.push_back(i);
    return thinned(out, most_for_one_exception);
  }

  static constexpr std::size_t most_for_one_exception = 3000;

  const harness::Ptxas& ptxas_;
  const Choice& choice_;
  const std::vector<std::string> all_;
  Exceptions exceptions_;
  std::vector<Answered> answered_{};
  std::size_t unused_ = 0;
};

int run(const Choice& choice) {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return fmt::print(stderr, "oracle: {}\n", ptxas.missing), 2;
  const auto version = isa::parse_ptxas_version(ptxas.version);
  if (!version) return fmt::print(stderr, "oracle: Kiln does not know ptxas {}\n", ptxas.version), 2;
  auto all = instructions(read_grammar(choice.table("grammar")));
  std::erase_if(all, [&](const std::string& i) { return !choice.has(i); });
  const auto chosen = [&](const Row& row) {
    const Setting setting = setting_of(row, *version);
    return isa::lowest_version(row.target) <= setting.version && choice.has(setting);
  };
  if (all.empty() || std::none_of(rows.begin(), rows.end(), chosen))
    return fmt::print(stderr, "oracle: nothing is named so; a setting is sm_100a@9.0, an opcode tcgen05.mma\n"), 2;
  Comparison comparison(ptxas, *version, std::move(all), choice);
  for (const std::string& file : choice.saved) comparison.load(file);
  for (const Row& row : rows)
    if (choice.saved.empty() && chosen(row)) comparison.ask(setting_of(row, *version), row.forms);
  if (choice.is_everything()) comparison.ask_for_exceptions();
  if (!choice.save.empty()) comparison.save(choice.save);
  return comparison.finish() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Choice choice;
    for (const std::string& word : std::vector<std::string>(argv + 1, argv + argc)) {
      const auto option = [&](std::string_view name) {
        return word.starts_with(name) ? std::optional(word.substr(name.size())) : std::nullopt;
      };
      if (const auto file = option("--save="))
        choice.save = *file;
      else if (const auto folder = option("--answers="))
        choice.answers = *folder;
      else if (const auto threads = option("--threads="))
        choice.threads = unsigned(std::stoul(*threads));
      else if (const auto tables = option("--data="))
        choice.data = *tables;
      else if (word == "--excepted")
        choice.shows_excepted = true;
      else
        (word.starts_with("sm_") ? choice.settings : choice.opcodes).push_back(word);
    }
    if (!choice.opcodes.empty() && choice.opcodes[0] == "--merge") {
      choice.saved.assign(choice.opcodes.begin() + 1, choice.opcodes.end());
      choice.opcodes.clear();
    }
    if (!choice.save.empty() && !choice.opcodes.empty())
      throw std::runtime_error("--save is for settings as a whole, not for some of their instructions");
    return choice.opcodes == std::vector<std::string>{"--rows"} ? run_rows(choice) : run(choice);
  } catch (const std::exception& e) {
    fmt::print(stderr, "oracle: {}\n", e.what());
    return 2;
  }
}
