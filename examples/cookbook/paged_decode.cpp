// O = softmax(Q K^T / sqrt(128)) V for the 64 query rows of a sequence in each CTA. K and V lie in pages of 64 keys
// that a table in global memory names; a block of keys is two pages, which make up one tile. The weights go to tensor
// memory, where the second product takes its A from.
#include <cmath>
#include <limits>
#include <numbers>

#include "cookbook.hpp"

namespace cookbook {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int rows = 64, page = 64, keys = 2 * page, head = 128, stages = 3;
using QTile = SharedTile<bf16, rows, head, K_major, swizzle_128B>;
using KTile = SharedTile<bf16, keys, head, K_major, swizzle_128B>;
using VTile = SharedTile<bf16, head, keys, MN_major, swizzle_128B>;
using KPage = SharedTile<bf16, page, head, K_major, swizzle_128B>;
using VPage = SharedTile<bf16, head, page, MN_major, swizzle_128B>;
using ScoresMma = tcgen05_mma<kind_f16, bf16, bf16, f32, rows, keys>;
using ValuesMma = tcgen05_mma<kind_f16, bf16, bf16, f32, rows, head>;
constexpr auto list =
    parameters("Q"_arg.is<TensorMap<QTile>>(), "K"_arg.is<TensorMap<KPage>>(), "V"_arg.is<TensorMap<VPage>>(),
               "O"_arg.is<Pointer<bf16>>(), "pages"_arg.is<Pointer<u32>>(), "lengths"_arg.is<Pointer<u32>>(),
               "most_pages"_arg.is<u32>());
const float exponent_scale = float(std::numbers::log2e / std::sqrt(double(head)));

F32 greater(const F32& a, const F32& b) { return max(a, b); }
F32 sum(const F32& a, const F32& b) { return a + b; }

}  // namespace

