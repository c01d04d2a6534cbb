// Two ways to fail, two types: a mistake of the user, and a mistake of Kiln.
#pragma once

#include <stdexcept>
#include <string>

namespace kiln::diag {

/// What the user gave cannot be used (a file, a flag, a shape, an environment). The message is one complete line and
/// names the thing. The command prints it after "error: " and exits 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken promise inside Kiln. Never caused by input; the command prints "internal error: ..." and exits 4.
class InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& what) : std::logic_error("internal error: " + what) {}
};

}  // namespace kiln::diag
