// How a kernel joins the command: one row of a table, written by hand. A program that wants `kiln run`, `kiln emit` and the
// rest for its own kernels defines kiln::dsl::kernel_table() and links the command (CMake: kiln_add_kernels).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/kernel.hpp"
#include "launch/contract.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::dsl {

/// A number that the command offers as --name: a problem size, or a choice that specialises the kernel.
struct SizeOption {
  std::string_view name;  // "m"
  std::uint64_t standard; // the default
  std::string_view help;
};

/// The numbers of one problem, by option name; every declared option is there.
using Sizes = std::map<std::string, std::uint64_t, std::less<>>;

/// A row of the table.
struct Entry {
  std::string_view name;
  std::string_view summary;                 // one line
  std::span<const isa::Target> targets;     // the first is the default
  std::span<const SizeOption> sizes;
  /// The kernel for these numbers. Throws diag::InputError for numbers that the kernel refuses.
  Kernel (*build)(isa::Target, const Sizes&);
  /// The launch contract of one problem: buffers (with shapes and default fills), tensor maps, grid, parameters,
  /// expectations. Throws diag::InputError for sizes that the kernel refuses, saying which and why.
  launch::Contract (*problem)(const Kernel&, const Sizes&);
};

/// Every option of a kernel at its default.
inline Sizes standard_sizes(const Entry& entry) {
  Sizes sizes;
  for (const SizeOption& option : entry.sizes) sizes[std::string(option.name)] = option.standard;
  return sizes;
}

/// All kernels that the program offers, in the order in which `kiln list` prints them. Defined once per program.
std::span<const Entry> kernel_table();

}  // namespace kiln::dsl
