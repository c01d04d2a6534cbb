// Kernel parameters as bytes.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/isa/tma.hpp"

namespace kiln::harness {

/// Bytes that a parameter occupies in the kernel's parameter space.
std::uint64_t parameter_bytes(const launch::Param&);

/// Where names lead: the device address of a buffer, the 128 bytes of a tensor map.
struct ParameterContext {
  std::function<std::uint64_t(const std::string& buffer)> address;
  std::function<std::array<std::uint8_t, isa::tensor_map_bytes>(const std::string& tensor_map)> tensor_map;
};

/// The bytes that the kernel sees. Gaps between the fields of a struct are zero.
std::vector<std::uint8_t> parameter_image(const launch::Param&, const ParameterContext&);

}  // namespace kiln::harness
