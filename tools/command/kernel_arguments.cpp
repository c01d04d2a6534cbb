#include "tools/command/kernel_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"

namespace kiln::command {
namespace {

const dsl::Entry* named_among(std::span<const std::string> words) {
  for (const std::string& word : words)
    if (const dsl::Entry* e = find_entry(word)) return e;
  return nullptr;
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

void add_sizes(CLI::App& sub, KernelChoice& arguments, const dsl::Entry& entry) {
  for (const dsl::SizeOption& s : entry.sizes)
    sub.add_option_function<std::string>(
           "--" + std::string(s.name),
           [&arguments, name = std::string(s.name)](const std::string& text) { arguments.sizes[name] = text; },
           s.standard.is_given() ? fmt::format("{} [{}]", s.help, text(s.standard)) : std::string(s.help))
        ->type_name(std::string(s.form))
        ->group(s.standard.is_given() ? "Sizes" : "Strategy");
  if (entry.strategies.empty()) return;
  std::string footer = sub.get_footer() +
                       "\n\nStrategies; the first that has what is given is taken, and any other legal one is built:";
  for (const dsl::Strategy& s : entry.strategies) footer += "\n  " + text(s);
  sub.footer(footer);
}

}  // namespace

void add_kernel_arguments(CLI::App& sub, KernelChoice& arguments, std::span<const std::string> words, bool inputs) {
  sub.add_option("KERNEL", arguments.name, "the kernel, as `kiln list` names it")->required();
  sub.add_option("--target", arguments.target, "architecture to build for [the kernel's first]")->type_name("sm_NNN");
  const dsl::Entry* entry = named_among(words);
  if (!entry) {
    sub.allow_extras();  // an unknown kernel is a better complaint than its unknown options
    sub.footer(sub.get_footer() + "\n`" + sub.get_name() + " KERNEL --help` adds the sizes and inputs of that kernel.");
    return;
  }
  add_sizes(sub, arguments, *entry);
  if (inputs) add_inputs(sub, arguments, *entry);
}

bool add_kernel_sizes(CLI::App& sub, KernelChoice& arguments, std::span<const std::string> words) {
  const dsl::Entry* entry = named_among(words);
  if (entry) add_sizes(sub, arguments, *entry);
  return entry != nullptr;
}

}  // namespace kiln::command
