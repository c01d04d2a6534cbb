// kiln ptxas: stands in for ptxas and checks what it assembles.
//
// A compiler that calls ptxas must not notice, so the real ptxas runs as it was asked to, with the streams of this
// process, and a process of its own checks the inputs meanwhile: what goes wrong there never fails a compilation.
#include <fmt/format.h>
#include <stdlib.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "harness/host/process.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/parse/parse.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tools/command/inputs.hpp"
#include "tools/command/judge.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/subcommands.hpp"
#include "verifier/explore.hpp"
#include "verifier/verify.hpp"

namespace kiln::command {
namespace {

constexpr const char* ptxas_examples =
    "  kiln ptxas -arch sm_100a kernel.ptx -o kernel.cubin     as ptxas, with findings on stderr\n"
    "  KILN_CHECK=error kiln ptxas -arch sm_100a kernel.ptx    exit code 1 for errors that ptxas does not find\n"
    "  ln -s $(command -v kiln) kiln-ptxas                     a link whose name ends in ptxas does the same, so that\n"
    "  TRITON_PTXAS_BLACKWELL_PATH=$PWD/kiln-ptxas python3 program.py    Triton checks every kernel that it "
    "compiles\n"
    "  kiln ptxas --shadow cuda && PATH=$PWD/cuda/bin:$PATH make         nvcc calls the ptxas beside itself: a CUDA\n"
    "                                                 Toolkit of links to the one at hand, with kiln as ptxas\n\n"
    "KILN_CHECK=off hands on to ptxas alone. KILN_BUDGET=SECONDS is what an input may take while ptxas runs [0.1].\n"
    "Errors are shown in full, all else in one line; KILN_SHOW=all shows each.\n"
    "KILN_CHECK_LOG=FILE gets the findings too, for compilers that do not show what ptxas says. The ptxas is the one\n"
    "that every command finds: $KILN_PTXAS, else of $PATH, $CUDA_HOME/bin, the Python packages beside an installed\n"
    "kiln (nvidia-cuda-nvcc, Triton) and /usr/local/cuda/bin the first of CUDA 13.0 or later.";

enum class Mode : std::uint8_t { off, report, error };

struct Settings {
  Mode mode = Mode::report;
  double budget = 0.1;  // seconds an input
  bool shows_all = false;
  std::string log{};
};

std::string setting(const char* name) {
  const char* value = ::getenv(name);
  return value ? value : "";
}

Settings read_settings() {
  Settings s;
  s.log = setting("KILN_CHECK_LOG");
  if (const std::string mode = setting("KILN_CHECK"); mode == "off")
    s.mode = Mode::off;
  else if (mode == "error")
    s.mode = Mode::error;
  else if (!mode.empty() && mode != "report")
    diag::refuse("KILN_CHECK: must be off, report or error; got '{}'", mode);
  if (const std::string shown = setting("KILN_SHOW"); shown == "all")
    s.shows_all = true;
  else if (!shown.empty() && shown != "errors")
    diag::refuse("KILN_SHOW: must be errors or all; got '{}'", shown);
  if (const std::string budget = setting("KILN_BUDGET"); !budget.empty()) {
    const auto [end, failed] = std::from_chars(budget.data(), budget.data() + budget.size(), s.budget);
    if (failed != std::errc{} || end != budget.data() + budget.size() || !(s.budget > 0))
      diag::refuse("KILN_BUDGET: must be a number of seconds above 0; got '{}'", budget);
  }
  return s;
}

// ptxas, and not this program under its name: that one is started here too, to ask for its version, and then says so.
harness::Ptxas find_real_ptxas() {
  constexpr const char* asking = "KILN_ASKS_PTXAS";
  if (::getenv(asking)) throw diag::InputError("this is kiln ptxas, which looks for another ptxas");
  ::setenv(asking, "1", 1);
  harness::Ptxas found = harness::find_ptxas();
  ::unsetenv(asking);
  if (!found.found()) throw diag::InputError(found.missing);
  return found;
}

bool is_ptx_file(const std::string& path) {
  std::ifstream file(path);
  if (path.ends_with(".ptx")) return file.is_open();
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find_first_not_of(" \t\r");
    if (at == std::string::npos || line.compare(at, 2, "//") == 0) continue;
    return line.compare(at, 8, ".version") == 0;
  }
  return false;
}

// The arguments that name PTX files, which may be lists with commas. Only the name and the text tell an input from the
// value of an option, of which each ptxas has others.
std::vector<std::string> ptx_inputs(std::span<const std::string> arguments) {
  std::vector<std::string> inputs;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("-")) continue;
    for (std::string_view rest = argument; !rest.empty();) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (std::string path(rest.substr(0, comma)); is_ptx_file(path)) inputs.push_back(std::move(path));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return inputs;
}

// What is wrong with a text that ptxas judges as well: its syntax is left to ptxas.
diag::Sink judge_input(const std::string& path, double budget) {
  const auto begun = verifier::WorkClock::now();
  diag::Sink unread, found;
  const ir::Module module = parse::parse(read_source(path), unread);
  for (diag::Diagnostic d : unread.all()) {
    if (d.severity == diag::Severity::error) d.severity = diag::Severity::incomplete;
    found.report(std::move(d));
  }
  if (unread.has_errors()) return found;
  verifier::check(module, found, rules::Profile::isa, {});
  if (found.has_errors()) return found;
  verifier::check_synchronisation(module, found, nullptr, {}, time_to_explore(budget, begun));
  found.sort();
  return found;
}

