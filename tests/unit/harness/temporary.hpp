// Files for a test, and the message of what it provokes.
#pragma once

#include <string>

#include "harness/host/files.hpp"
#include "ptx/diag/error.hpp"

namespace kiln::test {

/// The InputError's message that `action` ends in; "no error" when it does not.
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const diag::InputError& error) {
    return error.what();
  }
  return "no error";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace kiln::test
