// The kernel that a command line names, its target, sizes and inputs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/entry.hpp"

namespace kiln::command {

/// What was said about a kernel; lives as long as the application.
struct KernelChoice {
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

/// The table's row of that name; null when there is none.
const dsl::Entry* find_entry(std::string_view name);

/// "m=512 n=512 k=512".
std::string shown(const dsl::Sizes&, const dsl::Entry&);

/// The buffers whose content comes from outside: all that do not start as poison.
std::vector<std::string> input_buffers(const launch::Contract&);
/// The buffers that the kernel computes: those of expectations, else those that start as poison.
std::vector<std::string> output_buffers(const launch::Contract&);

}  // namespace kiln::command
