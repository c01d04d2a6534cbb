// What Kiln reads without knowing, or without following, what it does: such texts are neither wrong nor proven.
#pragma once

#include <string>
#include <vector>

#include "ptx/ir/code.hpp"

namespace kiln::ops {

/// What a module says of itself that no PTX up to isa::newest_version has.
struct Newer {
  diag::Place at{};
  std::string what{};
  bool is_target = false;
};
std::vector<Newer> newer_than_known(const ir::Module&);

/// The part of an operation whose meaning Kiln lacks, in words ("'.kind::ti16'"): it is not published, or neither
/// followed nor executed. "any form" where that is so of the whole instruction; empty when there is nothing.
std::string without_model(const ir::Operation&);

}  // namespace kiln::ops
