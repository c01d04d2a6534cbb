#include "timing/wavefronts.hpp"

#include <algorithm>
#include <array>

namespace kiln::timing {
namespace {

constexpr std::uint64_t banks = 32, word_bytes = 4;

std::uint32_t pieces(const std::vector<Touch>& touches, std::uint64_t size) {
  std::vector<std::uint64_t> all;
  for (const Touch& t : touches)
    for (std::uint64_t at = t.address / size; at * size < t.address + t.bytes; ++at) all.push_back(at);
  std::sort(all.begin(), all.end());
  return std::uint32_t(std::unique(all.begin(), all.end()) - all.begin());
}

// Turns for accesses that go together.
std::uint32_t turns(const Touch* first, const Touch* last) {
  std::vector<std::uint64_t> words;
  for (; first != last; ++first)
    for (std::uint64_t w = first->address / word_bytes; w * word_bytes < first->address + first->bytes; ++w)
      words.push_back(w);
  std::sort(words.begin(), words.end());
  std::array<std::uint32_t, banks> wanted{};
  for (auto w = words.begin(), end = std::unique(words.begin(), words.end()); w != end; ++w) ++wanted[*w % banks];
  return *std::max_element(wanted.begin(), wanted.end());
}

}  // namespace

std::uint32_t wavefronts(const std::vector<Touch>& touches) {
  std::uint32_t sum = 0;
  for (std::size_t k = 0; k < touches.size();) {
    const std::size_t together =
        std::max<std::size_t>(1, banks * word_bytes / std::max(word_bytes, std::uint64_t(touches[k].bytes)));
    const std::size_t end = std::min(touches.size(), k + together);
    sum += turns(touches.data() + k, touches.data() + end);
    k = end;
  }
  return sum;
}

std::uint32_t lines(const std::vector<Touch>& touches) { return pieces(touches, line_bytes); }
std::uint32_t sectors(const std::vector<Touch>& touches) { return pieces(touches, sector_bytes); }

}  // namespace kiln::timing
