// The classical shapes of memory models, each with every placement, memory, strength, scope and way to synchronise that
// makes sense for it.
#pragma once

#include <string>
#include <vector>

#include "tests/litmus/causality.hpp"

namespace kiln::test {

struct FamilyTest {
  std::string shape{};   // MP, SB, ...
  std::string detail{};  // memory, strengths, scopes, synchronisation
  std::string place{};   // lane, warp, cluster, grid; with more than two threads: which of them share a CTA
  Program program{};
};

std::vector<FamilyTest> family();

}  // namespace kiln::test
