// Shapes of products in a file of comma-separated values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kiln::command {

/// A product. What is not given is the usual extent.
struct GemmShape {
  std::string type{};
  std::optional<std::uint64_t> m{}, n{}, k{};
};

/// The shapes of a file: its first line names the columns, of which m, n and k must be there; `type` where there is no
/// column of that name. Other columns, empty lines and those that begin with # are left out. Throws InputError naming
/// the file, the line and what is wrong.
std::vector<GemmShape> read_shapes(const std::string& path, const std::string& type);

}  // namespace kiln::command
