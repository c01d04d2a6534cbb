// A finished kernel: its PTX as data, and what a launch of it needs to know.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::dsl {

/// One declared parameter, in order: its name, and its type as the PTX declares it. `is_tensor_map` parameters are
/// passed by value as 128 bytes; `tile_*` then describe the box that the kernel was written for.
struct ParameterInfo {
  std::string name{};
  isa::ScalarType type = isa::ScalarType::u32;
  bool is_pointer = false;
  bool is_tensor_map = false;
  launch::TensorMap map{};  // dtype, rank, box, swizzle as the kernel expects them; the rest is the caller's
};

/// What KernelBuilder::build() returns.
struct Kernel {
  std::string name{};
  ir::Module module{};
  isa::Target target{};
  launch::Dim3 block{}, cluster{};
  std::uint32_t dynamic_smem = 0;  // bytes
  std::vector<ParameterInfo> parameters{};
};

}  // namespace kiln::dsl
