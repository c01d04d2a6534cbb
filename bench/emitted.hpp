// Kernels of the program's table as PTX, and the time of something, for benchmarks.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "verifier/verify.hpp"

namespace kiln::bench {

/// The kernel of that name at its standard sizes; nothing when the table has none.
inline std::optional<std::string> find_emitted(std::string_view name) {
  for (const dsl::Entry& e : dsl::kernel_table())
    if (e.name == name) {
      diag::Sink sink;
      return emit::emit(*verifier::verify(e.build(e.targets[0], dsl::standard_sizes(e)).module, sink));
    }
  return std::nullopt;
}

/// The same for a kernel that the table has.
inline std::string emitted(std::string_view name) {
  if (auto ptx = find_emitted(name)) return *ptx;
  throw diag::InputError("no kernel " + std::string(name));
}

/// How long something takes by the clock.
double seconds(const auto& what) {
  const auto start = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace kiln::bench
