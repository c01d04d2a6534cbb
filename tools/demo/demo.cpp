// kiln-demo: `kiln run` of two kernels on the simulator and nothing else, which builds in a minute or two.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "harness/pipeline/pipeline.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/kernel_choice.hpp"
#include "tools/command/report/summary.hpp"

namespace kiln::command {
namespace {

using diag::InputError;

constexpr const char* whole_command = "`make build` builds the whole command, build/kiln";

std::string kernel_names() {
  std::vector<std::string_view> names;
  for (const dsl::Entry& e : dsl::kernel_table()) names.push_back(e.name);
  return fmt::format("{}", fmt::join(names, " and "));
}

std::string usage() {
  return fmt::format("kiln-demo run KERNEL [--m M] [--n N] [--k K] [--target sm_NNN]\n\nThe kernels are {}; {}.\n",
                     kernel_names(), whole_command);
}

// "--m 512" or "--m=512", for the sizes of the kernel and for --target.
void read_option(std::span<const std::string>& words, KernelChoice& choice) {
  std::string option = words.front(), value;
  words = words.subspan(1);
  if (const std::size_t equals = option.find('='); equals != std::string::npos) {
    value = option.substr(equals + 1);
    option.resize(equals);
  } else if (!words.empty()) {
    value = words.front();
    words = words.subspan(1);
  }
  const std::string name = option.starts_with("--") ? option.substr(2) : std::string();
  bool known = name == "target";
  for (const dsl::SizeOption& size : choice.entry().sizes) known |= name == size.name;
  if (!known) throw InputError(fmt::format("the demo has no '{}'; {}", option, whole_command));
  if (value.empty()) throw InputError(fmt::format("{}: say which", option));
  (name == "target" ? choice.target : choice.sizes[name]) = value;
}

KernelChoice read_choice(std::span<const std::string> words) {
  if (words.front() != "run")
    throw InputError(fmt::format("the demo has only `run`, no '{}'; {}", words.front(), whole_command));
  if (words.size() < 2) throw InputError(fmt::format("run: say which kernel, {}", kernel_names()));
  KernelChoice choice;
  choice.name = words[1];
  if (!find_entry(choice.name))
    throw InputError(fmt::format("the demo has only {}, no '{}'; {}", kernel_names(), choice.name, whole_command));
  for (words = words.subspan(2); !words.empty();) read_option(words, choice);
  return choice;
}

harness::RunReport execute(const KernelChoice& choice, const RunFacts& facts) {
  const auto start = std::chrono::steady_clock::now();
  dsl::Kernel kernel = choice.entry().build(choice.chosen_target(), facts.numbers);
  launch::Contract contract = choice.entry().problem(kernel, facts.numbers);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  harness::RunReport report = harness::Pipeline(choice.name, contract, facts.options).run(std::move(kernel.module));
  report.stages.insert(report.stages.begin(), {"build", seconds});
  return report;
}

int run(std::span<const std::string> words) {
  if (words.empty() || words.front() == "--help") {
    print(usage());
    return words.empty() ? Exit::unusable : Exit::clean;
  }
  const KernelChoice choice = read_choice(words);
  RunFacts facts;
  facts.name = choice.name;
  facts.target = isa::spelling(choice.chosen_target());
  facts.numbers = choice.chosen_sizes();
  facts.sizes = shown(facts.numbers, choice.entry());
  harness::RunReport report;
  {
    Progress progress;
    facts.options.on_stage = [&](std::string_view stage) { progress.stage(stage); };
    report = execute(choice, facts);
  }
  print_findings(report.findings);
  print(summary_text(facts, report, colour_of(1)));
  return report.exit_code();
}

}  // namespace
}  // namespace kiln::command

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0), argv + argc);
  return kiln::command::guarded([&] { return kiln::command::run(words); });
}
