// Attention by wgmma, for the kernels of Hopper alone: a warpgroup has 64 rows of Q and keeps everything in registers,
// the scores of a block of keys, what the keys weigh, and the weighted sum of values, which is scaled whenever a
// greater score is found. While the softmax of a block is computed the tensor core multiplies the values of the block
// before. Blocks go from the last key to the first.
#pragma once

#include <optional>
#include <vector>

#include "dsl/dsl.hpp"
#include "dsl/warpgroup_mma.hpp"
#include "kernels/attention_heads.hpp"

namespace kiln::kernels::by_wgmma {

using namespace kiln::dsl;
using namespace heads;

// What a lane has of a block: elements of two rows, 8 apart. Which of them an element is of.
constexpr int rows_of_lane = 2;
constexpr int row_of(int element) { return element / 2 % rows_of_lane; }

inline std::vector<F32> of_row(const std::vector<F32>& all, int row) {
  std::vector<F32> out;
  for (int i = 0; i < int(all.size()); ++i)
    if (row_of(i) == row) out.push_back(all[std::size_t(i)]);
  return out;
}

// A warpgroup's softmax of its 64 rows, block by block.
class Softmax {
 public:
  Softmax(Warpgroup& g, WarpgroupMma& mma) : mma_(&mma), greatest_(g.vars<2>(least_score)), total_(g.vars<2>(0.0f)) {}

  // What each key of a block weighs, given its scores. `factor` is what older sums are to be scaled by.
  std::vector<F32> weights(const std::vector<F32>& scores, std::vector<F32>& factor) {
    std::vector<F32> offset;
    for (int r = 0; r < rows_of_lane; ++r) {
      const F32 before = greatest_[r];
      const F32 now = mma_->row_reduce<RedOp::max>(max(before, combined(of_row(scores, r), greater)));
      factor.push_back(ex2_approx_ftz((before - now) * exponent_scale));
      offset.push_back(now * -exponent_scale);
      greatest_[r] = now;
    }
    std::vector<F32> weights;
    for (int i = 0; i < int(scores.size()); ++i)
      weights.push_back(ex2_approx_ftz(fma(scores[std::size_t(i)], exponent_scale, offset[std::size_t(row_of(i))])));
    for (int r = 0; r < rows_of_lane; ++r)
      total_[r] = fma(total_[r], factor[std::size_t(r)], combined(of_row(weights, r), plus));
    return weights;
  }
  F32 greatest(int r) const { return greatest_[r]; }
  // What all keys weigh.
  F32 total(int r) { return mma_->row_reduce<RedOp::add>(total_[r]); }

 private:
  WarpgroupMma* mma_;
  Vars<F32, 2> greatest_, total_;  // total: of this lane's keys
};

// A warpgroup with its rows of Q, of a role of `groups`: scores, weights and the sum of values, all in registers. Seen
// says which keys of a block a row sees: seen.in(block)(r, column) of this lane's row r and a column that is counted
// from the lane's first one.
template <int groups, int stages, class Seen>
class Rows {
 public:
  using Scores = WgmmaSums<keys>;
  using Values = WgmmaSums<head>;

  // `see`: makes Seen, given this lane's first row of the tile and its first column.
  template <class See>
  Rows(Warpgroups<groups>& g, const Inputs<64 * groups, stages>& in, const See& see)
      : g_(g),
        mma_(g),
        softmax_(g, mma_),
        in_(in),
        first_(g.group() * 64 + (g.warp_index() & 3) * 16),
        row_(first_ + Scores::Place::row(g.lane(), 0)),
        seen_(see(row_, Scores::Place::column(g.lane(), 0))) {
    for (int i = 0; i < values_.elements; ++i) values_.set(i, 0.0f);
  }

  // This warp's first row of the tile, and this lane's: it has that and the eighth after it.
  const U32& first() const { return first_; }
  const U32& row() const { return row_; }

  // The first block's weights.
  void begin(const U32& block) {
    g_.wait(in_.q_full, Phase{0});
    const auto k = multiply_keys();
    mma_.wait(0);
    mma_.release(k);
    std::vector<F32> factor;
    keep(softmax_.weights(scores(true, block), factor));
  }
  // A block's weights, and the values of the block before, whose weights are known. `cut`: some row does not see it
  // all.
  void step(bool cut, const U32& block) {
    step([&] { return scores(cut, block); });
  }
  void step(const Pred& cut, const U32& block) {
    step([&] {
      g_.when(cut, [&] {
        const std::vector<F32> seen = scores(true, block);
        for (int i = 0; i < scores_.elements; ++i) scores_.set(i, seen[std::size_t(i)]);
      });
      return scores(false, block);
    });
  }
  // The last block's values.
  void end() {
    const auto v = add_values();
    mma_.wait(0);
    mma_.release(v);
  }

  // After that, of this lane's row r: the sums of values, the greatest score, and what all keys weigh.
  F32 value(int i) const { return values_[i]; }
  F32 greatest(int r) const { return softmax_.greatest(r); }
  F32 total(int r) { return softmax_.total(r); }

 private:
  template <class ScoresOf>
  void step(const ScoresOf& scores_of) {
    const auto k = multiply_keys();
    const auto v = add_values();
    mma_.wait(1);
    mma_.release(k);
    std::vector<F32> factor;
    const std::vector<F32> weights = softmax_.weights(scores_of(), factor);
    mma_.wait(0);
    mma_.release(v);
    keep(weights);
    for (int i = 0; i < values_.elements; ++i) values_.set(i, values_[i] * factor[std::size_t(row_of(i))]);
  }
  Slot<KTile> multiply_keys() {
    auto k = in_.k.wait(g_);
    mma_.fence();
    mma_.multiply(scores_, in_.q.template rows<64>(g_.group() * 64), k.template get<KTile>(), accumulate(false));
    mma_.commit();
    return k;
  }
  Slot<VTile> add_values() {
    auto v = in_.v.wait(g_);
    mma_.fence();
    mma_.multiply(values_, weights_, v.template get<VTile>(), accumulate(true));
    mma_.commit();
    return v;
  }
  // Those of a block; of keys that a row does not see, unseen_score.
  std::vector<F32> scores(bool cut, const U32& block) {
    std::vector<F32> out;
    if (!cut) {
      for (int i = 0; i < scores_.elements; ++i) out.push_back(scores_[i]);
      return out;
    }
    const auto sees = seen_.in(block);
    for (int i = 0; i < scores_.elements; ++i) {
      const F32 score = scores_[i];
      out.push_back(select(sees(row_of(i), Scores::Place::at(0, i).column), score, unseen_score));
    }
    return out;
  }
  void keep(const std::vector<F32>& weights) {
    weights_.set(make_registers<Scores::elements>([&](int i) { return weights[std::size_t(i)]; }));
  }

  Warpgroups<groups>& g_;
  WarpgroupMma mma_;
  Softmax softmax_;
  Inputs<64 * groups, stages> in_;
  U32 first_, row_;
  Scores scores_ = mma_.sums<keys>();
  Values values_ = mma_.sums<head>();
  WgmmaA<bf16, keys> weights_ = mma_.a<bf16, keys>();
  Seen seen_;
};

}  // namespace kiln::kernels::by_wgmma
