// What is known of launches that no contract describes: a user says it, or a kernel of the DSL was written for it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "launch/tensor_map.hpp"

namespace kiln::verifier {

/// What launches are: zeros and nothing where nothing is said. What the PTX requires outranks it.
struct LaunchFacts {
  std::array<std::uint32_t, 3> block{}, cluster{}, grid{};
  std::optional<std::uint32_t> dynamic_shared{};        // bytes
  std::map<std::uint32_t, std::uint64_t> parameters{};  // numbers by the index of the parameter
  /// By the index of the parameter: what a copy with it brings. Extents and strides of the tensor are not known.
  std::map<std::uint32_t, launch::TensorMap> boxes{};
  /// Of a kernel that the DSL wrote: the lines of C++, file and number, whose fences the user has written.
  std::set<std::pair<std::string, unsigned>> fences{};
  std::string_view option = "--launch";  // of the command, by which a user describes a launch: findings name it
};

}  // namespace kiln::verifier
