// The zero-column mask of tcgen05.mma.ws. PTX ISA "zero-column-mask".
#include <doctest/doctest.h>

#include "tests/unit/sim/mma_problem.hpp"

namespace sim_zero_mask {

using namespace kiln;
using namespace kiln::test;

namespace {

float cell_value(u32 word) { return std::bit_cast<float>(word); }

// Bits of the zero-column mask by the ISA's recipe: alternating runs from the first span on, of which the start count
// drops some.
std::vector<bool> zero_columns(int m, int n, int skip, int use, const int (&first)[4], const int (&start)[4]) {
  const int parts = m == 32 ? 4 : m == 64 ? 2 : 1, width = n / parts;
  std::vector<bool> all;
  for (int part = 0; part < parts; ++part) {
    std::vector<bool> bits;
    bool zero = first[part] != 0;
    while (int(bits.size()) < width + start[part]) {
      bits.insert(bits.end(), std::size_t(zero ? skip : use), zero);
      zero = !zero;
    }
    all.insert(all.end(), bits.begin() + start[part], bits.begin() + start[part] + width);
  }
  return all;
}

}  // namespace

TEST_CASE("a zero-column mask takes columns of B as zeros and shifts the others") {
  const int first[4] = {1, 0, 1, 0}, start[4] = {1, 2, 0, 1};
  for (const bool sparse : {false, true})
    for (const int m : {128, 64, 32})
      for (const int shift : {0, 2, 8}) {
        MmaProblem p;
        p.ws = true, p.sparse = sparse, p.m = m, p.n = 64, p.shift = shift, p.max_shift = 1, p.extra = ", %rd12";
        p.draw(unsigned(m + shift));
        u64 word = u64{1} << 39 | u64{2} << 40 | u64{3} << 48 | u64(shift) << 56;  // skip 3, use 4
        for (int i = 0; i < 4; ++i) word |= u64(start[i]) << 8 * i | u64(first[i]) << (32 + i);
        MmaMachine machine = p.machine();
        const Run r = machine.run("mov.b64 %rd12, " + std::to_string(word) + ";\n" + p.instruction());
        REQUIRE_MESSAGE(r.clean(), r.findings());
        const std::vector<bool> zero = zero_columns(m, 64, 3, 4, first, start);
        int wrong = 0;
        for (int row = 0; row < m; ++row)
          for (int n = 0; n < 64; ++n)
            wrong += cell_value(d_word(p, machine, row, n)) != (zero[std::size_t(n)] ? 0 : float(p.value(row, n)));
        CHECK(wrong == 0);
      }
}

TEST_CASE("a zero-column mask is judged, and a start count after the first span is not guessed at") {
  MmaProblem p;
  p.ws = true, p.m = 64, p.n = 64, p.max_shift = 1, p.extra = ", %rd12";
  p.draw(4);
  const auto run = [&](u64 word) {
    return p.machine().run("mov.b64 %rd12, " + std::to_string(word) + ";\n" + p.instruction());
  };
  CHECK(run(u64{1} << 36).has("[tcgen05-zero-mask]"));
  CHECK(run(u64{9} << 56).has("[tcgen05-zero-mask]"));
  const Run open = run(u64{1} << 39 | u64{3} << 40 | u64{3} << 48 | 4);
  CHECK(open.result.outcome == sim::Outcome::incomplete);
  CHECK(open.has("start count"));
  CHECK(run(u64{1} << 39 | u64{3} << 40 | u64{3} << 48 | 3).clean());
}

}  // namespace sim_zero_mask
