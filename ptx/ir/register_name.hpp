// The names of registers that a declaration stands for without writing them: members of a set, components of a vector.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kiln::ir {

/// "%r12" as "%r" and 12. A number with a leading zero is no member's name.
struct Split {
  std::string_view base;
  std::uint32_t number = 0;
};

inline std::optional<Split> split_at(std::string_view name, std::size_t digits) {
  if (name[digits] == '0' && digits + 1 != name.size()) return std::nullopt;
  Split s{name.substr(0, digits), 0};
  const auto [end, failed] = std::from_chars(name.data() + digits, name.data() + name.size(), s.number);
  if (failed != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return s;
}

/// .x .y .z .w, or .r .g .b .a, after a vector register.
inline int component_index(std::string_view name) {
  if (name.size() < 2 || name[name.size() - 2] != '.') return -1;
  const std::size_t xyzw = std::string_view("xyzw").find(name.back());
  return int(xyzw != std::string_view::npos ? xyzw : std::string_view("rgba").find(name.back()));
}

}  // namespace kiln::ir
