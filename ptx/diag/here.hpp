// The line of C++ that asked for something. std::source_location would do, but clang 14 has none; as default
// arguments the two builtins are evaluated in the caller.
#pragma once

namespace kiln {

/// A C++ call site: file as the compiler was given it, and 1-based line (0: unknown).
struct Here {
  const char* file = __builtin_FILE();
  unsigned line = __builtin_LINE();

  /// No place in the user's code: for code that Kiln adds itself.
  static constexpr Here nowhere() { return {"", 0}; }
};

}  // namespace kiln
