// How shared memory serves a warp. CUDA C++ Programming Guide, "Shared Memory"; how wide accesses are cut was measured on
// an H200 (tests/data/gpu/shared_wavefronts.txt).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace kiln::isa {

/// Words of four bytes lie in banks in turn; a wavefront brings one word of each.
inline constexpr std::uint32_t shared_banks = 32, bank_bytes = 4;

/// Lanes that one wavefront serves when each touches `bytes` (a power of two up to 16) and none is in another's way.
constexpr std::size_t lanes_a_wavefront(std::uint32_t bytes) {
  return shared_banks * bank_bytes / std::max(bytes, bank_bytes);
}

/// Wavefronts that an access takes: lanes, at these addresses, are served in groups as above, and words of one bank one
/// after the other. Loads of which lanes share words may take fewer.
constexpr std::uint32_t shared_wavefronts(std::span<const std::uint32_t> addresses, std::uint32_t bytes) {
  const std::size_t together = lanes_a_wavefront(bytes);
  std::uint32_t out = 0;
  for (std::size_t first = 0; first < addresses.size(); first += together) {
    const auto group = addresses.subspan(first, std::min(together, addresses.size() - first));
    std::array<std::uint32_t, shared_banks * bank_bytes> words{};  // that are touched
    std::size_t count = 0;
    for (const std::uint32_t address : group)
      for (std::uint32_t word = address / bank_bytes; word <= (address + bytes - 1) / bank_bytes; ++word)
        if (std::find(words.begin(), words.begin() + std::ptrdiff_t(count), word) == words.begin() + std::ptrdiff_t(count))
          words[count++] = word;
    std::array<std::uint32_t, shared_banks> in_bank{};
    for (std::size_t k = 0; k < count; ++k) ++in_bank[words[k] % shared_banks];
    out += *std::max_element(in_bank.begin(), in_bank.end());
  }
  return out;
}

}  // namespace kiln::isa
