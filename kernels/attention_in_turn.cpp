// Attention as in kernels/attention.cpp, of two tiles of rows in turn: while one warpgroup makes weights of the scores
// of its tile, the tensor core multiplies for the other. A CTA has 256 rows. Weights lie where their scores lay, so
// that scores and sums of both tiles fill tensor memory: the next scores of a tile come after its weights were
// multiplied, and when they are there, nothing but its warpgroup touches the tile's tensor memory. Rows are those of
// heads of one length, or of sequences of any lengths (attention_heads.hpp).
#include <array>

#include "dsl/warpgroup_mma.hpp"
#include "kernels/attention_keys.hpp"
#include "kernels/by_hand.hpp"
#include "kernels/exponents.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_tcgen05;

namespace {

constexpr int stages = 2, tiles = 2;
// Of a thread: together what three warpgroups have at entry.
constexpr int registers_of_softmax = 208, registers_of_others = 88;
constexpr int few = 8;  // columns of sums that are scaled at a time, beside a row's scores
// Exponents are less by a score that is at most so much, as an exponent, below the greatest so far of its row. Only
// where it would be more are sums scaled; weights are then at most 2^growth, which rounds them no worse.
constexpr float growth = 8;

using Cta = CtaOf<tiles * rows>;

using HalfOfWeights = TmemA<bf16, rows, keys / 2>;

// A tile of rows: its Q, scores, the weights in their place, and sums.
struct Tile {
  Shared<QTile> q;
  Scores scores;
  std::array<HalfOfWeights, 2> weights;
  Sums sums;
  Mbarrier scores_full;                  // and the sums have all values before them
  std::array<Mbarrier, 2> weights_full;  // of each half; an arrival of each warp
  Mbarrier added;                        // a block's values are in the sums
};

// Whether the tensor core begins with half of the weights. For sequences ptxas 13.5 has no uniform registers left on
// sm_107 for two more mbarriers, and spills.
template <class Batch>
constexpr bool in_halves = !Batch::is_ragged;

// Which pairs of weights are polynomials: two of eight. ptxas spills for some other choices.
constexpr bool is_polynomial(int pair) { return pair % 8 == 3 || pair % 8 == 6; }

// What half of a block's keys weigh, and their sum.
struct Weights {
  std::vector<BF16x2> pairs{};
  F32 sum;
};

// 2^(a score as an exponent + offset). ex2 has one unit a scheduler, which takes an instruction each eight cycles: some
// of the powers are polynomials.
Weights weigh(Warpgroup& g, const Registers<f32, keys>& scores, int half, const F32& offset, const F32x2& scale,
              const ExponentsByFma& power) {
  const F32x2 offsets = pack<F32x2>(offset, offset);
  std::vector<BF16x2> pairs;
  std::vector<F32x2> sums;  // of every fourth pair, so that no addition waits for the one before it
  for (int pair = 0; pair < keys / 4; ++pair) {
    const int i = half * keys / 2 + 2 * pair;
    const auto x = unpack(fma(pack<F32x2>(scores[i], scores[i + 1]), scale, offsets));
    const F32x2 weights =
        is_polynomial(pair) ? power(g, x[0], x[1]) : pack<F32x2>(ex2_approx_ftz(x[0]), ex2_approx_ftz(x[1]));
    sums.push_back(pair < 4 ? weights : sums[sums.size() - 4] + weights);
    const auto w = unpack(weights);
    pairs.push_back(pack<BF16x2>(w[0], w[1]));
  }
  const auto last = sums.end() - 4;
  const auto sum = unpack((last[0] + last[1]) + (last[2] + last[3]));
  return {std::move(pairs), sum[0] + sum[1]};
}

// A tile's rows of O, and what is left of each row beside it.
template <class Batch, class Visible>
void softmax(Warpgroup& g, const Tile& tile, int number, const Batch& batch, const Visible& visible,
             const U32& of_head) {
  const U32 blocks = visible.blocks, first = visible.first();
  auto offset = g.var(-least_score), total = g.var(0.0f);
  const F32 zero = total, factor_of_scores = g.var(exponent_scale);
  const F32x2 scale = pack<F32x2>(factor_of_scores, factor_of_scores);
  const ExponentsByFma power(g);
  auto pairs = g.vars<keys / 4>(pack<BF16x2>(zero, zero));
  for (int c = 0; c < head; c += part)
    g.store(tile.sums.columns<part>(c), make_registers<part>([&](int) { return zero; }));
  g.tcgen05_wait_st();
  g.loop(blocks, [&](U32 j) {
    g.wait(tile.scores_full, Phase(j & 1));
    const U32 block = first + j;
    g.when(visible.cuts(number, block), [&] { leave_out(g, tile.scores, visible.sees(g, number, block)); });
    const auto scores = g.wait(g.load(tile.scores));
    const F32 before = offset, so_far = total;
    const auto weights_of = [&](int half, const F32& at) { return weigh(g, scores, half, at, scale, power); };
    const auto keep = [&](const Weights& w, const F32& others) {
      for (int i = 0; i < keys / 4; ++i) pairs[i] = w.pairs[std::size_t(i)];
      total = others + w.sum;
    };
    const auto store = [&](int half) {
      g.store(tile.weights[std::size_t(half)], make_registers<keys / 2>([&](int i) { return pairs[i].read(); }));
      g.tcgen05_wait_st();
      if (half == 1 || in_halves<Batch>) g.arrive_by_warp(tile.weights_full[std::size_t(half)]);
    };
    // Before the greatest score is known the first half is weighed as if none had grown.
    keep(weights_of(0, before), so_far);
    const F32 lowest = min(before, greatest_of(g, scores) * -exponent_scale);
    const Pred grows = g.vote_sync_any(before - lowest > growth);
    g.when(grows, [&] {
      const F32 factor = ex2_approx_ftz(lowest - before);
      for (int c = 0; c < head; c += few) {
        const auto sums = g.wait(g.load(tile.sums.columns<few>(c)));
        g.store(tile.sums.columns<few>(c), make_registers<few>([&](int i) { return sums[i] * factor; }));
      }
      keep(weights_of(0, lowest), so_far * factor);
    });
    offset = select(grows, lowest, before);  // here, so that both ways come together with the same state
    store(0);
    keep(weights_of(1, offset), total);
    store(1);
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
  KernelBuilder attention(name, target, warps<12>);
  attention.minnctapersm(1);
  const Batch batch(attention);
  const auto see = Visible::maker(attention);

  auto q_full = attention.mbarrier("q_full");
  auto in_k = attention.ring<stages, KTile>("k");
  auto in_v = attention.ring<stages, VTile>("v");
  const auto scores = attention.tensor_memory<tiles, Scores>("scores");
  const auto sums = attention.tensor_memory<tiles, Sums>("sums");
  const auto tile = [&](int t, const char* scores_full, const char* half_full, const char* weights_full,
                        const char* added) {
    const Scores s = scores.at(t);
    const auto halves = [&]() -> std::array<Mbarrier, 2> {
      const Mbarrier full = attention.mbarrier<4>(weights_full);
      if constexpr (in_halves<Batch>)
        return {attention.mbarrier<4>(half_full), full};
      else
        return {full, full};
    };
    const auto full = halves();
    return Tile{attention.shared<QTile>(),
                s,
                {HalfOfWeights{{s.rec, s.base, s.first}},
                 HalfOfWeights{{s.rec, s.base, s.first + HalfOfWeights::columns_held}}},
                sums.at(t),
                attention.mbarrier(scores_full),
                full,
                attention.mbarrier(added)};
  };
  const std::array in_turn{tile(0, "scores_full_0", "half_full_0", "weights_full_0", "added_0"),
                           tile(1, "scores_full_1", "half_full_1", "weights_full_1", "added_1")};

  // Causal rows with the most keys begin first.
  const U32 row = (attention.nctaid.x - attention.ctaid.x - 1) * (tiles * rows), head_of_q = attention.ctaid.y;
  const auto visible_to = visible_to_roles<Visible>(batch, see, row);

  const auto rows_of_o = [&](Warpgroup& g, int t) {
    take_registers<registers_of_softmax>(g);
    softmax(g, in_turn[std::size_t(t)], t, batch, visible_to(g), head_of_q);
  };
  attention.role("softmax_0", warpgroup<0>, [&](Warpgroup& g) { rows_of_o(g, 0); });
  attention.role("softmax_1", warpgroup<1>, [&](Warpgroup& g) { rows_of_o(g, 1); });
  attention.role("load", warp<8>, [&](Warp w) {
    w.setmaxnreg_dec<registers_of_others>();
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
  attention.role("multiply", warp<9>, [&](Warp w) {
    w.setmaxnreg_dec<registers_of_others>();
    const Visible visible = visible_to(w);
    w.elect([&](Thread t) {
      const auto make_scores = [&](const Tile& of, const Slot<KTile>& k) {
        t.mma_tiles<ScoresMma>(of.scores, of.q, k.get<KTile>(), accumulate(false));
        t.commit(of.scores_full);
      };
      t.wait(q_full, Phase{0});
      const auto first = in_k.wait(t);
      for (const Tile& of : in_turn) make_scores(of, first);
      t.commit(first.empty);
      t.loop(visible.blocks, [&](U32 j) {
        const auto v = in_v.wait(t);
        const auto k = in_k.wait(t);  // of the next block: the scores after the last one are made and not read
        for (const Tile& of : in_turn) {
          for (int half = 0; half < 2; ++half) {
            if (half == 0 || in_halves<Batch>) t.wait(of.weights_full[std::size_t(half)], Phase(j & 1));
            for (int key = 0; key < keys / 2; key += ValuesMma::K)
              t.mma<ValuesMma>(of.sums, of.weights[std::size_t(half)].k_slice(key),
                               v.get<VTile>().k_slice(half * keys / 2 + key), accumulate(true));
          }
          t.commit(of.added);
          t.wait(of.added, Phase(j & 1));  // PTX orders no MMA that reads weights before one that writes there
          make_scores(of, k);
        }
        t.commit(v.empty);
        t.commit(k.empty);
      });
    });
  });
  attention.role("gives_10", warp<10>, [&](Warp w) { w.setmaxnreg_dec<registers_of_others>(); });
  attention.role("gives_11", warp<11>, [&](Warp w) { w.setmaxnreg_dec<registers_of_others>(); });
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
