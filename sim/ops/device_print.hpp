// What printf of device code writes. CUDA C++ Programming Guide, "Formatted Output".
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace kiln::sim {

/// Where the arguments of one call lie, and the strings that they point to.
struct PrintSource {
  /// `bytes` bytes at an offset of the argument buffer, as a little-endian number.
  std::function<std::uint64_t(std::uint64_t offset, int bytes)> argument{};
  std::function<std::string(std::uint64_t address)> string{};
};

/// The text, and how many arguments it took.
struct Printed {
  std::string text{};
  int arguments = 0;
};

/// Formats as vprintf of device code does: each argument at the next offset of its own size's alignment, char and short
/// widened to int, float to double.
Printed device_print(const std::string& format, const PrintSource& source);

}  // namespace kiln::sim
