// Buffers for tests.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "harness/problem/element.hpp"
#include "harness/problem/fill.hpp"
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

/// The same as a launch finds it.
inline launch::Buffer filled(const char* name, isa::ScalarType type, std::vector<std::uint64_t> shape,
                             launch::Init init = {}) {
  launch::Buffer b = buffer(name, type, std::move(shape), std::move(init));
  harness::fill(b);
  return b;
}

/// Normal random numbers.
inline launch::Buffer normal(const char* name, isa::ScalarType type, std::vector<std::uint64_t> shape,
                             std::uint64_t seed = 1) {
  return filled(name, type, std::move(shape), {launch::Init::Kind::normal, 0, 1, seed, {}});
}

/// A number of a buffer.
inline double element(const launch::Buffer& b, std::uint64_t index) {
  return harness::element_value(b.dtype, harness::load_element(b.bytes, b.dtype, index));
}

}  // namespace kiln::test
