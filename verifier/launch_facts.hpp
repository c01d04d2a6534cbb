// What a user says of launches that no contract describes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace kiln::verifier {

/// What launches are: zeros and nothing where nothing is said. What the PTX requires outranks it.
struct LaunchFacts {
  std::array<std::uint32_t, 3> block{}, cluster{}, grid{};
  std::optional<std::uint32_t> dynamic_shared{};        // bytes
  std::map<std::uint32_t, std::uint64_t> parameters{};  // numbers by the index of the parameter
};

}  // namespace kiln::verifier
