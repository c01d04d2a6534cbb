// Tensor maps as tests of tensor copies want them.
#pragma once

#include "tests/unit/sim/run.hpp"

namespace kiln::test {

/// A matrix in buffer "T", row after row, copied in boxes.
inline launch::TensorMap matrix(std::uint64_t columns, std::uint64_t rows, std::uint32_t box_columns,
                                std::uint32_t box_rows, isa::Swizzle s, isa::ScalarType type = isa::ScalarType::b16) {
  launch::TensorMap m;
  m.buffer = "T";
  m.dtype = type;
  m.dims = {columns, rows};
  m.strides = {0, columns * std::uint64_t(isa::bits(type)) / 8};
  m.box = {box_columns, box_rows, 1, 1, 1};
  m.swizzle = s;
  return m;
}

}  // namespace kiln::test
