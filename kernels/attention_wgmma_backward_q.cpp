// The first kernel of the backward pass: dQ, and of each row of Q what the second kernel needs.
#include <numbers>

#include "kernels/attention_wgmma_backward.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_wgmma;

namespace {

struct QInputs {
  Shared<Tile> q, d_o;
  Mbarrier full;
  Ring<backward_stages, Tile> k, v;

  explicit QInputs(KernelBuilder& b)
      : q(b.shared<Tile>()),
        d_o(b.shared<Tile>()),
        full(b.mbarrier("rows_full")),
        k(b.ring<backward_stages, Tile>("k")),
        v(b.ring<backward_stages, Tile>("v")) {}
};

// This lane's rows, two, and what is known of them before any score is.
struct LaneRows {
  std::vector<F32> log_sums{}, dots{};
};

// The lanes of a row read a quarter of it each. What the second kernel needs is left in memory, for each of the rows
// that this CTA could have.
template <class Given>
LaneRows lane_rows(Warpgroups<groups>& g, WarpgroupMma& mma, const Given& given, const U32& row, const U32& in_tile,
                   const U32& of_head, const U32& places) {
  constexpr int quarter = head / 4;
  LaneRows all;
  const U32 m = given["m"_arg], lane = g.lane() & 3;
  for (int r = 0; r < rows_of_lane; ++r) {
    const U32 mine = row + in_tile + 8 * r, index = of_head * m + mine;
    const Pred there = mine < m;
    const U64 element = multiply_wide(index, head) + widen(lane * quarter);
    const U32 count = select(there, quarter, 0);
    const auto o = widen(g.load_global<bf16, quarter>(given["O"_arg].at(element), count));
    const auto d_o = widen(g.load_global<bf16, quarter>(given["dO"_arg].at(element), count));
    std::vector<F32> products;
    for (int i = 0; i < quarter; ++i) products.push_back(o[i] * d_o[i]);
    all.dots.push_back(mma.row_reduce<RedOp::add>(combined(products, plus)));
    const F32 log_sum = g.ld_global<f32>(given["log_sums"_arg].at(widen(index)), there, 0.0f);
    all.log_sums.push_back(select(there, log_sum * std::numbers::log2e_v<float>, float(launch::no_row)));
    const U64 place = given["row_terms"_arg].at(multiply_wide(of_head * places + mine, terms));
    g.when(lane == 0, [&] {
      g.st_global(place, all.log_sums.back());
      g.st_global(place + 4, all.dots.back());
    });
  }
  return all;
}

// A warpgroup's 64 rows of dQ.
template <class Seen>
class GradientOfRows {
 public:
  GradientOfRows(Warpgroups<groups>& g, WarpgroupMma& mma, const QInputs& in, LaneRows rows, const Seen& seen)
      : g_(g), mma_(mma), in_(in), rows_(std::move(rows)), seen_(seen) {
    clear(sums_);
  }

  // Adds a block of keys, which some row does not see whole if it is `cut`.
  void step(bool cut, const U32& block) {
    const auto k = in_.k.wait(g_), v = in_.v.wait(g_);
    for (int first = 0; first < keys; first += block_keys) {
      const auto some_keys = k.template get<Tile>().template rows<block_keys>(first);
      mma_.fence();
      mma_.multiply(scores_, in_.q.template rows<64>(g_.group() * 64), some_keys, accumulate(false));
      mma_.commit();
      mma_.multiply(products_, in_.d_o.template rows<64>(g_.group() * 64),
                    v.template get<Tile>().template rows<block_keys>(first), accumulate(false));
      mma_.commit();
      mma_.wait(1);
      const std::vector<F32> weights = weights_of(cut, block, first);
      mma_.wait(0);
      std::vector<F32> gradients;
      for (int i = 0; i < Scores::elements; ++i)
        gradients.push_back(weights[std::size_t(i)] * (products_[i] - rows_.dots[std::size_t(row_of(i))]));
      keep(a_, gradients);
      mma_.fence();
      mma_.multiply(sums_, a_, some_keys.transposed(), accumulate(true));
      mma_.commit();
    }
    mma_.release(v);
    mma_.wait(0);
    mma_.release(k);
  }
  F32 value(int i) const { return sums_[i] * scale; }

