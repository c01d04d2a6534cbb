// kiln lsp: a language server for PTX, over stdin and stdout.
#include <unistd.h>

#include <memory>

#include "tools/command/assume.hpp"
#include "tools/command/lsp_server.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

constexpr const char* lsp_examples =
    "  kiln lsp                      an editor starts this for files that end in .ptx, and speaks with it\n"
    "  kiln lsp --assume block=256   what the PTX does not say\n\n"
    "Findings while you type; at an instruction what it does, with descriptors taken apart; repairs as quick fixes; "
    "from a\n"
    "finding to the other access. Columns are counted in UTF-16, or in UTF-8 where the client can.";

struct LspArguments {
  std::vector<std::string> assumed{};
  JudgeOptions judge{};
  bool stdio = true;  // what editors say; there is no other way
};

}  // namespace

void add_lsp(const Builder& builder) {
  CLI::App* sub =
      builder.add("lsp", "Serve an editor: findings, explanations and repairs while you type", lsp_examples);
  auto a = std::make_shared<LspArguments>();
  a->judge.budget = 1;
  sub->add_option("--assume", a->assumed, std::string("what the PTX does not say: ") + assume_words)
      ->type_name("FACT")
      ->allow_extra_args(false);
  sub->add_option("--budget", a->judge.budget, "seconds that judging a text may take [1]")
      ->check(CLI::Range(0.001, 86400.0))
      ->type_name("SECONDS");
  sub->add_flag("--quick", a->judge.quick, "look at instructions alone: do not explore how threads synchronise");
  sub->add_flag("--stdio", a->stdio, "speak over stdin and stdout, as is done without it");
  sub->callback([a, &action = builder.action] {
    action = [a] {
      a->judge.facts = read_facts(a->assumed);
      return LspServer(LspStream(STDIN_FILENO, STDOUT_FILENO), a->judge).serve();
    };
  });
}

}  // namespace kiln::command
