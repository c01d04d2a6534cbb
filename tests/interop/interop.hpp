// Runs the kernels of this folder as `kiln sim` does, and judges what came out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/run/run.hpp"
#include "launch/contract.hpp"

namespace kiln::test::interop {

/// A kernel, its contract and the file that it was compiled from. `NAME.ptx` is by nvcc, `clang_NAME.ptx` by clang.
struct Kernel {
  std::string name{};    // NAME.json is its contract
  std::string source{};  // NAME.cu
};
const std::vector<Kernel>& kernels();

/// The result of a run.
struct Outcome {
  harness::RunReport report{};
  std::uint64_t wrong = 0;  // elements of the result; counted when the run finished

  /// The slugs of what was found, errors and portability alike, each once and in order; "wrong-values" when elements
  /// are wrong.
  std::vector<std::string> slugs() const;
  std::vector<std::string> error_slugs() const;
  std::string text() const;
};

/// Runs `prefix` + source + ".ptx". A number is appended to the parameters: the seeded mistake.
Outcome run(const Kernel&, const std::string& prefix, std::uint64_t seed);
Outcome run_with_bug(const Kernel&, std::uint32_t bug, std::uint64_t seed);

/// The names of `enum Bug` in a kernel's source, in order, without the first (no_bug) and the last (last_bug).
std::vector<std::string> bug_names(const Kernel&);

/// Elements of the output that are not what the kernel was to compute, by plain loops in double precision over the
/// contract's buffers. Kernels with an expectation in their contract have none here.
std::uint64_t wrong_elements(const Kernel&, const launch::Contract&);

/// Lines of a file of this folder.
std::vector<std::string> lines(const std::string& file);

}  // namespace kiln::test::interop