 private:
  std::vector<F32> weights_of(bool cut, const U32& block, int first) {
    std::vector<F32> out;
    const auto sees = seen_.in(block);
    for (int i = 0; i < Scores::elements; ++i) {
      const auto score = [&]() -> F32 {
        if (!cut) return scores_[i];
        return select(sees(row_of(i), first + Scores::Place::at(0, i).column), scores_[i], unseen_score);
      }();
      out.push_back(ex2_approx_ftz(fma(score, exponent_scale, -rows_.log_sums[std::size_t(row_of(i))])));
    }
    return out;
  }

  Warpgroups<groups>& g_;
  WarpgroupMma& mma_;
  QInputs in_;
  LaneRows rows_;
  Seen seen_;
  Scores scores_ = mma_.sums<block_keys>(), products_ = mma_.sums<block_keys>();
  WgmmaA<bf16, block_keys> a_ = mma_.a<bf16, block_keys>();
  Gradient sums_ = mma_.sums<head>();
};

template <class Visible>
Kernel build(Target target) {
  KernelBuilder attention("attention_wgmma_backward_q", target, warps<4 * (groups + 1)>);
  attention.minnctapersm(1);
  const auto given = declare(attention, q_list<Map>);
  QInputs in(attention);
  // Causal rows with the most keys begin first.
  const U32 row = (attention.nctaid.x - attention.ctaid.x - 1) * rows, of_head = attention.ctaid.y;
  const U32 places = attention.nctaid.x * rows;
  const Visible visible{{given["m"_arg], given["n"_arg], row}};

  attention.role("gradient", warpgroups<0, groups>, [&](Warpgroups<groups>& g) {
    take_registers<240>(g);
    WarpgroupMma mma(g);
    const U32 first = g.group() * 64 + (g.warp_index() & 3) * 16;
    const U32 in_tile = first + Scores::Place::row(g.lane(), 0);
    LaneRows of_lane = lane_rows(g, mma, given, row, in_tile, of_head, places);
    GradientOfRows<typename Visible::Seen> mine(g, mma, in, std::move(of_lane),
                                                visible.seen(in_tile, Scores::Place::column(g.lane(), 0)));
    g.wait(in.full, Phase{0});
    mine.step(true, visible.last());
    visible.others(g, [&](bool cut, const U32& block) { mine.step(cut, block); });
    stage(g, in.q, first, [&](int i) { return mine.value(i); });
    store_staged(
        g, in.q, first, [&](Thread&) { return given["dQ"_arg]; }, row, of_head);
  });
  attention.role("load", warpgroup<groups>, [&](Warpgroup& g) {
    g.setmaxnreg_dec<24>();
    g.elect([&](Thread t) {
      const U32 of_head_of_k = of_head / given["sharing"_arg];
      t.expect_tx(in.full, 2 * Tile::transaction_bytes);
      t.tma_load(in.q, given["Q"_arg].at(0, row, 0, of_head), in.full);
      t.tma_load(in.d_o, given["dO_rows"_arg].at(0, row, 0, of_head), in.full);
      const auto load = [&](const U32& block) {
        auto k = in.k.acquire(t);
        t.tma_load(k.template get<Tile>(), given["K"_arg].at(0, block * keys, 0, of_head_of_k), k.full);
        auto v = in.v.acquire(t);
        t.tma_load(v.template get<Tile>(), given["V"_arg].at(0, block * keys, 0, of_head_of_k), v.full);
      };
      load(visible.last());
      visible.others(t, [&](bool, const U32& block) { load(block); });
    });
  });
  return attention.build();
}

}  // namespace

std::span<const SizeOption> attention_wgmma_backward_options() { return backward_options; }

Kernel attention_wgmma_backward_q(Target target, const Sizes& sizes) {
  return is_causal(sizes) ? build<KeysSoFar>(target) : build<AllKeys>(target);
}
launch::Contract attention_wgmma_backward_q_problem(const Kernel& kernel, const Sizes& sizes) {
  return as_causal(q_problem<Map, store_rows>, kernel, sizes);
}

}  // namespace kiln::kernels
