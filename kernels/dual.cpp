#include "kernels/dual.hpp"

namespace kiln::kernels {

launch::Contract dual_buffers(const GemmSizes& s, isa::ScalarType a, isa::ScalarType b, isa::ScalarType d) {
  launch::Contract c = gemm_buffers(s, a, b, d);
  launch::Buffer up = c.at("B");
  up.name = "Up";
  up.init.seed = 3;
  c.at("B").name = "Gate";
  c.buffers.push_back(std::move(up));
  launch::Expectation& e = c.expectations.front();
  e.kind = launch::Expectation::Kind::swiglu;
  e.b = "Gate";
  e.c = "Up";
  return c;
}

}  // namespace kiln::kernels
