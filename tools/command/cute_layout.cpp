#include "tools/command/cute_layout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln::command {
namespace {

std::int64_t dot(const LayoutMode& mode, int index) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < mode.extents.size(); ++k) {
    sum += index % mode.extents[k] * mode.strides[k];
    index /= mode.extents[k];
  }
  return sum;
}

// The digits of one index while all others are 0: powers of two first, then what is odd.
LayoutMode probe_mode(int extent, const std::function<std::int64_t(int)>& offset) {
  LayoutMode mode;
  for (int unit = 1; unit < extent;) {
    const int left = extent / unit, digit = left % 2 == 0 ? 2 : left;
    const std::int64_t stride = offset(unit);
    if (!mode.extents.empty() && stride == mode.strides.back() * mode.extents.back()) {
      mode.extents.back() *= digit;
    } else {
      mode.extents.push_back(digit);
      mode.strides.push_back(stride);
    }
    unit *= digit;
  }
  if (mode.extents.empty()) mode = {{1}, {0}};
  return mode;
}

// Calls f for every index tuple; false as soon as f is.
template <class F>
bool for_all(std::span<const int> extents, F f) {
  std::vector<int> at(extents.size(), 0);
  for (;;) {
    if (!f(at)) return false;
    std::size_t k = 0;
    while (k < at.size() && ++at[k] == extents[k]) at[k++] = 0;
    if (k == at.size()) return true;
  }
}

template <class T>
std::string list(const std::vector<T>& values) {
  return values.size() == 1 ? fmt::format("{}", values.front()) : fmt::format("({})", fmt::join(values, ","));
}

}  // namespace

std::optional<std::vector<LayoutMode>> probe_layout(std::span<const int> extents, const OffsetOf& offset) {
  std::vector<LayoutMode> modes;
  for (std::size_t k = 0; k < extents.size(); ++k)
    modes.push_back(probe_mode(extents[k], [&](int index) {
      std::vector<int> at(extents.size(), 0);
      at[k] = index;
      return offset(at);
    }));
  const bool holds = for_all(extents, [&](std::span<const int> at) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < at.size(); ++k) sum += dot(modes[k], at[k]);
    return sum == offset(at);
  });
  if (!holds) return std::nullopt;
  return modes;
}

std::string text(std::span<const LayoutMode> modes) {
  std::vector<std::string> shapes, strides;
  for (const LayoutMode& m : modes) {
    shapes.push_back(list(m.extents));
    strides.push_back(list(m.strides));
  }
  return fmt::format("({}):({})", fmt::join(shapes, ","), fmt::join(strides, ","));
}

std::string text(const CuteSwizzle& s) { return fmt::format("Sw<{},{},{}>", s.bits, s.base, s.shift); }

}  // namespace kiln::command
