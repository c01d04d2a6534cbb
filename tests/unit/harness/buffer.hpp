// Buffers for tests.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "launch/contract.hpp"

namespace kiln::test {

inline launch::Buffer buffer(const char* name, isa::ScalarType type, std::vector<std::uint64_t> shape,
                             launch::Init init = {}) {
  launch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.shape = std::move(shape);
  b.init = std::move(init);
  return b;
}

}  // namespace kiln::test
