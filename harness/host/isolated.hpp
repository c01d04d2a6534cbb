// Work in processes of its own, a few at a time: a piece that dies takes nothing with it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace kiln::harness {

/// What came of a piece of work.
struct PieceResult {
  enum class Outcome : unsigned char {
    done,      // `text` is what it returned
    unusable,  // it threw an InputError: `text` is its message
    broken,    // it threw something else or died: `text` says how
  };
  Outcome outcome = Outcome::broken;
  std::string text{};
};

/// Calls `work` with each number below `count`, each in a process of its own, `at_once` of them at a time; returns what
/// came of each, in order. `begins` is called here before a piece begins. Throws InputError when no process can be
/// made. `at_once` is 1 at least.
std::vector<PieceResult> in_isolation(std::size_t count, unsigned at_once,
                                      const std::function<std::string(std::size_t)>& work,
                                      const std::function<void(std::size_t)>& begins);

}  // namespace kiln::harness
