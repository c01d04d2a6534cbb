// One generator for GEMMs of every kind: D = A * B^T as a persistent, warp-specialised kernel for one CTA a tile or a
// pair. The ladder (kernels/ladder) builds up the same kernel idea by idea. It is compiled once: problem and strategy
// are values.
#pragma once

#include "dsl/entry.hpp"
#include "kernels/candidates.hpp"
#include "kernels/gemm_launch.hpp"
#include "kernels/strategy.hpp"

namespace kiln::kernels {

/// The kernel. Throws diag::Rejected where it breaks a rule that a plan cannot see.
dsl::Kernel build(const GemmPlan&, isa::Target);

/// A problem as a row of the kernel table, its strategies checked while compiling. `product`: its name for `gemm`.
template <const GemmProblem& problem>
dsl::Entry generated(std::string_view summary, std::span<const isa::Target> targets, std::string_view product = {}) {
  static_assert(all_checked<problem>());
  static const std::vector<dsl::Strategy> strategies = [] {
    std::vector<dsl::Strategy> list;
    for (const GemmStrategy& s : problem.strategies) list.push_back(described(problem, {problem, s}));
    return list;
  }();
  return {problem.name,
          summary,
          targets,
          options(problem),
          [](isa::Target target, const dsl::Sizes& sizes) { return build(planned(problem, sizes), target); },
          [](const dsl::Kernel& kernel, const dsl::Sizes& sizes) {
            return contract(planned(problem, sizes), kernel, sizes);
          },
          strategies,
          [](const dsl::Sizes& sizes) {
            return described(problem, planned(problem, sizes));
          },
          product,
          [](isa::Target target, const dsl::Sizes& sizes) { return candidates(problem, target, sizes); }};
}

}  // namespace kiln::kernels
