// Attention on Hopper: O = softmax(Q * K^T / sqrt(head)) * V for many heads at once. A CTA has 128 rows of Q; two
// warpgroups have 64 of them each (attention_wgmma.hpp), a third one loads the blocks of keys that some row sees.
// Blocks go from the last key to the first, so that those with keys that a row does not see come first. Heads have one
// length, or sequences of any lengths follow one another in them (attention_heads.hpp).
#include "kernels/attention_wgmma_rows.hpp"

#include <array>

#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_wgmma;

namespace {

constexpr int stages = 2;

using In = Inputs<rows, stages>;
using QTile = In::QTile;
using Map = HeadMap;
using Cta = CtaOf<rows, store_rows>;
static_assert(rows == Cta::box_rows && keys == Cta::box_rows);
// The last ones before a row's end: `count` from `begin` on.
struct KeysBetween {
  std::vector<U32> begins{}, counts{};

  auto in(const U32& block) const {
    std::vector<U32> after;  // what lies before the begin is a large number
    for (const U32& begin : begins) after.push_back(block * keys - begin);
    return [after, of = counts](int r, int column) { return after[std::size_t(r)] + column < of[std::size_t(r)]; };
  }
};

// Of these the last ones, as many as the window has.
struct LastKeys : KeysOfWindow {
  using Seen = KeysBetween;

  static auto maker(KernelBuilder& b) {
    return [window = declare(b, parameter_list)["window"_arg]](const Extents& of) { return LastKeys{{of, window}}; };
  }
  U32 last() const { return (of.end(rows - 1) - 1) / keys; }
  U32 first() const { return begin(0) / keys; }
  template <class S, class Step>
  void others(S& scope, Step step) const {
    const U32 block = last(), common_end = of.end(0), common_begin = begin(rows - 1);
    scope.loop(block - first(), [&](U32 i) {
      const U32 at = block - 1 - i, from = at * keys;
      step(from < common_begin || from + keys > common_end, at);
    });
  }
  Seen seen(const U32& row, const U32& column) const {
    Seen seen;
    for (int r = 0; r < rows_of_lane; ++r) {
      seen.begins.push_back(begin(row + 8 * r) - column);
      seen.counts.push_back(count(row + 8 * r));
    }
    return seen;
  }
};

template <class Batch, class Visible>
Kernel build(const std::string& name, Target target) {
  KernelBuilder attention(name, target, warps<4 * (groups + 1)>);
  attention.minnctapersm(1);
  const Batch batch(attention);
  const auto see = Visible::maker(attention);
  In in(attention);

  // Causal rows with the most keys begin first.
  const U32 row = (attention.nctaid.x - attention.ctaid.x - 1) * rows, head_of_q = attention.ctaid.y;
  const auto visible_to = visible_to_roles<Visible>(batch, see, row);

  attention.role("softmax", warpgroups<0, groups>, [&](Warpgroups<groups>& g) {
    take_registers<240>(g);
    const Visible visible = visible_to(g);
    Rows<groups, stages, typename Visible::Seen> mine(
        g, in, [&](const U32& of_tile, const U32& column) { return visible.seen(of_tile, column); });
    mine.begin(visible.last());
    visible.others(g, [&](const auto& cut, const U32& block) { mine.step(cut, block); });
    mine.end();
    std::vector<F32> totals, inverse;
    for (int r = 0; r < rows_of_lane; ++r) {
      totals.push_back(mine.total(r));
      inverse.push_back(rcp_approx_ftz(totals.back()));
    }
    if constexpr (Batch::has_log_sums)
      for (int r = 0; r < rows_of_lane; ++r) {
        const U32 of_head = row + mine.row() + 8 * r;
        const F32 log2 = fma(mine.greatest(r), exponent_scale, lg2_approx_ftz(totals[std::size_t(r)]));
        batch.leave_log_sum(g, visible.of, head_of_q, of_head, log2, of_head < visible.of.m && (g.lane() & 3) == 0);
      }
    // After the last block no warp reads Q, so O leaves through its rows.
    stage(g, in.q, mine.first(), [&](int i) { return mine.value(i) * inverse[std::size_t(row_of(i))]; });
    store_staged(
        g, in.q, mine.first(), [&](Thread& t) { return batch.map(t, of_o); }, row, head_of_q);
  });
  attention.role("load", warpgroup<groups>, [&](Warpgroup& g) {
    g.setmaxnreg_dec<24>();
    const Visible visible = visible_to(g);
    if constexpr (Batch::is_ragged)
      g.each_warp([&](Warp w) { batch.make_map(w, w.warp_index() % Batch::operands, visible.of); });
    g.elect([&](Thread t) {
      const U32 head_of_k = batch.head_of_k(head_of_q);
      const Map Q = batch.map(t, of_q), K = batch.map(t, of_k), V = batch.map(t, of_v);
      t.expect_tx(in.q_full, QTile::transaction_bytes);
      t.tma_load(in.q, Q.at(0, row, 0, head_of_q), in.q_full);
      const auto load_k = [&](const U32& block) {
        auto k = in.k.acquire(t);
        t.tma_load(k.get<KTile>(), K.at(0, block * keys, 0, head_of_k), k.full);
      };
      const auto load_v = [&](const U32& block) {
        auto v = in.v.acquire(t);
        t.tma_load(v.get<VTile>(), V.at(0, block * keys, 0, head_of_k), v.full);
      };
      load_k(visible.last());
      visible.others(t, [&](const auto&, const U32& block) {
        load_k(block);
        load_v(block + 1);
      });
      load_v(visible.first());
    });
  });
  return attention.build();
}

constexpr auto options = log_sums_options(2), options_of_windows = window_options(2);

template <class Visible>
Kernel build_heads(const std::string& name, Target target, const Sizes& sizes) {
  return leaves_log_sums(sizes) ? build<HeadsWithLogSums<Cta>, Visible>(name, target)
                                : build<Heads<Cta>, Visible>(name, target);
}

}  // namespace

