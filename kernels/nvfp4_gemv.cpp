// D = A * b of a batch, nvfp4 in f16: e2m1 elements, of which 16 along K share a ue4m3 scale, without the tensor core.
// A warpgroup has eight rows, whose scales lie in whole sectors of 32 bytes: two that follow one another, and those 32,
// 64 and 96 rows later. Its four warps go through K together: half a warp reads 512 bytes of a row at a time, each lane
// 64 elements of four rows, so that b is decoded once for these.
//
// Twice an e2m1 is a whole number: prmt finds its magnitude among eight bytes by three bits of it, and with the fourth,
// the sign, gives zero. So dp4a adds the products of a block, exactly; the blocks are added in f32.
#include <array>

#include "kernels/by_hand.hpp"
#include "kernels/operands.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int block = 16, vector = 4 * block;  // elements of a lane and row; their scales are one word
constexpr int rows_of_lane = 4, rows_apart = isa::scale_column_rows, chunk_rows = isa::scale_chunk_rows;
constexpr int lanes = 16, group_warps = 4, step = group_warps * lanes * vector;  // along K
constexpr int pair = 32 / lanes, group_rows = pair * rows_of_lane;               // of a warpgroup
constexpr int groups = 4, row_pairs = groups * pair;  // of a CTA: rows that follow one another
constexpr float of_sums = 0.25f;                      // twice an element by twice an element

using Sums = SharedTile<f32, groups * group_rows, group_warps, K_major, swizzle_none>;

constexpr auto parameter_list =
    parameters("A"_arg.is<Pointer<e2m1>>(), "B"_arg.is<Pointer<e2m1>>(), "SFA"_arg.is<Pointer<ue4m3>>(),
               "SFB"_arg.is<Pointer<ue4m3>>(), "D"_arg.is<Pointer<f16>>(), "m"_arg.is<u32>(), "k"_arg.is<u32>());

// Twice four elements of a word, a byte each: those that are above zero, and the magnitudes of those below.
struct Halves {
  U32 above, below;
};
Halves halves_of(Scope& s, const U32& word, int half) {
  const auto chosen = [&](const U32& by) {
    return s.ptx<"prmt.b32", U32(U32, U32, U32)>(0x03020100u, 0x0c080604u, half == 0 ? by : by >> 16);
  };
  return {chosen(word), chosen(word ^ 0x88888888u)};
}
// The same as signed bytes.
U32 bytes_of(Scope& s, const U32& word, int half) {
  const Halves h = halves_of(s, word, half);
  return ((0x80808080u - h.below) ^ 0x80808080u) | h.above;
}
// sum + a * b, of four bytes each.
U32 dp4a(Scope& s, const U32& a, const U32& b, const U32& sum) {
  return s.ptx<"dp4a.s32.s32", U32(U32, U32, U32)>(a, b, sum);
}

// What a word of four scales stands for.
Registers<f32, 4> scales_of(const U32& word) { return widen(Registers<e4m3, 4>(word.recorder(), {word.operand()})); }

}  // namespace

std::span<const SizeOption> gemv_options() {
  static constexpr std::array options{SizeOption{"m", 512, "rows of A and D"},
                                      SizeOption{"k", 512, "columns of A, elements of B; a multiple of 64"},
                                      SizeOption{"batch", 1, "matrices"}};
  return options;
}

