#include "kernels/sparse_scaled.hpp"

#include "launch/operands.hpp"

namespace kiln::kernels {

launch::Contract sparse_scaled_buffers(const GemmSizes& s, const ScaledTypes& t, std::uint64_t images) {
  launch::Contract c = gemm_buffers(s, t.a, t.b, t.d);
  c.buffers.front().shape[1] /= 2;
  launch::quantise(c, "A", {.scales = "SFA", .block = t.block, .metadata = "E", .mma_k = t.mma_k}, t.scale, 1);
  launch::quantise(c, "B", {.scales = "SFB", .block = 2 * t.block, .mma_k = t.mma_k}, t.scale, t.chunks);
  launch::Expectation& product = c.expectations.front();
  product.sfa = "SFA";
  product.sfb = "SFB";
  product.metadata = "E";
  product.block = t.block;
  product.mma_k = t.mma_k;
  // Both are padded to whole slots, of which each takes its own number.
  const auto pad = [&](const char* name, std::uint64_t multiple) {
    std::uint64_t& along_k = c.at(name).shape[1];
    along_k = pieces(along_k, multiple) * multiple;
  };
  pad("SFA", t.chunks);
  pad("E", images);
  return c;
}

}  // namespace kiln::kernels
