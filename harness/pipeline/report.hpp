// Everything that came of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/compare/compare.hpp"
#include "harness/measure/cuda_result.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "sim/simulate.hpp"

namespace kiln::harness {

/// One step and how long it took.
struct Stage {
  std::string name{};
  double seconds = 0;
};

/// What following every order of a kernel's threads has come to.
struct Exploration {
  std::string found{};    // in one line: "clean"
  bool complete = false;  // it came to an end
};

/// Everything that is known after a run, however far it came.
struct RunReport {
  std::vector<Stage> stages{};
  diag::Sink findings{};
  std::string verified{};  // the verifier's findings in one line: "clean"
  std::optional<Exploration> exploration{};  // nothing: it was not asked for, or there was no text to explore
  diag::SourcePtr ptx{};   // the text that was assembled and run; null when nothing was emitted
  std::optional<Assembly> assembly{};
  std::optional<sim::Result> simulation{};
  std::optional<CudaResult> cuda{};
  std::vector<Comparison> comparisons{};   // of the contract's expectations, in order
  std::optional<Work> work{};              // of a timed run
  std::optional<Comparison> cublas{};      // of what cuBLAS computed beside it
  std::vector<std::string> written{};      // output files, and those of views
  std::vector<std::string> last_phases{};  // of a profiled run that did not end: where its warps were

  /// The launches ran to their end.
  bool finished() const;
  /// 0 clean, 1 findings that are errors, wrong results, a GPU that faulted or hung; 3 incomplete.
  int exit_code() const;
};

}  // namespace kiln::harness
