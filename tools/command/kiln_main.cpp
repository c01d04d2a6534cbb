#include "tools/command/kiln_main.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/error.hpp"
#include "tools/command/application.hpp"
#include "tools/command/gemm_choice.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/kernels.hpp"

namespace kiln {
namespace command {
namespace {

struct Subcommand {
  std::string_view name;
  void (*add)(const Builder&);
};

// In the order of `kiln --help`.
constexpr Subcommand subcommands[] = {
    {"run", add_run},       {"emit", add_emit},     {"lower", add_lower},       {"check", add_check},
    {"sim", add_sim},       {"gpu", add_gpu},       {"map", add_map},           {"time", add_time},
    {"tune", add_tune},     {"merge", add_merge},   {"list", add_list},         {"explain", add_explain},
    {"layout", add_layout}, {"decode", add_decode}, {"mma", add_mma},           {"ptxas", add_ptxas},
    {"doctor", add_doctor}, {"lsp", add_lsp},       {"emit-raw", add_emit_raw},
};

// The one that the command line begins with; all of them where it begins with something else. To describe the options
// of all takes as long as to judge a small file.
void add_named(const Builder& builder) {
  const auto is_named = [&](const Subcommand& s) { return !builder.words.empty() && builder.words[0] == s.name; };
  const bool is_one = std::any_of(std::begin(subcommands), std::end(subcommands), is_named);
  for (const Subcommand& s : subcommands)
    if (!is_one || is_named(s)) s.add(builder);
}

// A link to the command under such a name stands in for ptxas.
bool is_called_ptxas(int argc, char** argv) { return argc > 0 && std::string_view(argv[0]).ends_with("ptxas"); }

// What $KILN_KERNELS names, and then what `--kernels FILE` at the beginning of the command line does: that is taken
// off, since the options of a subcommand depend on the kernels that there are.
void load_modules(int& argc, char** argv) {
  if (const char* named = std::getenv("KILN_KERNELS")) {
    std::istringstream paths(named);
    for (std::string path; std::getline(paths, path, ':');)
      if (!path.empty()) load_kernels(path);
  }
  while (argc > 1 && std::string_view(argv[1]) == "--kernels") {
    if (argc == 2) throw diag::InputError("--kernels: name a shared object with kernels");
    load_kernels(argv[2]);
    std::copy(argv + 3, argv + argc, argv + 1);
    argc -= 2;
  }
}

}  // namespace
}  // namespace command

int kiln_main(int argc, char** argv) {
  if (command::is_called_ptxas(argc, argv)) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    return command::guarded([&] { return command::check_and_assemble(words); });
  }
  return command::guarded([&] {
    command::load_modules(argc, argv);
    return command::run_application(argc, argv, command::add_named, command::choose_gemm);
  });
}

}  // namespace kiln
