#include "kernels/attention_pages.hpp"

#include <numeric>
#include <string>

namespace kiln::kernels::pages {

namespace {

std::uint64_t in_range(const Sizes& sizes, const char* name, std::uint64_t most) {
  const std::uint64_t value = sizes.at(name);
  if (value == 0 || value > most)
    throw diag::InputError("--" + std::string(name) + " " + std::to_string(value) + ": must be in [1, " +
                           std::to_string(most) + "]");
  return value;
}

launch::TensorMap map_of_pages(const char* buffer, std::uint64_t pages, std::uint64_t page, std::uint64_t heads) {
  constexpr std::uint64_t row = attention_row_bytes;
  launch::TensorMap map;
  map.buffer = buffer;
  map.rank = Pages::rank;
  map.dims = {span, page, head / span, heads, pages};
  map.strides = {0, heads * row, span * bf16::bits / 8, row, page * heads * row};
  map.box = {span, std::uint32_t(page), 1, 1, 1};
  map.swizzle = In::QTile::swizzle;
  return map;
}

launch::TensorMap map_of_rows(std::uint64_t all) {
  launch::TensorMap map;
  map.buffer = "Q";
  map.rank = QMap::rank;
  map.dims = {span, all, head / span, 1, 1};
  map.strides = {0, attention_row_bytes, span * bf16::bits / 8, 0, 0};
  map.box = {span, rows, head / span, 1, 1};
  map.swizzle = In::QTile::swizzle;
  return map;
}

}  // namespace

std::uint64_t page_of(const Sizes& sizes) {
  const std::uint64_t page = sizes.at("page");
  if (page != 64 && page != 128) throw diag::InputError("--page " + std::to_string(page) + ": must be 64 or 128");
  return page;
}

launch::Contract pages_problem(const Kernel& kernel, const Sizes& sizes, int vectors) {
  const std::uint64_t batch = in_range(sizes, "batch", 65535), n = sizes.at("n"), page = page_of(sizes);
  const std::uint64_t heads = in_range(sizes, "heads", 65535), sharing = in_range(sizes, "sharing", rows);
  const std::uint64_t splits = in_range(sizes, "splits", most_splits);
  check_extent("n", n);
  if (heads % sharing != 0)
    throw diag::InputError("--sharing " + std::to_string(sharing) + ": must divide --heads " + std::to_string(heads));
  const std::uint64_t most = pieces(n, page), all = batch * most, heads_of_k = heads / sharing;
  // Pages of a sequence lie apart, and each sequence is shorter than the one before it.
  std::uint64_t step = 5;
  while (std::gcd(step, all) != 1) step += 2;
  std::vector<double> table, lengths;
  for (std::uint64_t i = 0; i < all; ++i) table.push_back(double((i * step + 2) % all));
  for (std::uint64_t i = 0; i < batch; ++i) lengths.push_back(double(pieces(n * (batch - i), batch)));

  launch::Contract c = attention_buffers(1, 1, {});
  c.at("Q").shape = c.at("O").shape = {batch, heads, head};
  c.at("K").shape = c.at("V").shape = {all, page, heads_of_k, head};
  const auto values = launch::Init::Kind::values;
  launch::Buffer& pages = add_workspace(c, "pages", isa::ScalarType::u32, all, values);
  pages.shape = {batch, most}, pages.init.values = table;
  add_workspace(c, "lengths", isa::ScalarType::u32, batch, values).init.values = lengths;
  const std::uint64_t threads = batch * heads_of_k * threads_with_rows(sharing);
  add_workspace(c, "parts", isa::ScalarType::f32, threads * splits * std::uint64_t(vectors) * 4);
  add_workspace(c, "counters", isa::ScalarType::u32, threads, launch::Init::Kind::zeros);
  launch::Expectation& attention = c.expectations.front();
  attention.pages = "pages", attention.lengths = "lengths";
  const launch::Dim3 grid{std::uint32_t(heads_of_k), std::uint32_t(batch), std::uint32_t(splits)};
  launch_kernel(c, kernel, parameter_list, grid, "Q"_arg = map_of_rows(batch * heads),
                "K"_arg = map_of_pages("K", all, page, heads_of_k), "V"_arg = map_of_pages("V", all, page, heads_of_k),
                "O"_arg = "O", "pages"_arg = "pages", "lengths"_arg = "lengths", "most_pages"_arg = most,
                "sharing"_arg = sharing, "parts"_arg = "parts", "counters"_arg = "counters");
  return c;
}

}  // namespace kiln::kernels::pages
