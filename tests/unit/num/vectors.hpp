// The published B200 vectors, read once: operands in the form `dot` takes and the D word the hardware gave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/num/window.hpp"

namespace kiln::num::test {

struct Vector {
  std::string id;
  DotSpec spec;
  std::vector<std::uint32_t> a, b, metadata;  // a is compressed if the instruction is sparse
  std::uint32_t c = 0;
  std::vector<std::uint8_t> scale_a, scale_b;
  std::uint32_t expect = 0;
};

/// All vectors of tests/data/num/b200_vectors.json; throws what the JSON library throws if the file is missing.
const std::vector<Vector>& vectors();

/// `dot` on a vector, with the vector's own spec or a changed one.
std::uint32_t run(const Vector& v, const DotSpec& spec);

}  // namespace kiln::num::test
