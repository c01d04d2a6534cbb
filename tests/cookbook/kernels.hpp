// Kernels of examples/cookbook built, verified, run and read as numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/ir/module.hpp"

namespace cookbook_test {

using namespace kiln;

using Sizes = std::map<std::string, std::uint64_t>;

/// A kernel as a user has it: as PTX that was verified, without a finding, emitted and parsed; with a filled contract.
struct Problem {
  ir::Module module;
  launch::Contract contract;
};
Problem problem(std::string_view name, const Sizes& of);

/// A buffer as numbers; of one dimension it has one column.
struct Matrix {
  std::vector<double> values;
  std::size_t columns;
  double at(std::size_t r, std::size_t c) const { return values[r * columns + c]; }
};
Matrix matrix(const launch::Contract& c, const std::string& name);

/// How many numbers of `got` differ from what is wanted of (row, column) by more than a share of it, or of 1.
int wrong(const Matrix& got, double share, const std::function<double(std::size_t, std::size_t)>& want);

/// Half a unit in the last place of bf16, and what sums of f32 add to it.
inline constexpr double bf16_share = 0.01;

/// Right on every size, and on the last one in that many schedules.
void check(std::string_view name, const std::vector<Sizes>& sizes, int schedules,
           const std::function<void(const launch::Contract&)>& is_right);

}  // namespace cookbook_test