Kernel paged_decode(Target target, const Sizes&) {
  KernelBuilder attention("paged_decode", target, warps<7>);
  attention.minnctapersm(1);
  const auto given = declare(attention, list);
  const auto q = attention.shared<QTile>();
  const auto q_full = attention.mbarrier("q_full");
  auto in = attention.ring<stages, KTile, VTile>("in");
  auto scores = attention.accumulator_ring<2, ScoresMma>("scores");
  const auto weights = attention.tensor_memory<TmemA<bf16, rows, keys>>("weights");
  const auto sums = attention.accumulator<ValuesMma>("sums");
  const auto weights_full = attention.mbarrier<4>("weights_full");
  const auto added = attention.mbarrier("added");
  const U32 group = attention.ctaid.x;
  const auto length_of = [&](auto& scope) { return scope.ld_global(given["lengths"_arg].at(widen(group))); };
  const auto blocks_of = [&](const U32& length) { return (length + (keys - 1)) / keys; };

  attention.role("load", warp<4>.elect(), [&](Thread t) {
    t.expect_tx(q_full, QTile::transaction_bytes);
    t.tma_load(q, given["Q"_arg].at(group * rows, 0), q_full);
    const U32 length = length_of(t), last = (length - 1) / page;
    const U64 table = given["pages"_arg].at(multiply_wide(group, given["most_pages"_arg]));
    t.loop(blocks_of(length), [&](U32 j) {
      const auto slot = in.acquire(t);
      for (int p = 0; p < 2; ++p) {
        const U32 first = t.ld_global(table + widen(min(j * 2 + p, last)) * 4) * page;
        t.tma_load_part(slot.get<KTile>(), p * page, given["K"_arg].at(first, 0), slot.full);
        t.tma_load_part(slot.get<VTile>(), p * page, given["V"_arg].at(0, first), slot.full);
      }
    });
  });
  attention.role("scores", warp<5>.elect(), [&](Thread t) {
    t.wait(q_full, Phase{0});
    t.loop(blocks_of(length_of(t)), [&](U32) {
      const auto slot = in.wait(t);
      const auto s = scores.acquire(t);
      t.mma_tiles<ScoresMma>(s.sums, q, slot.get<KTile>(), accumulate(false));
      t.commit(slot.empty);
      t.commit(s.full);
    });
  });
  attention.role("values", warp<6>.elect(), [&](Thread t) {
    t.loop(blocks_of(length_of(t)), [&](U32 j) {
      const auto slot = in.wait(t);
      t.wait(weights_full, Phase(j & 1));
      t.mma_tiles<ValuesMma>(sums, weights, slot.get<VTile>(), accumulate(j != 0));
      t.commit(slot.empty);
      t.commit(added);
    });
  });
  // With 64 rows two threads share a row: this one and the one 16 lanes away hold half of its columns each.
  attention.role("softmax", warpgroup<0>, [&](Warpgroup& g) {
    constexpr int half = keys / 2;
    const float nothing = -std::numeric_limits<float>::infinity();
    const U32 length = length_of(g), blocks = blocks_of(length), row = g.row_of(sums), column = g.column_of(sums);
    const auto of_both = [&](const F32& mine, auto combine) { return combine(mine, g.shfl_sync_bfly(mine, 16)); };
    const auto scaled = [&](const F32& factor) {
      const auto loaded = g.wait(g.load(sums));
      return make_registers<half>([&](int i) { return loaded[i] * factor; });
    };
    auto greatest = g.var(nothing), total = g.var(0.0f);
    g.loop(blocks, [&](U32 j) {
      const auto s = scores.wait(g);
      const U32 first = j * keys + column, left = select(first < length, length - first, 0);
      const auto loaded = g.wait(g.load(s.sums));
      scores.release(g, s);
      const auto x = make_registers<half>([&](int i) { return select(left > i, loaded[i], nothing); });
      const F32 before = greatest, now = max(before, of_both(combined(x, greater), greater)),
                offset = now * -exponent_scale, factor = ex2_approx_ftz((before - now) * exponent_scale);
      const auto w = make_registers<half>([&](int i) { return ex2_approx_ftz(fma(x[i], exponent_scale, offset)); });
      g.wait(added, Phase((j + 1) & 1));
      g.when(j != 0, [&] { g.store(sums, scaled(factor)); });
      g.store(weights, cvt<bf16>(w));
      g.tcgen05_wait_st();
      g.arrive_by_warp(weights_full);
      total = fma(total, factor, combined(w, sum));
      greatest = now;
    });
    g.wait(added, Phase((blocks + 1) & 1));
    const F32 inverse = rcp_approx_ftz(of_both(total, sum));
    const U64 out = given["O"_arg].at(multiply_wide(group * rows + row, head) + widen(column));
    g.store_global(out, cvt<bf16>(scaled(inverse)), attention.constant(half));
  });
  return attention.build();
}

launch::Contract paged_decode_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t batch = sizes.at("batch"), n = sizes.at("n"), most = (n + page - 1) / page, all = batch * most;
  std::vector<double> table, lengths;
  for (std::uint64_t i = 0; i < all; ++i) table.push_back(double((i * 5 + 2) % all));
  for (std::uint64_t i = 0; i < batch; ++i) lengths.push_back(double(n - i * 7 % n));
  launch::Contract c;
  c.buffers = {buffer("Q", bf16::scalar, {batch * rows, head}, normal(1)),
               buffer("K", bf16::scalar, {all * page, head}, normal(2)),
               buffer("V", bf16::scalar, {all * page, head}, normal(3)),
               buffer("O", bf16::scalar, {batch * rows, head}),
               buffer("pages", u32::scalar, {batch, most}, values(table)),
               buffer("lengths", u32::scalar, {batch}, values(lengths))};
  launch_kernel(c, kernel, list, {std::uint32_t(batch), 1, 1}, "Q"_arg = GlobalTensor{"Q", batch * rows, head},
                "K"_arg = GlobalTensor{"K", all * page, head}, "V"_arg = GlobalTensor{"V", head, all * page},
                "O"_arg = "O", "pages"_arg = "pages", "lengths"_arg = "lengths", "most_pages"_arg = most);
  return c;
}

std::span<const SizeOption> paged_decode_options() {
  static constexpr std::array options{SizeOption{"batch", 2, "sequences"},
                                      SizeOption{"n", 320, "keys of the longest sequence"}};
  return options;
}

}  // namespace cookbook
