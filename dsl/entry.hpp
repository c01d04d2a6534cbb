// How a kernel joins the command: one row of a table, written by hand. A program that wants `kiln run`, `kiln emit` and
// the rest for its own kernels defines kiln::dsl::kernel_table() and links the command (CMake: kiln_add_kernels).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dsl/kernel.hpp"
#include "dsl/size.hpp"
#include "launch/contract.hpp"
#include "launch/tiling.hpp"
#include "ptx/diag/error.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::dsl {

/// A strategy that a kernel can be built with, and how it then deals a product out.
struct Candidate {
  Strategy strategy;
  launch::Tiling tiling;
};

/// A row of the table.
struct Entry {
  std::string_view name;
  std::string_view summary;              // one line
  std::span<const isa::Target> targets;  // the first is the default
  std::span<const SizeOption> sizes;
  /// The kernel for these numbers. Throws diag::InputError for numbers that the kernel refuses.
  Kernel (*build)(isa::Target, const Sizes&);
  /// The launch contract of one problem: buffers (with shapes and default fills), tensor maps, grid, parameters,
  /// expectations. Throws diag::InputError for sizes that the kernel refuses, saying which and why.
  launch::Contract (*problem)(const Kernel&, const Sizes&);
  /// The strategies that the kernel lists, the first of which is the default. Empty: there is one way to build it.
  std::span<const Strategy> strategies{};
  /// The whole strategy of which the sizes say some options; any legal one, listed or not. Throws diag::InputError for
  /// one that breaks a rule. Null: the kernel has no strategies.
  Strategy (*strategy)(const Sizes&) = nullptr;
  /// What it multiplies, as `gemm --type` says it: of the kernels of one type the command chooses one. Empty: it is no
  /// choice.
  std::string_view product{};
  /// Every legal strategy for a target, in which the options that the sizes give are as they are given. Empty: there is
  /// none.
  std::vector<Candidate> (*candidates)(isa::Target, const Sizes&) = nullptr;
  /// Why a target that one would expect is none of them, where that is not plain: a clause that follows the error.
  std::string_view why_not_others{};
};

/// Every option of a kernel at its default.
Sizes standard_sizes(const Entry& entry);

/// The same sizes with every option of their strategy. Throws diag::InputError where the strategy breaks a rule.
Sizes with_strategy(const Entry& entry, Sizes sizes);

/// All kernels that the program offers, in the order in which `kiln list` prints them. Defined once per program.
std::span<const Entry> kernel_table();

}  // namespace kiln::dsl
