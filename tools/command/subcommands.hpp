// The subcommands: each adds itself to the application and, when the command line names it, sets what is to be done.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace kiln::harness {
struct ViewOptions;
}

namespace kiln::command {

struct KernelChoice;

/// What the command line asks for; returns the exit code.
using Action = std::function<int()>;

/// The application under construction. `words` are the raw arguments: the options of `run` and `emit` depend on the
/// kernel among them.
struct Builder {
  CLI::App& app;
  Action& action;
  std::span<const std::string> words;
  std::function<void(KernelChoice&)> choose{};  // as KernelChoice::choose; may be empty

  /// A subcommand with its help text and examples.
  CLI::App* add(const char* name, const char* help, const char* examples) const {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->footer(std::string("Examples:\n") + examples);
    return sub;
  }
};

/// Accepts these words and no others; the help text is left to the option's type name.
inline CLI::Validator one_of(std::vector<std::string> words) {
  CLI::Validator v = CLI::IsMember(std::move(words));
  return v.description("");
}

/// The options --trace and --map of commands that simulate.
void add_views(CLI::App&, harness::ViewOptions&);

void add_run(const Builder&);
void add_emit(const Builder&);
void add_emit_raw(const Builder&);
void add_lower(const Builder&);
void add_check(const Builder&);
void add_sim(const Builder&);
void add_gpu(const Builder&);
void add_map(const Builder&);
void add_time(const Builder&);
void add_tune(const Builder&);
void add_merge(const Builder&);
void add_list(const Builder&);
void add_explain(const Builder&);
void add_layout(const Builder&);
void add_decode(const Builder&);
void add_mma(const Builder&);
void add_ptxas(const Builder&);
void add_doctor(const Builder&);
void add_lsp(const Builder&);

/// What `kiln ptxas` does, and the command when it is called by a name that ends in "ptxas": hands the arguments to
/// ptxas and checks its inputs meanwhile. Returns the exit code of ptxas, or 1 for errors where $KILN_CHECK is `error`.
int check_and_assemble(std::span<const std::string> arguments);

}  // namespace kiln::command
