// The kernel named on the command line, and the options that it brings along: --m, --n, --k and --a FILE.npy.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dsl/entry.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {

/// What was said about a kernel; lives as long as the application.
struct KernelArguments {
  std::string name{};
  std::string target{};
  std::map<std::string, std::string> sizes{};   // option name to text
  std::map<std::string, std::string> inputs{};  // buffer to .npy path
  /// The table's row. Throws InputError, with a suggestion, when there is none of that name.
  const dsl::Entry& entry() const;
  /// The target asked for, or the kernel's own. Throws InputError for targets that the kernel is not for.
  isa::Target chosen_target() const;
  /// Every declared size: what was given, else the standard one, or that of the strategy which the rest chooses or
  /// completes. Throws InputError for what is no number, and for a strategy that breaks a rule.
  dsl::Sizes chosen_sizes() const;
};

/// Adds KERNEL, --target and the sizes of the kernel that the words name; with `inputs`, an option for each buffer that
/// the kernel reads.
void add_kernel_arguments(CLI::App&, KernelArguments&, std::span<const std::string> words, bool inputs);

/// The sizes alone, when the words name a kernel; false when they name none.
bool add_kernel_sizes(CLI::App&, KernelArguments&, std::span<const std::string> words);

/// "m=512 n=512 k=512".
std::string shown(const dsl::Sizes&, const dsl::Entry&);

/// The buffers whose content comes from outside: all that do not start as poison.
std::vector<std::string> input_buffers(const launch::Contract&);
/// The buffers that the kernel computes: those of expectations, else those that start as poison.
std::vector<std::string> output_buffers(const launch::Contract&);

}  // namespace kiln::command