// What is said of an input: nothing of a clean one, errors in full, and one line for all else.
std::string rendered(const std::string& path, const diag::Sink& found, bool shows_all, diag::Colour colour) {
  if (found.all().empty()) return {};
  std::string out;
  for (const diag::Diagnostic& d : found.all())
    if (shows_all || d.severity == diag::Severity::error) out += diag::render_text(d, colour);
  const bool hides = !shows_all && found.all().size() > found.count(diag::Severity::error);
  return out +
         fmt::format("kiln: {}: {}{}\n", path, diag::summary_by_rule(found), hides ? "; KILN_SHOW=all shows each" : "");
}

struct Findings {
  bool has_errors = false;
  std::string text{};
};

void append(Findings& all, const std::string& path, const Settings& settings) {
  try {
    const diag::Sink found = judge_input(path, settings.budget);
    all.has_errors |= found.has_errors();
    all.text += rendered(path, found, settings.shows_all, settings.log.empty() ? colour_of(2) : diag::Colour::off);
  } catch (const std::exception& error) {
    all.text += fmt::format("kiln: {}: not checked: {}\n", path, error.what());
  }
}

// In a process of its own, whose answer is a letter and the text.
Findings check_inputs(const std::vector<std::string>& inputs, const Settings& settings) {
  const auto check = [&](unsigned, const std::function<void()>&) {
    Findings all;
    for (const std::string& path : inputs) append(all, path, settings);
    return (all.has_errors ? 'e' : ' ') + all.text;
  };
  try {
    const std::string answer = harness::in_processes(1, check, [] {}).front();
    return {answer[0] == 'e', answer.substr(1)};
  } catch (const std::exception& error) {
    return {false, fmt::format("kiln: not checked: {}\n", error.what())};
  }
}

void write_log(const std::string& path, const std::string& text) {
  std::ofstream log(path, std::ios::app);
  if (!(log << text << std::flush)) complain(fmt::format("kiln: KILN_CHECK_LOG: {} cannot be written\n", path));
}

// The file of this program, which a link in its place would not name.
std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

void link_all(const std::filesystem::path& from, const std::filesystem::path& to, std::string_view left_out) {
  std::filesystem::create_directories(to);
  for (const auto& entry : std::filesystem::directory_iterator(from))
    if (entry.path().filename() != left_out)
      std::filesystem::create_symlink(entry.path(), to / entry.path().filename());
}

// A CUDA Toolkit whose nvcc calls `kiln ptxas`. nvcc looks for ptxas beside its own file, so that one is copied.
int make_shadow(const std::string& folder) {
  namespace fs = std::filesystem;
  const std::string nvcc = find_cuda_tool("nvcc");
  if (nvcc.empty()) diag::refuse("--shadow: no nvcc in $PATH, $CUDA_HOME/bin and /usr/local/cuda/bin");
  const fs::path bin = fs::canonical(nvcc).parent_path(), to = fs::absolute(folder);
  if (fs::exists(to)) diag::refuse("--shadow: '{}' is there already", folder);
  try {
    link_all(bin.parent_path(), to, bin.filename().string());
    link_all(bin, to / "bin", "ptxas");
    fs::remove(to / "bin/nvcc");
    fs::copy_file(bin / "nvcc", to / "bin/nvcc");
    fs::create_symlink(own_path(), to / "bin/ptxas");
  } catch (const fs::filesystem_error& error) {
    diag::refuse("--shadow: {}", error.what());
  }
  fmt::print("{}\n", (to / "bin/nvcc").string());
  return int(Exit::clean);
}

}  // namespace

int check_and_assemble(std::span<const std::string> arguments) {
  const harness::Ptxas ptxas = find_real_ptxas();
  std::vector<std::string> call{ptxas.path};
  call.insert(call.end(), arguments.begin(), arguments.end());
  const Settings settings = read_settings();
  const std::vector<std::string> inputs =
      settings.mode == Mode::off ? std::vector<std::string>() : ptx_inputs(arguments);
  if (inputs.empty()) harness::become_program(call);
  harness::ChildProcess assembler(call);
  const Findings found = check_inputs(inputs, settings);
  const int exit_code = assembler.wait();
  complain(found.text);
  if (!settings.log.empty() && !found.text.empty()) write_log(settings.log, found.text);
  return exit_code == 0 && found.has_errors && settings.mode == Mode::error ? int(Exit::errors) : exit_code;
}

void add_ptxas(const Builder& builder) {
  CLI::App* sub = builder.add("ptxas", "Stand in for ptxas, and check what it assembles", ptxas_examples);
  sub->prefix_command();
  sub->callback([words = builder.words, &action = builder.action] {
    action = [words] {
      const bool asks_for_shadow = words.size() == 3 && words[1] == "--shadow";
      return asks_for_shadow ? make_shadow(words[2]) : check_and_assemble(words.subspan(1));
    };
  });
}

}  // namespace kiln::command
