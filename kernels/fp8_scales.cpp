#include "kernels/fp8_scales.hpp"

namespace kiln::kernels {
namespace {

// What is multiplied, and the scales, drawn.
launch::Contract buffers(const GemmSizes& s, std::uint64_t groups) {
  launch::Contract c = gemm_buffers(s, isa::ScalarType::e4m3, isa::ScalarType::e4m3, isa::ScalarType::bf16);
  const auto scales = [&](const char* name, std::uint64_t rows, std::uint64_t seed) {
    launch::Buffer drawn = matrix(name, isa::ScalarType::f32, rows, scale_pitch(s.k));
    drawn.init.kind = launch::Init::Kind::uniform;
    drawn.init.low = 0.5, drawn.init.high = 2, drawn.init.seed = seed;
    return drawn;
  };
  c.at("B") = of_each(c.at("B"), groups);
  c.buffers.push_back(scales("SFA", s.m, 3));
  c.buffers.push_back(of_each(scales("SFB", pieces(s.n, std::uint64_t(scaled_block)), 4), groups));
  launch::Expectation& e = c.expectations.front();
  e.sfa = "SFA", e.sfb = "SFB";
  e.block = scaled_block;
  return c;
}

}  // namespace

launch::Contract fp8_grouped_buffers(const GemmSizes& s, std::uint64_t groups) {
  launch::Contract c = buffers(s, groups);
  add_ends(c, s.m, groups);
  return c;
}

launch::Contract fp8_masked_buffers(const GemmSizes& s, std::uint64_t groups) {
  launch::Contract c = buffers(s, groups);
  for (const char* rows : {"A", "D", "SFA"}) c.at(rows) = of_each(c.at(rows), groups);
  add_lengths(c, s.m, groups);
  return c;
}

}  // namespace kiln::kernels
