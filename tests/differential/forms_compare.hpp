// Kiln against ptxas, instruction by instruction.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/differential/forms_exceptions.hpp"
#include "tests/differential/forms_judges.hpp"

namespace kiln::test {

/// An instruction that one engine accepts and the other refuses, and no exception covers.
struct Disagreement {
  std::string setting{}, instruction{}, ptxas{}, kiln{};  // empty: accepted

  std::string text() const;
};

/// What became of the instructions of one setting.
struct Tally {
  Setting setting{};
  std::size_t forms = 0, accepted = 0, excepted = 0;  // accepted by ptxas
  std::vector<Disagreement> disagreements{};

  std::size_t refused() const { return forms - accepted; }
};

/// Compares the engines over the instructions, in batches on every core. `progress` is told how many are done.
Tally compare(const harness::Ptxas&, const Setting&, const std::vector<std::string>& instructions, Exceptions&,
              const std::function<void(std::size_t)>& progress = {});

/// Every n-th instruction, n such that about `count` are left.
std::vector<std::string> thinned(const std::vector<std::string>& instructions, std::size_t count);

}  // namespace kiln::test
