#include "tools/command/kernel_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/chip_choice.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"

namespace kiln::command {
namespace {

// What follows an option among the words, as --type bf16 or --type=bf16.
std::string_view value_of(std::string_view option, std::span<const std::string> words) {
  std::string_view value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == option && i + 1 < words.size()) value = words[i + 1];
    if (word.starts_with(option) && word.substr(option.size()).starts_with('=')) value = word.substr(option.size() + 1);
  }
  return value;
}

// The rows whose options there are: that of the kernel which the words name; of `gemm`, all rows of the type.
struct Named {
  std::vector<const dsl::Entry*> rows{};
  bool gemm = false;
};

Named named_among(std::span<const std::string> words) {
  for (const std::string& word : words) {
    if (const dsl::Entry* e = find_entry(word)) return {{e}, false};
    if (!is_gemm(word)) continue;
    const std::string_view type = value_of("--type", words);
    std::vector<const dsl::Entry*> rows = rows_of_type(type.empty() ? gemm_usual_type : type);
    return {rows.empty() ? rows_of_type(gemm_usual_type) : rows, true};
  }
  return {};
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  return text;
}

// Which buffers there are is known only from a contract, so the standard problem is set up for the sake of its names.
// If that fails there are no such options, and what the user asked for will say why.
std::vector<std::string> buffer_names(const dsl::Entry& entry) {
  try {
    const dsl::Sizes sizes = dsl::standard_sizes(entry);
    return input_buffers(entry.problem(entry.build(entry.targets.front(), sizes), sizes));
  } catch (const diag::InputError&) {
    return {};
  } catch (const diag::Rejected&) {
    return {};
  }
}

void add_inputs(CLI::App& sub, KernelChoice& arguments, const dsl::Entry& entry) {
  for (const std::string& buffer : buffer_names(entry)) {
    const std::string option = "--" + lower(buffer);
    if (sub.get_option_no_throw(option)) continue;
    sub.add_option_function<std::string>(
           option, [&arguments, buffer](const std::string& path) { arguments.inputs[buffer] = path; },
           "content of buffer " + buffer)
        ->type_name("FILE.npy")
        ->group("Inputs");
  }
}

std::string help_of(const dsl::SizeOption& s) {
  if (!s.standard.is_given()) return std::string(s.help);
  return fmt::format("{} [{}]", s.help, s.name == "ctas" ? "the chip's multiprocessors" : text(s.standard));
}

void add_sizes(CLI::App& sub, KernelChoice& arguments, const dsl::Entry& entry) {
  for (const dsl::SizeOption& s : entry.sizes) {
    const std::string option = "--" + std::string(s.name);
    if (sub.get_option_no_throw(option)) continue;
    sub.add_option_function<std::string>(
           option, [&arguments, name = std::string(s.name)](const std::string& text) { arguments.sizes[name] = text; },
           help_of(s))
        ->type_name(std::string(s.form))
        ->group(s.standard.is_given() ? "Sizes" : "Strategy");
  }
}

void list_strategies(CLI::App& sub, const dsl::Entry& entry) {
  if (entry.strategies.empty()) return;
  std::string footer =
      sub.get_footer() + "\n\nStrategies; one of these that has what is given is taken, and any other legal one is built:";
  for (const dsl::Strategy& s : entry.strategies) footer += "\n  " + text(s);
  sub.footer(footer);
}

void add_choice(CLI::App& sub, KernelChoice& arguments) {
  constexpr const char* group = "Choice";
  const std::vector<std::string_view> types = gemm_types();
  sub.add_option("--type", arguments.type,
                 fmt::format("what is multiplied: {} [{}]", fmt::join(types, ", "), gemm_usual_type))
      ->type_name("TYPE")
      ->group(group);
  sub.add_option("--cache", arguments.cache, "what `kiln tune` found [$KILN_TUNE_CACHE, or ~/.cache/kiln/tune.json]")
      ->type_name("FILE.json")
      ->group(group);
  if (!sub.get_option_no_throw("--chip"))
    sub.add_option("--chip", arguments.chip, "the chip to choose for, or a file [by the target: b200 or h100]")
        ->type_name("CHIP")
        ->group(group);
  sub.footer(
      sub.get_footer() +
      "\n\n`gemm` chooses a kernel and its strategy: what the cache of `kiln tune` has for the product, or else\n"
      "what an estimate of all legal ones says. Options of a strategy that are given stand.");
}

bool add_named(CLI::App& sub, KernelChoice& arguments, const Named& named, const Builder& builder) {
  for (const dsl::Entry* row : named.rows) add_sizes(sub, arguments, *row);
  arguments.multiprocessors = [](const KernelChoice& c) {
    return multiprocessors_of(c.chip.empty() ? usual_chip(c.chosen_target()) : c.chip);
  };
  if (!named.gemm) {
    if (!named.rows.empty()) list_strategies(sub, *named.rows.front());
    return !named.rows.empty();
  }
  add_choice(sub, arguments);
  arguments.choose = builder.choose;
  if (builder.choose)
    sub.parse_complete_callback([&arguments] {
      if (!arguments.is_open) arguments.settle();
    });
  return true;
}

}  // namespace

void add_kernel_arguments(CLI::App& sub, KernelChoice& arguments, const Builder& builder, bool inputs) {
  sub.add_option("KERNEL", arguments.name, "the kernel, as `kiln list` names it")->required();
  sub.add_option("--target", arguments.target, "architecture to build for [the kernel's first]")->type_name("sm_NNN");
  const Named named = named_among(builder.words);
  if (!add_named(sub, arguments, named, builder)) {
    sub.allow_extras();  // an unknown kernel is a better complaint than its unknown options
    sub.footer(sub.get_footer() + "\n`" + sub.get_name() + " KERNEL --help` adds the sizes and inputs of that kernel.");
    return;
  }
  if (inputs) add_inputs(sub, arguments, *named.rows.front());
}

bool add_kernel_sizes(CLI::App& sub, KernelChoice& arguments, const Builder& builder) {
  return add_named(sub, arguments, named_among(builder.words), builder);
}

}  // namespace kiln::command
