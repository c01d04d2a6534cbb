// The kernel that a command line names, its target, sizes and inputs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/entry.hpp"

namespace kiln::command {

/// What stands for a kernel that is still to be chosen: D = A * B^T of any shape.
inline constexpr std::string_view gemm_name = "gemm";
/// The element type of `gemm` where nothing is said.
inline constexpr std::string_view gemm_usual_type = "bf16";

/// What was said about a kernel; lives as long as the application.
struct KernelChoice {
  std::string name{};
  std::string target{};
  std::map<std::string, std::string> sizes{};   // option name to text
  std::map<std::string, std::string> inputs{};  // buffer to .npy path
  std::string type{gemm_usual_type};            // of `gemm`
  std::string chip{}, cache{};                  // for which, and what is known; empty: by the target, the usual file
  std::function<void(KernelChoice&)> choose{};  // puts a kernel and its options in the place of `gemm`
  /// Multiprocessors of the chip that the kernel is for: CTAs at most, where none are given.
  std::function<std::uint64_t(const KernelChoice&)> multiprocessors{};
  bool is_open = false;  // the kernels of many shapes will be chosen, each from a copy

  /// Where `gemm` is named, chooses the kernel. Throws InputError where there is no choice.
  void settle();
  /// The table's row. Throws InputError, with a suggestion, when there is none of that name.
  const dsl::Entry& entry() const;
  /// The target asked for, or the kernel's own. Throws InputError for targets that the kernel is not for.
  isa::Target chosen_target() const;
  /// Every option of a row: what was given, else the standard value; CTAs for the chip's multiprocessors. Throws
  /// InputError for what is no number.
  dsl::Sizes sizes_for(const dsl::Entry& row) const;
  /// Every declared size: what was given, else the standard one, or that of the strategy which the rest chooses or
  /// completes. Throws InputError for what is no number, and for a strategy that breaks a rule.
  dsl::Sizes chosen_sizes() const;
};

/// The table's row of that name; null when there is none.
const dsl::Entry* find_entry(std::string_view name);

/// Whether the name is that of `gemm`, and not of a row of the table.
bool is_gemm(std::string_view name);
/// The rows that `gemm` of a type chooses among.
std::vector<const dsl::Entry*> rows_of_type(std::string_view type);
/// The types that there are, in the order of the table.
std::vector<std::string_view> gemm_types();

/// "m=512 n=512 k=512".
std::string shown(const dsl::Sizes&, const dsl::Entry&);

/// The buffers whose content comes from outside: all that do not start as poison.
std::vector<std::string> input_buffers(const launch::Contract&);
/// The buffers that the kernel computes: those of expectations, else those that start as poison.
std::vector<std::string> output_buffers(const launch::Contract&);

}  // namespace kiln::command
