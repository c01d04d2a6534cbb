// Kiln against ptxas, instruction by instruction.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/differential/forms_answers.hpp"
#include "tests/differential/forms_exceptions.hpp"
#include "tests/differential/forms_judges.hpp"

namespace kiln::test {

/// An instruction that one engine accepts and the other refuses.
struct Disagreement {
  std::string setting{}, instruction{}, ptxas{}, kiln{};  // empty: accepted
  std::string row{};                                      // the exception that covers it

  std::string text() const;
};

/// What became of the instructions of one setting.
struct Tally {
  Setting setting{};
  std::size_t forms = 0, accepted = 0;  // accepted by ptxas
  std::vector<Disagreement> disagreements{}, covered{};  // without an exception, and with one

  std::size_t refused() const { return forms - accepted; }
};

/// How a comparison is made.
struct Comparing {
  unsigned threads = 0;                                // 0: as many as there are cores
  Answers* answers = nullptr;                          // what ptxas said before, and what it says now
  std::function<void(std::size_t done)> progress = {};  // is told how many instructions are done
};

/// Compares the engines over the instructions, in batches.
Tally compare(const harness::Ptxas&, const Setting&, const std::vector<std::string>& instructions, Exceptions&,
              const Comparing& = {});

/// Every n-th instruction, n such that about `count` are left.
std::vector<std::string> thinned(const std::vector<std::string>& instructions, std::size_t count);

}  // namespace kiln::test
