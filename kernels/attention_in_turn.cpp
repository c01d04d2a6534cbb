// Attention as in kernels/attention.cpp, of two tiles of rows in turn: while one warpgroup makes weights of the scores
// of its tile, the tensor core multiplies for the other. A CTA has 256 rows. Weights lie where their scores lay, so
// that scores and sums of both tiles fill tensor memory: the next scores of a tile come after its weights were
// multiplied, and when they are there, nothing but its warpgroup touches the tile's tensor memory.
#include <array>

#include "kernels/attention.hpp"
#include "kernels/attention_keys.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int rows = attention_rows, keys = attention_keys, head = attention_head, stages = 2, tiles = 2;
constexpr int part = 32;  // columns that are loaded at a time where time does not count
// Sums are scaled when a score's exponent exceeds what exponents are less by so much in some row of a warp. Until then
// weights are greater than 1, at most 2^growth, which costs no precision.
constexpr float growth = 8, no_score = 1e37f;

using QTile = SharedTile<bf16, rows, head, K_major, swizzle_128B>;
using KTile = SharedTile<bf16, keys, head, K_major, swizzle_128B>;
using VTile = SharedTile<bf16, head, keys, MN_major, swizzle_128B>;  // as memory has it: a row for each key
using ScoresMma = tcgen05_mma<kind_f16, bf16, bf16, f32, rows, keys>;
using ValuesMma = tcgen05_mma<kind_f16, bf16, bf16, f32, rows, head>;
using Scores = ScoresMma::Accumulator;
using Sums = ValuesMma::Accumulator;
using Probabilities = TmemA<bf16, rows, keys>;

// Rows of O that a tile's are.
struct RowsOfHead {
  Pointer<bf16> o;
  U32 head, m, row;
};

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

// Has keys that a row does not see weigh nothing.
void leave_out(Warpgroup& g, const Scores& scores, const U32& keys_left) {
  for (int c = 0; c < keys; c += part) {
    const auto loaded = g.wait(g.load(scores.columns<part>(c)));
    g.store(scores.columns<part>(c),
            make_registers<part>([&](int i) { return select(keys_left > c + i, loaded[i], unseen_score); }));
  }
  g.tcgen05_wait_st();
}

template <class Seen>
void softmax(Warpgroup& g, const Tile& tile, const Seen& visible, const U32& blocks, const RowsOfHead& out) {
  // What exponents are less by: a score not much less than the greatest so far, as an exponent.
  auto offset = g.var(no_score), total = g.var(0.0f);
  const F32 zero = total;
  for (int c = 0; c < head; c += part)
    g.store(tile.sums.columns<part>(c), make_registers<part>([&](int) { return zero; }));
  g.tcgen05_wait_st();
  g.loop(blocks, [&](U32 j) {
    g.wait(tile.scores_full, Phase(j & 1));
    const U32 keys_left = visible.left(g, j);
    g.when(visible.cuts(j), [&] { leave_out(g, tile.scores, keys_left); });
    const auto scores = g.wait(g.load(tile.scores));
    const F32 before = offset, least = min(before, combined(scores, greater) * -exponent_scale);
    const Pred grows = g.vote_sync_any(before - least > growth);
    const F32 now = select(grows, least, before), factor = ex2_approx_ftz(now - before);
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
  const F32 inverse = rcp_approx_ftz(total);
  const U32 row = out.row + g.row(), left = select(row < out.m, head, 0);
  const U64 address = out.o.at(multiply_wide(out.head * out.m + row, head));
  for (int c = 0; c < head; c += part) {
    const auto sums = g.wait(g.load(tile.sums.columns<part>(c)));
    g.store_global(address, cvt<bf16>(make_registers<part>([&](int i) { return sums[i] * inverse; })), left, c);
  }
}

// `seen`: as in kernels/attention.cpp.
template <class Seen>
Kernel build(const std::string& name, Target target, const Seen& seen) {
  KernelBuilder attention(name, target, warps<10>);
  attention.minnctapersm(1);
  const auto given = declare(attention, attention_list);
  const U32 m = given["m"_arg], n = given["n"_arg];

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
  const auto visible = seen(row, m, n, given["blocks"_arg]);
  const U32 blocks = visible.blocks;

  attention.role("load", warp<8>.elect(), [&](Thread t) {
    const U32 head_of_k = head_of_q / given["sharing"_arg];
    t.expect_tx(q_full, tiles * QTile::transaction_bytes);
    for (int i = 0; i < tiles; ++i)
      t.tma_load(in_turn[std::size_t(i)].q, given["Q"_arg].at(0, row + i * rows, 0, head_of_q), q_full);
    const auto load_keys = [&](const U32& block) {
      auto k = in_k.acquire(t);
      t.tma_load(k.get<KTile>(), given["K"_arg].at(0, block * keys, 0, head_of_k), k.full);
    };
    load_keys(attention.constant(0));
    t.loop(blocks, [&](U32 j) {
      auto v = in_v.acquire(t);
      t.tma_load(v.get<VTile>(), given["V"_arg].at(0, j * keys, 0, head_of_k), v.full);
      load_keys(j + 1);
    });
  });
  attention.role("multiply", warp<9>.elect(), [&](Thread t) {
    const auto make_scores = [&](const Tile& of, const Slot<KTile>& k) {
      t.mma_tiles<ScoresMma>(of.scores, of.q, k.get<KTile>(), accumulate(false));
      t.commit(of.scores_full);
    };
    t.wait(q_full, Phase{0});
    const auto first = in_k.wait(t);
    for (const Tile& of : in_turn) make_scores(of, first);
    t.commit(first.empty);
    t.loop(blocks, [&](U32 j) {
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
  const auto rows_of = [&](int t) { return RowsOfHead{given["O"_arg], head_of_q, m, row + t * rows}; };
  attention.role("softmax_0", warpgroup<0>,
                 [&](Warpgroup& g) { softmax(g, in_turn[0], visible.of_tile(0), blocks, rows_of(0)); });
  attention.role("softmax_1", warpgroup<1>,
                 [&](Warpgroup& g) { softmax(g, in_turn[1], visible.of_tile(1), blocks, rows_of(1)); });
  return attention.build();
}

launch::Contract problem(const Kernel& kernel, const Sizes& sizes) {
  return attention_of_tiles(kernel, sizes, tiles * rows);
}

}  // namespace

Kernel attention_in_turn(Target target, const Sizes&) {
  return build("attention_in_turn", target, [](const U32&, const U32&, const U32& n, const U32& blocks) {
    return AllKeys{n, blocks};
  });
}
launch::Contract attention_in_turn_problem(const Kernel& kernel, const Sizes& sizes) { return problem(kernel, sizes); }

Kernel attention_in_turn_causal(Target target, const Sizes&) {
  return build("attention_in_turn_causal", target, [](const U32& row, const U32& m, const U32& n, const U32& blocks) {
    return KeysSoFar(row, m, n, blocks, tiles);
  });
}
launch::Contract attention_in_turn_causal_problem(const Kernel& kernel, const Sizes& sizes) {
  return causal_problem(problem, kernel, sizes);
}

}  // namespace kiln::kernels