Kernel gemv_nvf4(Target target, const Sizes&) {
  KernelBuilder gemv("gemv_nvf4", target, warps<groups * group_warps>);
  const auto given = declare(gemv, parameter_list);
  const auto sums = gemv.shared<Sums>();
  const U32 m = given["m"_arg], k = given["k"_arg], matrix = gemv.ctaid.y, chunks = k / vector;
  constexpr int ctas_of_chunk = rows_apart / row_pairs;
  const U32 chunk = gemv.ctaid.x / ctas_of_chunk, first_in_chunk = gemv.ctaid.x % ctas_of_chunk * row_pairs;
  const U32 row_chunks = gemv.ceil_div(m, chunk_rows);

  gemv.role("multiply", warpgroups<0, groups>, [&](Warpgroups<groups>& g) {
    const U32 in_chunk = first_in_chunk + g.group() * pair + g.lane() / lanes, row = chunk * chunk_rows + in_chunk;
    const U64 a = given["A"_arg].address() + (multiply_wide(matrix * m + row, k) >> 1);
    const U64 next_rows = multiply_wide(k, rows_apart / 2);  // bytes
    const U64 b = given["B"_arg].address() + (multiply_wide(matrix, k) >> 1);
    const auto chunk_of = [&](const Pointer<ue4m3>& scales, const U32& of_row, const U32& along_k) {
      return scales.address() + multiply_wide(of_row * chunks + along_k, isa::scale_chunk_bytes);
    };
    auto totals = g.vars<rows_of_lane>(0.0f);
    g.loop(gemv.ceil_div(k, step), [&](U32 i) {
      const U32 vectors = i * (step / vector) + g.row() / 32 * lanes + g.lane() % lanes;  // before this one, along K
      const Pred inside = vectors < chunks;
      const U64 at = multiply_wide(vectors, vector / 2);
      const auto b_words = g.load_global<b32, vector / 8>(b + at, select(inside, vector / 8, 0));
      const auto b_scales = scales_of(g.ld_global<u32>(chunk_of(given["SFB"_arg], matrix, vectors), inside, 0));
      const auto a_scales = g.load_global<b32, rows_of_lane>(
          chunk_of(given["SFA"_arg], matrix * row_chunks + chunk, vectors) + multiply_wide(in_chunk, 16),
          select(inside, rows_of_lane, 0));
      std::vector<U32> b_bytes;
      for (int w = 0; w < vector / 4; ++w) b_bytes.push_back(bytes_of(g, b_words[w / 2], w % 2));
      for (int r = 0; r < rows_of_lane; ++r) {
        const U32 words = select(row + r * rows_apart < m, select(inside, vector / 8, 0), 0);
        const auto a_words = g.load_global<b32, vector / 8>(a + next_rows * r + at, words);
        const auto scales = scales_of(a_scales[r]);
        for (int s = 0; s < vector / block; ++s) {
          std::vector<U32> above{gemv.constant(0)}, below{gemv.constant(0)};
          for (int w = s * block / 4; w < (s + 1) * block / 4; ++w) {
            const Halves h = halves_of(g, a_words[w / 2], w % 2);
            above.push_back(dp4a(g, h.above, b_bytes[std::size_t(w)], above.back()));
            below.push_back(dp4a(g, h.below, b_bytes[std::size_t(w)], below.back()));
          }
          const F32 sum = convert<F32>(bit_cast<S32>(above.back() - below.back()));
          totals[r] = fma(sum, scales[s] * b_scales[s], totals[r]);
        }
      }
    });
    // Of the lanes of a row, then of the warps.
    const U32 warp_of_group = g.row() / 32, of_group = sums.address + g.group() * (group_rows * group_warps * 4);
    const U32 slot = of_group + (g.lane() / lanes * rows_of_lane * group_warps + warp_of_group) * 4;
    for (int r = 0; r < rows_of_lane; ++r) {
      std::vector<F32> total{totals[r]};
      for (int distance = 1; distance < lanes; distance *= 2)
        total.push_back(total.back() + g.shfl_sync_bfly(total.back(), distance));
      g.st_shared(slot + r * group_warps * 4, total.back(), g.lane() % lanes == 0);
    }
    g.sync();
    g.when(g.row() < group_rows, [&] {
      const U32 mine = chunk * chunk_rows + first_in_chunk + g.group() * pair + g.row() / rows_of_lane +
                       g.row() % rows_of_lane * rows_apart;
      const U32 from = of_group + g.row() * (group_warps * 4);
      std::vector<F32> of_warps;
      for (int w = 0; w < group_warps; ++w) of_warps.push_back(g.ld_shared<f32>(from + 4 * w));
      const F32 total = combined(of_warps, [](const F32& x, const F32& y) { return x + y; });
      g.st_global<f16>(given["D"_arg].at(widen(matrix * m + mine)), total * of_sums, mine < m);
    });
  });
  return gemv.build();
}

launch::Contract gemv_nvf4_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), k = sizes.at("k"), batch = sizes.at("batch");
  check_extent("m", m), check_extent("k", k, vector);
  launch::Contract c = gemm_buffers({m, 1, k}, e2m1::scalar, e2m1::scalar, f16::scalar);
  // Of several matrices nothing is quantised: elements and scales are drawn.
  c.buffers.push_back(drawn_scales("SFA", ue4m3::scalar, m, k / block));
  c.buffers.push_back(drawn_scales("SFB", ue4m3::scalar, 1, k / block));
  make_batch(c, batch);
  launch::Expectation& e = c.expectations.front();
  e.sfa = "SFA", e.sfb = "SFB";
  e.block = block;
  // Of the last chunk those that have rows.
  const std::uint64_t of_chunk = rows_apart / row_pairs, rest = pieces(m % chunk_rows, row_pairs);
  const std::uint64_t ctas = m / chunk_rows * of_chunk + std::min(rest, of_chunk);
  launch_kernel(c, kernel, parameter_list, {std::uint32_t(ctas), std::uint32_t(batch), 1}, "A"_arg = "A", "B"_arg = "B",
                "SFA"_arg = "SFA", "SFB"_arg = "SFB", "D"_arg = "D", "m"_arg = m, "k"_arg = k);
  return c;
}

}  // namespace kiln::kernels
