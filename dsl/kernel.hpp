// A finished kernel: its PTX as data, and what a launch of it needs to know.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/diag/here.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::dsl {

/// One declared parameter, in order: its name, and its type as the PTX declares it. `is_tensor_map` parameters are
/// passed by value as 128 bytes; `map` then describes the box that the kernel was written for. A table has
/// `table_bytes`.
struct ParameterInfo {
  std::string name{};
  isa::ScalarType type = isa::ScalarType::u32;
  bool is_pointer = false;
  bool is_tensor_map = false;
  bool is_bare_map = false;       // the box is the caller's too
  bool k_inner = true;            // whether K is the map's innermost dimension
  int spans = 0;                  // of a map of three dimensions: swizzle spans of a box; else 0
  std::uint32_t table_bytes = 0;  // of a ParameterTable, all its rows
  launch::TensorMap map{};        // dtype, rank, box, swizzle as the kernel expects them; the rest is the caller's
};

/// What KernelBuilder::build() returns.
struct Kernel {
  std::string name{};
  ir::Module module{};
  isa::Target target{};
  launch::Dim3 block{}, cluster{};
  std::uint32_t dynamic_smem = 0;  // bytes
  std::vector<ParameterInfo> parameters{};
  std::vector<Here> fences{};  // lines in which the user wrote a fence
  int sum_width = 0;           // an MMA's terms and sum are cut at 2^-sum_width of the largest; 0: as tcgen05.mma does
};

}  // namespace kiln::dsl
