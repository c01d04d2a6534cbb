// Attention as in kernels/attention.cpp, of two tiles of rows in turn: while one warpgroup makes weights of the scores
// of its tile, the tensor core multiplies for the other. A CTA has 256 rows. Weights lie where their scores lay, so
// that scores and sums of both tiles fill tensor memory: the next scores of a tile come after its weights were
// multiplied, and when they are there, nothing but its warpgroup touches the tile's tensor memory. Rows are those of
// heads of one length, or of sequences of any lengths (attention_heads.hpp).
#include <array>

#include "kernels/attention_keys.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_tcgen05;

namespace {

constexpr int stages = 2, tiles = 2;
// Exponents are less by a score that is at most so much, as an exponent, below the greatest so far of its row. Only
// where it would be more are sums scaled; weights are then at most 2^growth, which rounds them no worse.
constexpr float growth = 8;

using Cta = CtaOf<tiles * rows>;

// A tile of rows: its Q, scores, the weights in their place, and sums.
struct Tile {
  Shared<QTile> q;
  Scores scores;
  Probabilities weights;
  Sums sums;
  Mbarrier scores_full;   // and the sums have all values before them
  Mbarrier weights_full;  // an arrival of each warp
  Mbarrier added;         // a block's values are in the sums
};

// A tile's rows of O, and what is left of each row beside it.
template <class Batch, class Visible>
void softmax(Warpgroup& g, const Tile& tile, int number, const Batch& batch, const Visible& visible,
             const U32& of_head) {
  const U32 blocks = visible.blocks, first = visible.first();
  auto offset = g.var(-least_score), total = g.var(0.0f);
  const F32 zero = total;
  for (int c = 0; c < head; c += part)
    g.store(tile.sums.columns<part>(c), make_registers<part>([&](int) { return zero; }));
  g.tcgen05_wait_st();
  g.loop(blocks, [&](U32 j) {
    g.wait(tile.scores_full, Phase(j & 1));
    const U32 block = first + j;
    g.when(visible.cuts(number, block), [&] { leave_out(g, tile.scores, visible.sees(g, number, block)); });
    const auto scores = g.wait(g.load(tile.scores));
    const F32 before = offset, lowest = min(before, combined(scores, greater) * -exponent_scale);
    const Pred grows = g.vote_sync_any(before - lowest > growth);
    const F32 now = select(grows, lowest, before), factor = ex2_approx_ftz(now - before);
    const auto weights =
        make_registers<keys>([&](int i) { return ex2_approx_ftz(fma(scores[i], exponent_scale, now)); });
    g.store(tile.weights, cvt<bf16>(weights));
    total = fma(total, factor, combined(weights, plus));
    g.when(grows, [&] {
      const auto sums = g.wait(g.load(tile.sums));
      g.store(tile.sums, make_registers<head>([&](int i) { return sums[i] * factor; }));
    });
    g.tcgen05_wait_st();
    g.arrive_by_warp(tile.weights_full);
    offset = now;
  });
  g.wait(tile.scores_full, Phase(blocks & 1));
  const U32 row = visible.of.row + (g.row() + number * rows);
  const Pred there = row < visible.of.m;
  if constexpr (Batch::has_log_sums)
    batch.leave_log_sum(g, visible.of, of_head, row, lg2_approx_ftz(total) - offset, there);
  const F32 inverse = rcp_approx_ftz(total);
  const U64 address = batch.row_of_o(g, of_head, row);
  for (int c = 0; c < head; c += part) {
    const auto sums = g.wait(g.load(tile.sums.columns<part>(c)));
    g.store_global(address, cvt<bf16>(make_registers<part>([&](int i) { return sums[i] * inverse; })),
                   select(there, head, 0), c);
  }
}

template <class Batch, class Visible>
Kernel build(const std::string& name, Target target) {
  KernelBuilder attention(name, target, warps<10>);
  attention.minnctapersm(1);
  const Batch batch(attention);
  const auto see = Visible::maker(attention);

  auto q_full = attention.mbarrier("q_full");
  auto in_k = attention.ring<stages, KTile>("k");
  auto in_v = attention.ring<stages, VTile>("v");
  const auto scores = attention.tensor_memory<tiles, Scores>("scores");
  const auto sums = attention.tensor_memory<tiles, Sums>("sums");
  const auto tile = [&](int t, const char* scores_full, const char* weights_full, const char* added) {
    const Scores s = scores.at(t);
    return Tile{attention.shared<QTile>(),
                s,
                Probabilities{{s.rec, s.base, s.first}},
                sums.at(t),
                attention.mbarrier(scores_full),
                attention.mbarrier<4>(weights_full),
                attention.mbarrier(added)};
  };
  const std::array in_turn{tile(0, "scores_full_0", "weights_full_0", "added_0"),
                           tile(1, "scores_full_1", "weights_full_1", "added_1")};

  // Causal rows with the most keys begin first.
  const U32 row = (attention.nctaid.x - attention.ctaid.x - 1) * (tiles * rows), head_of_q = attention.ctaid.y;
  const auto visible_to = visible_to_roles<Visible>(batch, see, row);

  attention.role("load", warp<8>, [&](Warp w) {
    const Visible visible = visible_to(w);
    if constexpr (Batch::is_ragged)
      for (int i = 0; i < Batch::operands; ++i) batch.make_map(w, attention.constant(std::uint32_t(i)), visible.of);
    w.elect([&](Thread t) {
      const U32 head_of_k = batch.head_of_k(head_of_q), first = visible.first();
      const HeadMap Q = batch.map(t, of_q), K = batch.map(t, of_k), V = batch.map(t, of_v);
      t.expect_tx(q_full, tiles * QTile::transaction_bytes);
      for (int i = 0; i < tiles; ++i)
        t.tma_load(in_turn[std::size_t(i)].q, Q.at(0, row + i * rows, 0, head_of_q), q_full);
      const auto load_keys = [&](const U32& block) {
        auto k = in_k.acquire(t);
        t.tma_load(k.get<KTile>(), K.at(0, block * keys, 0, head_of_k), k.full);
      };
      load_keys(first);
      t.loop(visible.blocks, [&](U32 j) {
        auto v = in_v.acquire(t);
        t.tma_load(v.get<VTile>(), V.at(0, (first + j) * keys, 0, head_of_k), v.full);
        load_keys(first + j + 1);
      });
    });
  });
  attention.role("multiply", warp<9>.elect(), [&](Thread t) {
    const auto make_scores = [&](const Tile& of, const Slot<KTile>& k) {
      t.mma_tiles<ScoresMma>(of.scores, of.q, k.get<KTile>(), accumulate(false));
      t.commit(of.scores_full);
    };
    const Visible visible = visible_to(t);
    t.wait(q_full, Phase{0});
    const auto first = in_k.wait(t);
    for (const Tile& of : in_turn) make_scores(of, first);
    t.commit(first.empty);
    t.loop(visible.blocks, [&](U32 j) {
      const auto v = in_v.wait(t);
      const auto k = in_k.wait(t);  // of the next block: the scores after the last one are made and not read
      for (const Tile& of : in_turn) {
        t.wait(of.weights_full, Phase(j & 1));
        t.mma_tiles<ValuesMma>(of.sums, of.weights, v.get<VTile>(), accumulate(true));
        t.commit(of.added);
        t.wait(of.added, Phase(j & 1));  // PTX orders no MMA that reads weights before one that writes there
        make_scores(of, k);
      }
      t.commit(v.empty);
      t.commit(k.empty);
    });
  });
  const auto rows_of_o = [&](Warpgroup& g, int t) {
    softmax(g, in_turn[std::size_t(t)], t, batch, visible_to(g), head_of_q);
  };
  attention.role("softmax_0", warpgroup<0>, [&](Warpgroup& g) { rows_of_o(g, 0); });
  attention.role("softmax_1", warpgroup<1>, [&](Warpgroup& g) { rows_of_o(g, 1); });
  return attention.build();
}

template <class Visible>
Kernel build_heads(const std::string& name, Target target, const Sizes& sizes) {
  return leaves_log_sums(sizes) ? build<HeadsWithLogSums<Cta>, Visible>(name, target)
                                : build<Heads<Cta>, Visible>(name, target);
}

constexpr auto options = log_sums_options(1), options_of_windows = window_options(1);

}  // namespace

