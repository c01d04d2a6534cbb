#include "harness/problem/pruning.hpp"

#include <algorithm>
#include <cmath>

#include "harness/problem/element.hpp"
#include "ptx/isa/sparse.hpp"

namespace kiln::harness {
namespace {

using isa::MmaKind;

// What is kept or dropped as one: an element, or a pair of them where four bits of metadata are about eight elements.
struct Units {
  std::uint32_t width, count;
  explicit Units(MmaKind kind) {
    const auto chunk = std::uint32_t(isa::metadata_chunk(kind));
    count = std::min(4u, chunk);
    width = chunk / count;
  }
};

// The half of the units with the largest magnitudes, in order.
std::vector<std::uint32_t> largest_half(const double* numbers, const Units& units) {
  double sizes[4] = {};
  for (std::uint32_t i = 0; i < units.count * units.width; ++i) sizes[i / units.width] += std::abs(numbers[i]);
  std::vector<std::uint32_t> order(units.count);
  for (std::uint32_t u = 0; u < units.count; ++u) order[u] = u;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
  order.resize(units.count / 2);
  std::sort(order.begin(), order.end());
  return order;
}

// The nibble of metadata for these units. That of tf32 names both 16-bit halves of the one element.
std::uint32_t selector(const std::vector<std::uint32_t>& kept) {
  const std::uint32_t low = kept.size() == 1 ? 2 * kept[0] : kept[0], high = kept.size() == 1 ? low + 1 : kept[1];
  return low | high << 2;
}

}  // namespace

std::vector<std::uint32_t> prune_row(MmaKind kind, double* numbers, std::uint64_t k, std::uint64_t row,
                                     launch::Buffer& metadata) {
  const Units units(kind);
  const std::uint32_t chunk = units.count * units.width;
  std::vector<std::uint32_t> columns;
  columns.reserve(k / 2);
  for (std::uint32_t first = 0; first < k; first += chunk) {
    const std::vector<std::uint32_t> kept = largest_half(numbers + first, units);
    std::vector<bool> stays(chunk);
    for (const std::uint32_t unit : kept)
      for (std::uint32_t i = 0; i < units.width; ++i) {
        columns.push_back(first + unit * units.width + i);
        stays[unit * units.width + i] = true;
      }
    for (std::uint32_t i = 0; i < chunk; ++i)
      if (!stays[i]) numbers[first + i] = 0;
    const isa::MetadataNibble at = isa::metadata_nibble(kind, row, first / chunk, metadata.shape[1]);
    const std::uint64_t word = load_element(metadata.bytes, metadata.dtype, at.word);
    const std::uint64_t rest = word & ~(std::uint64_t{0xF} << at.bit);
    store_element(metadata.bytes, metadata.dtype, at.word, rest | std::uint64_t{selector(kept)} << at.bit);
  }
  return columns;
}

void clear_metadata(launch::Buffer& metadata) {
  constexpr std::uint8_t two_selectors_0x4 = 0x44;
  metadata.bytes.assign(metadata.size(), two_selectors_0x4);
}

}  // namespace kiln::harness
