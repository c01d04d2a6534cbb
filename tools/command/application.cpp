#include "tools/command/application.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "tools/command/report/console.hpp"
#include "tools/command/report/version.hpp"

namespace kiln::command {
namespace {

constexpr const char* exit_codes =
    "Exit codes: 0 clean, 1 errors, 2 unreadable input or flags, 3 incomplete (something is not modelled),\n"
    "4 an internal error of Kiln. `kiln COMMAND --help` shows the options and examples of a command.\n"
    "Kernels of your own: `kiln --kernels FILE COMMAND`, or $KILN_KERNELS, takes those of a shared object.";

// CLI11's messages are sentences; ours start in lower case and end without a full stop.
std::string tidy(std::string message) {
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  for (char& c : message)
    if (c == '\n') c = ' ';
  const bool acronym = message.size() > 1 && message[1] >= 'A' && message[1] <= 'Z';
  if (!message.empty() && !acronym && message[0] >= 'A' && message[0] <= 'Z') message[0] = char(message[0] - 'A' + 'a');
  return message;
}

// The options of a subcommand, or the subcommands, as typed.
std::vector<std::string> known_words(const CLI::App& app, const CLI::App* sub) {
  std::vector<std::string> names;
  if (!sub)
    for (const CLI::App* s : app.get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); }))
      names.push_back(s->get_name());
  else
    for (const CLI::Option* o : sub->get_options())
      for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
  return names;
}

// What is unknown, and what was probably meant. CLI11 would list it last word first.
std::string unknown_word(const CLI::App& app, const CLI::App* sub, std::span<const std::string> words) {
  const std::vector<std::string> left =
      sub ? sub->remaining() : std::vector<std::string>(words.begin(), words.begin() + 1);
  std::string word = left.empty() ? std::string() : left.front();
  for (const std::string& w : left)
    if (w.starts_with("-")) word = w;
  word = word.substr(0, word.find('='));
  const std::vector<std::string> known = known_words(app, sub);
  const std::string_view near = nearest(word, known);
  const bool is_option = word.starts_with("-");
  return fmt::format(
      "{} '{}'{}",
      is_option ? "unknown option"
      : sub     ? "unexpected argument"
                : "unknown command",
      word, near.empty() || (is_option != near.starts_with("-")) ? "" : fmt::format(" (did you mean {}?)", near));
}

int parse_failure(const CLI::App& app, const CLI::ParseError& error, std::span<const std::string> words) {
  if (error.get_exit_code() == 0) {  // --help, --version
    const int code = app.exit(error);
    std::fflush(stdout);
    return code == 0 ? Exit::clean : Exit::unusable;
  }
  const auto named = app.get_subcommands();
  const CLI::App* sub = named.empty() ? nullptr : named.front();
  const bool unknown = !sub || dynamic_cast<const CLI::ExtrasError*>(&error);
  complain(fmt::format("error: {}; see `{} --help`\n", unknown ? unknown_word(app, sub, words) : tidy(error.what()),
                       sub ? "kiln " + sub->get_name() : "kiln"));
  return Exit::unusable;
}

int run(int argc, char** argv, const AddSubcommands& add, const std::function<void(KernelChoice&)>& choose) {
  CLI::App app("Kiln: write, check, simulate and run NVIDIA PTX kernels built around tcgen05.", "kiln");
  app.set_version_flag("--version", fmt::format("kiln {}", version()));
  app.footer(exit_codes);
  app.require_subcommand(1);
  const std::vector<std::string> words(argv + (argc > 0), argv + argc);
  Action action;
  add({app, action, words, choose});
  if (words.empty()) {
    complain(app.help());
    return Exit::unusable;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_failure(app, error, words);
  }
  return action();
}

}  // namespace

int run_application(int argc, char** argv, const AddSubcommands& add,
                    const std::function<void(KernelChoice&)>& choose) {
  return guarded([&] { return run(argc, argv, add, choose); });
}

}  // namespace kiln::command
