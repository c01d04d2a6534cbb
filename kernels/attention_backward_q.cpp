// The first kernel of the backward pass by tcgen05: dQ, and of each row of Q what the second kernel needs. Two
// warpgroups have a row each thread and half of a block's keys each. Scores have two places, so that the next block's
// are there when gradients of this one are made; S lies where scores lay, the A of the product with K. With one place
// of dO * V^T and the sums they fill tensor memory.
#include <array>

#include "kernels/attention_backward.hpp"
#include "kernels/attention_keys.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_tcgen05;
using namespace backward;

namespace {

constexpr int turns = 2, groups = 2, k_stages = 3, v_stages = 2, half = head / groups;
static_assert(head == keys);

using Out = Pointer<bf16>;
using Gradients = TmemA<bf16, rows, half>;

// What the roles share of every second block: scores, and what is there. MMAs that read S end before the next scores
// are written there.
struct Turn {
  Scores scores;
  Mbarrier scores_full;
  Mbarrier gradients_full;  // an arrival of each warp, which has read products
  Mbarrier added;

  // Of half of the keys, in the place of their scores.
  Gradients gradients(int which) const { return {{scores.rec, scores.base, scores.first + half * which}}; }
};

// A thread's row, and what is known of it before any score is.
struct Row {
  F32 offset, dot;  // offset: less the log_sum, of the exponent of two
};
template <class Given>
Row row_of(Warpgroup& g, const Given& given, const U32& row, const U32& of_head, const U32& places, bool leaves) {
  const U32 m = given["m"_arg], mine = row + g.row(), index = of_head * m + mine;
  const Pred there = mine < m;
  const U64 element = multiply_wide(index, head);
  auto sum = g.var(0.0f);
  for (int c = 0; c < head; c += part) {
    const U32 count = select(there, part, 0);
    const int bytes = c * (bf16::bits / 8);
    const auto o = widen(g.load_global<bf16, part>(given["O"_arg].at(element) + bytes, count));
    const auto d_o = widen(g.load_global<bf16, part>(given["dO"_arg].at(element) + bytes, count));
    sum += combined(make_registers<part>([&](int i) { return o[i] * d_o[i]; }), plus);
  }
  const F32 dot = sum, log_sum = g.ld_global<f32>(given["log_sums"_arg].at(widen(index)), there, 0.0f);
  const F32 log2 = select(there, log_sum * std::numbers::log2e_v<float>, float(launch::no_row));
  if (leaves) {
    const U64 place = given["row_terms"_arg].at(multiply_wide(of_head * places + mine, terms));
    g.st_global(place, log2);
    g.st_global(place + 4, dot);
  }
  return {-log2, dot};
}

// The gradients of a block, of this warpgroup's half of the keys.
template <class Visible>
void make_gradients(Warpgroup& g, const Turn& turn, int which, const Scores& products, const Mbarrier& products_full,
                    const Phase& of_scores, const Phase& of_products, const Visible& visible, const U32& block,
                    const Row& row) {
  const int first = half * which;
  const auto own_scores = turn.scores.template columns<half>(first);
  g.wait(turn.scores_full, of_scores);
  g.when(visible.cuts(0, block), [&] { leave_out(g, own_scores, visible.sees(g, 0, block), first); });
  const auto scores = g.wait(g.load(own_scores));
  const auto weights =
      make_registers<half>([&](int k) { return ex2_approx_ftz(fma(scores[k], exponent_scale, row.offset)); });
  g.wait(products_full, of_products);
  const auto of_block = g.wait(g.load(products.template columns<half>(first)));
  g.store(turn.gradients(which),
          cvt<bf16>(make_registers<half>([&](int k) { return weights[k] * (of_block[k] - row.dot); })));
  g.tcgen05_wait_st();
  g.arrive_by_warp(turn.gradients_full);
}

template <class Visible>
Kernel build(Target target) {
  KernelBuilder attention("attention_backward_q", target, warps<11>);
  attention.minnctapersm(1);
  const auto given = declare(attention, q_list<Out>);
  const auto q = attention.shared<QTile>(), d_o = attention.shared<QTile>();
  auto rows_full = attention.mbarrier("rows_full");
  auto in_k = attention.ring<k_stages, KTile>("k");
  auto in_v = attention.ring<v_stages, KTile>("v");
  const auto scores = attention.tensor_memory<turns, Scores>("scores");
  const auto products = attention.accumulator<ScoresMma>("products");
  auto products_full = attention.mbarrier("products_full");
  const auto sums = attention.accumulator<ValuesMma>("sums");
  const auto turn = [&](int t) {
    const auto named = [&](const char* name) { return name + std::to_string(t); };
    return Turn{scores.at(t), attention.mbarrier(named("scores_full_")),
                attention.mbarrier<4 * groups>(named("gradients_full_")), attention.mbarrier(named("added_"))};
  };
  const std::array in_turn{turn(0), turn(1)};

  // Causal rows with the most keys begin first.
  const U32 row = (attention.nctaid.x - attention.ctaid.x - 1) * rows, of_head = attention.ctaid.y;
  const U32 places = attention.nctaid.x * rows, m = given["m"_arg];
  const Visible visible = Visible::maker(attention)(Extents{m, given["n"_arg], row});
  // After an odd number of blocks the last turn has one more, of keys that no row sees.
  const U32 all_turns = (visible.blocks + (turns - 1)) / turns;

  attention.role("load", warp<8>.elect(), [&](Thread t) {
    const U32 of_head_of_k = of_head / given["sharing"_arg];
    t.expect_tx(rows_full, 2 * QTile::transaction_bytes);
    t.tma_load(q, given["Q"_arg].at(0, row, 0, of_head), rows_full);
    t.tma_load(d_o, given["dO_rows"_arg].at(0, row, 0, of_head), rows_full);
    t.loop(all_turns, [&](U32 i) {
      for (int which = 0; which < turns; ++which) {
        const U32 key = (i * turns + which) * keys;
        auto k = in_k.acquire(t);
        t.tma_load(k.get<KTile>(), given["K"_arg].at(0, key, 0, of_head_of_k), k.full);
        auto v = in_v.acquire(t);
        t.tma_load(v.get<KTile>(), given["V"_arg].at(0, key, 0, of_head_of_k), v.full);
      }
    });
  });
  attention.role("products", warp<9>.elect(), [&](Thread t) {
    t.wait(rows_full, Phase{0});
    t.loop(all_turns, [&](U32 i) {
      for (int which = 0; which < turns; ++which) {
        const Turn& own = in_turn[std::size_t(which)];
        const auto k = in_k.wait(t);
        t.wait(own.added, Phase((i + 1) & 1));
        t.mma_tiles<ScoresMma>(own.scores, q, k.template get<KTile>(), accumulate(false));
        t.commit(k.empty);
        t.commit(own.scores_full);
        const auto v = in_v.wait(t);
        // The block before has read its products.
        if (which == 0)
          t.wait(in_turn[1].gradients_full, Phase((i + 1) & 1));
        else
          t.wait(in_turn[0].gradients_full, Phase(i & 1));
        t.mma_tiles<ScoresMma>(products, d_o, v.template get<KTile>(), accumulate(false));
        t.commit(v.empty);
        t.commit(products_full);
      }
    });
  });
  attention.role("sums", warp<10>.elect(), [&](Thread t) {
    t.loop(all_turns, [&](U32 i) {
      for (int which = 0; which < turns; ++which) {
        const Turn& own = in_turn[std::size_t(which)];
        const auto k = in_k.wait(t);
        t.wait(own.gradients_full, Phase(i & 1));
        for (int of = 0; of < groups; ++of) {
          const auto some_keys = k.template get<KTile>().template rows<half>(half * of).transposed();
          if (which == 0 && of == 0)
            t.mma_tiles<ValuesMma>(sums, own.gradients(of), some_keys, accumulate(i != 0));
          else
            t.mma_tiles<ValuesMma>(sums, own.gradients(of), some_keys, accumulate(true));
        }
        t.commit(k.empty);
        t.commit(own.added);
      }
    });
  });
  const auto gradient = [&](Warpgroup& g, int t) {
    const Row mine = row_of(g, given, row, of_head, places, t == 0);
    g.loop(all_turns, [&](U32 i) {
      for (int which = 0; which < turns; ++which)
        make_gradients(g, in_turn[std::size_t(which)], t, products, products_full, Phase(i & 1), Phase(which), visible,
                       i * turns + which, mine);
    });
    for (const Turn& each : in_turn) g.wait(each.added, Phase((all_turns + 1) & 1));
    const U32 my_row = row + g.row(), left = select(my_row < m, half, 0);
    const U64 address = given["dQ"_arg].at(multiply_wide(of_head * m + my_row, head)) + half * t * (bf16::bits / 8);
    for (int c = 0; c < half; c += part) {
      const auto loaded = g.wait(g.load(sums.columns<part>(half * t + c)));
      g.store_global(address, cvt<bf16>(make_registers<part>([&](int i) { return loaded[i] * scale; })), left, c);
    }
  };
  attention.role("gradient_0", warpgroup<0>, [&](Warpgroup& g) { gradient(g, 0); });
  attention.role("gradient_1", warpgroup<1>, [&](Warpgroup& g) { gradient(g, 1); });
  return attention.build();
}

}  // namespace

std::span<const SizeOption> attention_backward_options() { return backward_options; }

Kernel attention_backward_q(Target target, const Sizes& sizes) {
  return is_causal(sizes) ? build<KeysSoFar<1>>(target) : build<AllKeys<1>>(target);
}
launch::Contract attention_backward_q_problem(const Kernel& kernel, const Sizes& sizes) {
  return as_causal(q_problem<Out, 0>, kernel, sizes);
}

}  // namespace kiln::kernels