std::span<const SizeOption> attention_in_turn_options() { return options; }
std::span<const SizeOption> attention_window_options() { return options_of_windows; }
std::span<const SizeOption> attention_varlen_options() { return sequences_options; }

Kernel attention_in_turn(Target target, const Sizes& sizes) {
  return build_heads<AllKeys<tiles>>("attention_in_turn", target, sizes);
}
launch::Contract attention_in_turn_problem(const Kernel& kernel, const Sizes& sizes) {
  return heads_problem<Cta, AllKeys<tiles>>(kernel, sizes);
}

Kernel attention_in_turn_causal(Target target, const Sizes& sizes) {
  return build_heads<KeysSoFar<tiles>>("attention_in_turn_causal", target, sizes);
}
launch::Contract attention_in_turn_causal_problem(const Kernel& kernel, const Sizes& sizes) {
  return causal_problem(heads_problem<Cta, KeysSoFar<tiles>>, kernel, sizes);
}

Kernel attention_window(Target target, const Sizes&) {
  return build<Heads<Cta>, LastKeys<tiles>>("attention_window", target);
}
launch::Contract attention_window_problem(const Kernel& kernel, const Sizes& sizes) {
  return window_problem<Cta, LastKeys<tiles>>(kernel, sizes);
}

Kernel attention_varlen(Target target, const Sizes& sizes) {
  if (sequences_are_causal(sizes)) return build<Sequences<Cta>, LastKeys<tiles>>("attention_varlen", target);
  return build<Sequences<Cta>, AllKeys<tiles>>("attention_varlen", target);
}
launch::Contract attention_varlen_problem(const Kernel& kernel, const Sizes& sizes) {
  return varlen_problem<Cta, AllKeys<tiles>, LastKeys<tiles>>(kernel, sizes);
}

}  // namespace kiln::kernels
