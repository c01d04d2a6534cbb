// O = softmax(Q * K^T / sqrt(head)) * V of many heads, without an n x n matrix: a CTA has 128 rows of a head of Q and
// goes through its keys in blocks of 128. Scores come out of one MMA into tensor memory; the softmax, in registers,
// puts probabilities back as the A of the next MMA, whose sums it scales whenever a greater score is found. Warp 4
// loads, warp 5 makes scores, warp 6 sums values, warps 0-3 are the softmax, a row each thread. Causal attention goes
// no further than the last of its rows sees, and leaves out what each of them does not see yet.
#include "kernels/attention_keys.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_tcgen05;

namespace {

constexpr int stages = 2;

using Cta = CtaOf<rows>;

// What a block of keys weighs, rounded for the MMA, and the sum before rounding.
struct Weights {
  Registers<bf16, keys> rounded;
  F32 sum;
};
Weights weights_of(const Registers<f32, keys>& scores, const F32& greatest) {
  const F32 offset = greatest * -exponent_scale;
  const auto weights =
      make_registers<keys>([&](int i) { return ex2_approx_ftz(fma(scores[i], exponent_scale, offset)); });
  return {cvt<bf16>(weights), combined(weights, plus)};
}

template <class Sums>
auto scaled(Warpgroup& g, const Sums& sums, const F32& factor) {
  const auto loaded = g.wait(g.load(sums));
  return make_registers<head>([&](int i) { return loaded[i] * factor; });
}

template <class Visible>
Kernel build(const std::string& name, Target target) {
  KernelBuilder attention(name, target, warps<7>);
  const Heads<Cta> batch(attention);

  Inputs<rows, stages> in(attention);
  auto scores = attention.accumulator_ring<2, ScoresMma>("scores");
  auto weights = attention.tensor_memory<Probabilities>("weights");
  auto sums = attention.tmem<f32, rows, head>("sums");
  auto weights_full = attention.mbarrier<4>("weights_full");  // an arrival of each warp
  auto added = attention.mbarrier("added");                   // a block's values are in the sums

  // Causal rows with the most keys begin first.
  const U32 row = (attention.nctaid.x - attention.ctaid.x - 1) * rows, head_of_q = attention.ctaid.y;
  const Visible visible = Visible::maker(attention)(batch.extents(row));
  const U32 blocks = visible.blocks;

  attention.role("load", warp<4>.elect(), [&](Thread t) {
    const U32 head_of_k = batch.head_of_k(head_of_q);
    t.expect_tx(in.q_full, QTile::transaction_bytes);
    t.tma_load(in.q, batch.map(t, of_q).at(0, row, 0, head_of_q), in.q_full);
    t.loop(blocks, [&](U32 j) {
      auto k = in.k.acquire(t);
      t.tma_load(k.get<KTile>(), batch.map(t, of_k).at(0, j * keys, 0, head_of_k), k.full);
      auto v = in.v.acquire(t);
      t.tma_load(v.get<VTile>(), batch.map(t, of_v).at(0, j * keys, 0, head_of_k), v.full);
    });
  });
  attention.role("scores", warp<5>.elect(), [&](Thread t) {
    t.wait(in.q_full, Phase{0});
    t.loop(blocks, [&](U32) {
      auto k = in.k.wait(t);
      auto s = scores.acquire(t);
      t.mma_tiles<ScoresMma>(s.sums, in.q, k.get<KTile>(), accumulate(false));
      t.commit(k.empty);
      t.commit(s.full);
    });
  });
  attention.role("values", warp<6>.elect(), [&](Thread t) {
    t.loop(blocks, [&](U32 j) {
      auto v = in.v.wait(t);
      t.wait(weights_full, Phase(j & 1));
      t.mma_tiles<ValuesMma>(sums, weights, v.get<VTile>(), accumulate(j != 0));
      t.commit(v.empty);
      t.commit(added);
    });
  });
  attention.role("softmax", warpgroup<0>, [&](Warpgroup& g) {
    auto greatest = g.var(unseen_score), total = g.var(0.0f);
    g.loop(blocks, [&](U32 j) {
      auto s = scores.wait(g);
      g.when(visible.cuts(0, j), [&] { leave_out(g, s.sums, visible.sees(g, 0, j)); });
      const auto loaded = g.wait(g.load(s.sums));
      scores.release(g, s);
      const F32 before = greatest, now = max(before, combined(loaded, greater));
      const Weights w = weights_of(loaded, now);
      const F32 factor = ex2_approx_ftz((before - now) * exponent_scale);
      g.wait(added, Phase((j + 1) & 1));  // the last block's: weights and sums are not used after it
      g.store(weights, w.rounded);
      g.when(j != 0, [&] { g.store(sums, scaled(g, sums, factor)); });
      g.tcgen05_wait_st();
      g.arrive_by_warp(weights_full);
      total = fma(total, factor, w.sum);
      greatest = now;
    });
    g.wait(added, Phase((blocks + 1) & 1));
    const F32 inverse = rcp_approx_ftz(total);
    const U32 my_row = row + g.row(), left = select(my_row < visible.of.m, head, 0);
    g.store_global(batch.row_of_o(g, head_of_q, my_row), cvt<bf16>(scaled(g, sums, inverse)), left);
  });
  return attention.build();
}

constexpr auto options = head_options(1);

}  // namespace

std::span<const SizeOption> attention_options() { return options; }

Kernel attention(Target target, const Sizes&) { return build<AllKeys<1>>("attention", target); }
launch::Contract attention_problem(const Kernel& kernel, const Sizes& sizes) {
  return heads_problem<Cta, AllKeys<1>>(kernel, sizes);
}

Kernel attention_causal(Target target, const Sizes&) { return build<KeysSoFar<1>>("attention_causal", target); }
launch::Contract attention_causal_problem(const Kernel& kernel, const Sizes& sizes) {
  return causal_problem(heads_problem<Cta, KeysSoFar<1>>, kernel, sizes);
}

}  // namespace kiln::kernels
