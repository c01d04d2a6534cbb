// A mutant is the kernel's text with one edit.
#pragma once

#include <string>
#include <vector>

#include "ptx/ir/module.hpp"
#include "tests/mutation/taxonomy.hpp"

namespace kiln::mutation {

struct Mutant {
  std::string kernel{};
  std::string rewrite{};  // the operator's name
  int bug_class = 0;
  Profile profile = Profile::error;
  diag::Place place{};  // what is replaced
  std::string replacement{};
  unsigned line = 0;
  std::string original{};  // the instruction that it is about, on one line

  std::string text_of(const std::string& kernel_text) const {
    return kernel_text.substr(0, place.begin) + replacement + kernel_text.substr(place.end);
  }
};

/// Every mutant of a kernel. `module` keeps its source.
std::vector<Mutant> mutants_of(const std::string& kernel, const ir::Module& module);

}  // namespace kiln::mutation
