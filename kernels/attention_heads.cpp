#include "kernels/attention_heads.hpp"

#include <string>
#include <vector>

namespace kiln::kernels::heads {

namespace {

// Where pieces of these lengths begin, and where the last one ends.
std::vector<double> offsets_of(const std::vector<std::uint64_t>& lengths) {
  std::vector<double> offsets{0};
  for (const std::uint64_t length : lengths) offsets.push_back(offsets.back() + double(length));
  return offsets;
}

}  // namespace

bool sequences_are_causal(const Sizes& sizes) {
  const bool causal = is_set(sizes, "causal");
  const std::uint64_t window = sizes.at("window");
  if (!causal && window != 0)
    throw diag::InputError("--window " + std::to_string(window) + ": must be 0 with --causal 0");
  return causal;
}

SequencesProblem sequences_buffers(const Sizes& sizes, int cta_rows, std::uint64_t map_bytes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), batch = sizes.at("batch");
  const HeadSizes heads = head_sizes(sizes);
  if (batch < 1 || batch > 65535)
    throw diag::InputError("--batch " + std::to_string(batch) + ": must be in [1, 65535]");
  const bool offset = is_set(sizes, "causal");  // rows are the last of as many positions
  std::vector<std::uint64_t> row_lengths, key_lengths;
  for (std::uint64_t left = batch; left > 0; --left) {
    row_lengths.push_back(m * left / batch);
    key_lengths.push_back(offset ? row_lengths.back() + pieces((n - m) * left, batch) : pieces(n * left, batch));
  }
  const std::vector<double> row_offsets = offsets_of(row_lengths), key_offsets = offsets_of(key_lengths);
  SequencesProblem p;
  p.rows = std::uint64_t(row_offsets.back()), p.keys = std::uint64_t(key_offsets.back());
  p.contract = attention_buffers(p.rows, p.keys, heads);
  p.grid = {std::uint32_t(pieces(m, std::uint64_t(cta_rows))), std::uint32_t(heads.q), std::uint32_t(batch)};
  const auto add = [&](const char* name, const std::vector<double>& values) {
    add_workspace(p.contract, name, isa::ScalarType::u32, values.size(), launch::Init::Kind::values).init.values =
        values;
  };
  add("row_offsets", row_offsets), add("key_offsets", key_offsets);
  add_workspace(p.contract, "maps", isa::ScalarType::u8, map_bytes * p.grid.x * p.grid.y * p.grid.z);
  launch::Expectation& attention = p.contract.expectations.front();
  attention.row_offsets = "row_offsets", attention.key_offsets = "key_offsets";
  return p;
}

}  // namespace kiln::kernels::heads
