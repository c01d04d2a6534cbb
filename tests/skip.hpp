// How a test says that this machine cannot run it: no ptxas, no GPU.
#pragma once

#include <cstdio>
#include <string_view>

namespace kiln::test {

/// Reports the calling test as skipped; the caller then returns. scripts/skipped collects these lines. A reason that
/// starts with "gpu" is expected on a machine without one.
inline void skip(std::string_view reason) {
  std::printf("SKIPPED: %.*s\n", static_cast<int>(reason.size()), reason.data());
  std::fflush(stdout);
}

}  // namespace kiln::test