std::span<const SizeOption> attention_wgmma_options() { return options; }
std::span<const SizeOption> attention_wgmma_window_options() { return options_of_windows; }
std::span<const SizeOption> attention_wgmma_varlen_options() { return sequences_options; }

Kernel attention_wgmma(Target target, const Sizes& sizes) {
  return build_heads<AllKeys>("attention_wgmma", target, sizes);
}
launch::Contract attention_wgmma_problem(const Kernel& kernel, const Sizes& sizes) {
  return heads_problem<Cta, AllKeys>(kernel, sizes);
}

Kernel attention_wgmma_causal(Target target, const Sizes& sizes) {
  return build_heads<KeysSoFar>("attention_wgmma_causal", target, sizes);
}
launch::Contract attention_wgmma_causal_problem(const Kernel& kernel, const Sizes& sizes) {
  return causal_problem(heads_problem<Cta, KeysSoFar>, kernel, sizes);
}

Kernel attention_wgmma_window(Target target, const Sizes&) {
  return build<Heads<Cta>, LastKeys>("attention_wgmma_window", target);
}
launch::Contract attention_wgmma_window_problem(const Kernel& kernel, const Sizes& sizes) {
  return window_problem<Cta, LastKeys>(kernel, sizes);
}

Kernel attention_wgmma_varlen(Target target, const Sizes& sizes) {
  if (sequences_are_causal(sizes)) return build<Sequences<Cta>, LastKeys>("attention_wgmma_varlen", target);
  return build<Sequences<Cta>, AllKeys>("attention_wgmma_varlen", target);
}
launch::Contract attention_wgmma_varlen_problem(const Kernel& kernel, const Sizes& sizes) {
  return varlen_problem<Cta, AllKeys, LastKeys>(kernel, sizes);
}

}  // namespace kiln::kernels
