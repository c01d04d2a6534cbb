// The zero-column mask against the four worked examples of PTX ISA "Zero-Column Mask Descriptor".
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "ptx/isa/zero_mask.hpp"

using namespace kiln::isa;

namespace {

// The examples give the spans as the descriptor holds them: length - 1.
constexpr ZeroMaskFields example(bool generate, std::array<std::uint8_t, 4> start, std::array<bool, 4> first,
                                 int shift) {
  return {.start = start, .first = first, .generate = generate, .skip = 2 + 1, .use = 3 + 1, .shift = shift};
}

// Columns of one part as the ISA draws them: the first column is the last digit.
std::string drawn(const ZeroMaskFields& f, int m, int n, int part, std::size_t digits) {
  const int width = n / zero_mask_parts(m);
  std::string out;
  for (std::size_t i = 0; i < digits; ++i)
    out.insert(out.begin(), is_zeroed(f, m, n, part * width + int(i)) ? '1' : '0');
  return out;
}

void check_part(const ZeroMaskFields& f, int m, int part, std::string_view mask) {
  CHECK(drawn(f, m, 128, part, mask.size()) == mask);
  CHECK(drawn(unpack_zero_mask(pack(f)), m, 128, part, mask.size()) == mask);
}

}  // namespace

TEST_CASE("example 1: without the non-zero bit no column is zeroed") {
  ZeroMaskFields f{.generate = false, .skip = 4 + 1, .use = 3 + 1};
  for (int n = 0; n < 256; ++n) CHECK_FALSE(is_zeroed(f, 128, 256, n));
}

TEST_CASE("example 2: M = 128 has one mask, of runs of use and skip") {
  check_part(example(true, {0, 0, 0, 0}, {false, false, false, false}, 0), 128, 0, "11100001110000");
}

TEST_CASE("example 3: M = 64 has two masks, each with its own first run") {
  const ZeroMaskFields f = example(true, {0, 0, 0, 0}, {true, false, false, false}, 0);
  check_part(f, 64, 0, "11100001110000111");
  check_part(f, 64, 1, "000011100001110000");
}

TEST_CASE("example 4: M = 32 has four masks, each with its own start, and B is shifted") {
  // {sc3, sc2, sc1, sc0} = {1, 2, 1, 0}, {fs3, fs2, fs1, fs0} = {0, 0, 1, 1}
  const ZeroMaskFields f = example(true, {0, 1, 2, 1}, {true, true, false, false}, 2);
  check_part(f, 32, 0, "00001110000111");
  check_part(f, 32, 1, "0000111000011");
  check_part(f, 32, 2, "111000011100");
  check_part(f, 32, 3, "1110000111000");
  CHECK(unpack_zero_mask(pack(f)).shift == 2);
}
