// Why some mutants live: a file with one row for each reason.
#pragma once

#include <string>
#include <vector>

#include "tests/mutation/runner.hpp"

namespace kiln::mutation {

/// `equivalent`: as right as the kernel. `advisory`: wrong by the letter, and not reported on purpose. `gap`: wrong,
/// and should be reported.
enum class Reason { equivalent, advisory, gap };

struct SurvivorRow {
  std::string kernel{}, rewrite{}, text{};  // globs
  Reason reason = Reason::gap;
  int count = 0;  // mutants that live for this reason
  std::string why{};
  int line = 0;
};

/// Reads the file; throws InputError with file and line for a row that it does not understand.
std::vector<SurvivorRow> read_survivors(const std::string& path);

/// The row that speaks of a mutant: the first that matches; null when there is none.
const SurvivorRow* find_row(const std::vector<SurvivorRow>&, const Mutant&);

}  // namespace kiln::mutation
