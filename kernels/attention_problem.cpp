#include "kernels/attention_problem.hpp"

#include <string>

namespace kiln::kernels {

using namespace kiln::dsl;

launch::TensorMap head_map(const char* buffer, std::uint64_t rows, std::uint64_t heads, int box_rows, int box_spans) {
  launch::TensorMap map;
  map.buffer = buffer;
  map.rank = HeadMap::rank;
  map.dims = {attention_span, rows, attention_head / attention_span, heads, 1};
  map.strides = {0, attention_row_bytes, attention_span * bf16::bits / 8, rows * attention_row_bytes, 0};
  map.box = {attention_span, std::uint32_t(box_rows), std::uint32_t(box_spans), 1, 1};
  map.swizzle = isa::Swizzle::b128;
  return map;
}

HeadSizes head_sizes(const Sizes& sizes) {
  const std::uint64_t heads = sizes.at("heads"), sharing = sizes.at("sharing");
  if (heads < 1 || heads > 65535)
    throw diag::InputError("--heads " + std::to_string(heads) + ": must be in [1, 65535]");
  if (sharing < 1 || heads % sharing != 0)
    throw diag::InputError("--sharing " + std::to_string(sharing) + ": must divide --heads " + std::to_string(heads));
  return {heads, heads / sharing};
}

launch::Contract attention_buffers(std::uint64_t m, std::uint64_t n, const HeadSizes& heads) {
  check_extent("m", m);
  check_extent("n", n);
  launch::Contract c;
  c.buffers = {matrix("Q", bf16::scalar, m, attention_head, 1), matrix("K", bf16::scalar, n, attention_head, 2),
               matrix("V", bf16::scalar, n, attention_head, 3), matrix("O", bf16::scalar, m, attention_head)};
  for (launch::Buffer& b : c.buffers)
    b.shape.insert(b.shape.begin(), b.name == "K" || b.name == "V" ? heads.k : heads.q);
  launch::Expectation e;
  e.kind = launch::Expectation::Kind::attention;
  e.output = "O", e.a = "Q", e.b = "K", e.c = "V";
  c.expectations.push_back(e);
  return c;
}

bool is_set(const Sizes& sizes, const char* option) {
  const std::uint64_t value = sizes.at(option);
  if (value > 1) throw diag::InputError("--" + std::string(option) + " " + std::to_string(value) + ": must be 0 or 1");
  return value == 1;
}

launch::Contract causal_problem(MakeProblem* problem, const Kernel& kernel, const Sizes& sizes) {
  if (sizes.at("m") > sizes.at("n"))
    throw diag::InputError("--m " + std::to_string(sizes.at("m")) + ": must be at most --n " +
                           std::to_string(sizes.at("n")) + ": the rows are the last of as many positions");
  launch::Contract c = problem(kernel, sizes);
  for (launch::Expectation& e : c.expectations) e.causal = true;
  return c;
}

}  // namespace kiln::kernels
