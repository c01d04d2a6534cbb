// Attention on Hopper: O = softmax(Q * K^T / sqrt(head)) * V for many heads at once. A CTA has 128 rows of Q; two
// warpgroups have 64 of them each and keep everything in registers: the scores of a block of keys, what the keys weigh,
// and the weighted sum of values, which is scaled whenever a greater score is found. While the softmax of a block is
// computed the tensor core multiplies the values of the block before. Blocks go from the last key to the first, so that
// those with keys that a row does not see come first. A third warpgroup loads.
#include <array>
#include <vector>

#include "dsl/dsl.hpp"
#include "dsl/warpgroup_mma.hpp"
#include "kernels/attention.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int groups = 2, rows = 64 * groups, keys = 128, head = attention_head, stages = 2, span = 64;

using QTile = SharedTile<bf16, rows, head, K_major, swizzle_128B>;
using KTile = SharedTile<bf16, keys, head, K_major, swizzle_128B>;
using VTile = SharedTile<bf16, head, keys, MN_major, swizzle_128B>;  // as memory has it: a row for each key
// Elements of a swizzle span, rows, spans of a row, heads: a box is a tile of one head, and rows after its last are not
// the next head's.
using Map = TensorMapHandle<bf16, 4>;

constexpr auto parameter_list = parameters("Q"_arg.is<Map>(), "K"_arg.is<Map>(), "V"_arg.is<Map>(), "O"_arg.is<Map>(),
                                           "m"_arg.is<u32>(), "n"_arg.is<u32>(), "sharing"_arg.is<u32>());

constexpr float least = -1e37f;  // of the greatest score so far; finite, so that it has a distance to unseen_score

// What a lane has of a block: elements of two rows, 8 apart. Which of them an element is of.
constexpr int rows_of_lane = 2;
constexpr int row_of(int element) { return element / 2 % rows_of_lane; }

std::vector<F32> of_row(const std::vector<F32>& all, int row) {
  std::vector<F32> out;
  for (int i = 0; i < int(all.size()); ++i)
    if (row_of(i) == row) out.push_back(all[std::size_t(i)]);
  return out;
}

// Of a CTA's rows: the last block with keys that some row sees, how many of the blocks before it all rows see whole,
// and how many keys a row sees. Where rows see different keys they do so in two blocks at most.
struct AllKeys {
  static constexpr bool cuts_two = false;
  U32 n;
  U32 last() const { return (n - 1) / keys; }
  U32 whole() const { return last(); }
  U32 end(const U32&) const { return n; }
};
// The rows are the last of as many positions as there are keys, and see none that come later than their own.
struct KeysSoFar {
  static constexpr bool cuts_two = true;
  static_assert(keys >= rows);
  U32 n, before, row;  // the CTA's first row sees the keys before and its own
  U32 last() const { return (min(before + row + rows, n) - 1) / keys; }
  U32 whole() const { return min((before + row + 1) / keys, last()); }
  U32 end(const U32& in_tile) const { return min(before + row + in_tile + 1, n); }
};

// A warpgroup's softmax of its 64 rows, block by block.
class Softmax {
 public:
  Softmax(Warpgroup& g, WarpgroupMma& mma) : mma_(&mma), greatest_(g.vars<2>(least)), total_(g.vars<2>(0.0f)) {}

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
  // One over the sum of what all keys weigh.
  F32 inverse(int r) { return rcp_approx_ftz(mma_->row_reduce<RedOp::add>(total_[r])); }

 private:
  WarpgroupMma* mma_;
  Vars<F32, 2> greatest_, total_;  // total: of this lane's keys
};

// What both roles share.
struct Inputs {
  Shared<QTile> q;
  Mbarrier q_full;
  Ring<stages, KTile> k;
  Ring<stages, VTile> v;

  explicit Inputs(KernelBuilder& b)
      : q(b.shared<QTile>()),
        q_full(b.mbarrier("q_full")),
        k(b.ring<stages, KTile>("k")),
        v(b.ring<stages, VTile>("v")) {}
};

// A warpgroup with its rows of Q: scores, weights and the sum of values, all in registers.
template <class Visible>
class Rows {
 public:
  Rows(Warpgroups<groups>& g, const Inputs& in, const Visible& visible)
      : g_(g), mma_(g), softmax_(g, mma_), in_(in), first_(g.group() * 64 + (g.warp_index() & 3) * 16) {
    for (int i = 0; i < values_.elements; ++i) values_.set(i, 0.0f);
    const U32 row = first_ + Scores::Place::row(g.lane(), 0);
    for (int r = 0; r < rows_of_lane; ++r)
      ends_.push_back(bit_cast<S32>(visible.end(row + 8 * r) - Scores::Place::column(g.lane(), 0)));
  }

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
    const auto k = multiply_keys();
    const auto v = add_values();
    mma_.wait(1);
    mma_.release(k);
    std::vector<F32> factor;
    const std::vector<F32> weights = softmax_.weights(scores(cut, block), factor);
    mma_.wait(0);
    mma_.release(v);
    keep(weights);
    for (int i = 0; i < values_.elements; ++i) values_.set(i, values_[i] * factor[std::size_t(row_of(i))]);
  }
  // The last block's values.
  void end() {
    const auto v = add_values();
    mma_.wait(0);
    mma_.release(v);
  }
  // After the last block no warp reads Q, so O leaves through its rows: each warp has 16 of its own.
  void store(const Map& to, const U32& row, const U32& head_of_q) {
    std::vector<F32> inverse;
    for (int r = 0; r < rows_of_lane; ++r) inverse.push_back(softmax_.inverse(r));
    const auto out = cvt<bf16>(
        make_registers<Values::elements>([&](int i) { return values_[i] * inverse[std::size_t(row_of(i))]; }));
    for (int c = 0; c < head; c += 16) {
      const auto at = out.operands().begin() + c / 4;
      g_.stmatrix<Fragment<bf16, 16, 16>>(in_.q, first_, c, Registers<bf16, 8>(g_.recorder(), {at, at + 4}));
    }
    g_.fence_proxy_async();
    g_.each_warp([&](Warp w) {
      w.sync();
      w.elect([&](Thread t) {
        for (int c = 0; c < head; c += span)
          t.cp_async_bulk_tensor(to.at(0, row + first_, c / span, head_of_q),
                                 in_.q.columns<span>(c).address + first_ * QTile::row_pitch);
        t.commit_stores();
        t.wait_stores_read(0);
      });
    });
  }

 private:
  using Scores = WgmmaSums<keys>;
  using Values = WgmmaSums<head>;

  Slot<KTile> multiply_keys() {
    auto k = in_.k.wait(g_);
    mma_.fence();
    mma_.multiply(scores_, in_.q.rows<64>(g_.group() * 64), k.get<KTile>(), accumulate(false));
    mma_.commit();
    return k;
  }
  Slot<VTile> add_values() {
    auto v = in_.v.wait(g_);
    mma_.fence();
    mma_.multiply(values_, weights_, v.get<VTile>(), accumulate(true));
    mma_.commit();
    return v;
  }
  // Those of a block; of keys that a row does not see, unseen_score.
  std::vector<F32> scores(bool cut, const U32& block) {
    std::vector<F32> out;
    std::vector<S32> left;
    if (cut)
      for (const S32& end : ends_) left.push_back(end - bit_cast<S32>(block * keys));
    for (int i = 0; i < scores_.elements; ++i) {
      const F32 score = scores_[i];
      const int column = Scores::Place::at(0, i).column;
      out.push_back(cut ? select(left[std::size_t(row_of(i))] > column, score, unseen_score) : score);
    }
    return out;
  }
  void keep(const std::vector<F32>& weights) {
    weights_.set(make_registers<Scores::elements>([&](int i) { return weights[std::size_t(i)]; }));
  }

  Warpgroups<groups>& g_;
  WarpgroupMma mma_;
  Softmax softmax_;
  Inputs in_;
  U32 first_;  // this warp's first row in the tile
  Scores scores_ = mma_.sums<keys>();
  Values values_ = mma_.sums<head>();
  WgmmaA<bf16, keys> weights_ = mma_.a<bf16, keys>();
  std::vector<S32> ends_{};  // of this lane's rows: the keys that it sees from the lane's first column on
};

// `seen`: the keys that a CTA's rows see, given the first of them, and how many rows and keys there are.
template <class See>
Kernel build(const std::string& name, Target target, const See& seen) {
  KernelBuilder attention(name, target, warps<4 * (groups + 1)>);
  attention.minnctapersm(1);
  const auto given = declare(attention, parameter_list);
  const U32 m = given["m"_arg], n = given["n"_arg];
  Inputs in(attention);

  // Causal rows with the most keys begin first.
  const U32 row = (attention.nctaid.x - attention.ctaid.x - 1) * rows, head_of_q = attention.ctaid.y;
  const auto visible = seen(row, m, n);
  using Visible = std::remove_cvref_t<decltype(visible)>;
  const U32 last = visible.last(), whole = visible.whole();
  const Pred are_two_cut = whole < last;

  attention.role("softmax", warpgroups<0, groups>, [&](Warpgroups<groups>& g) {
    take_registers<240>(g);
    Rows<Visible> mine(g, in, visible);
    mine.begin(last);
    if (Visible::cuts_two) g.when(are_two_cut, [&] { mine.step(true, last - 1); });
    g.loop(whole, [&](U32 i) { mine.step(false, whole - 1 - i); });
    mine.end();
    mine.store(given["O"_arg], row, head_of_q);
  });
  attention.role("load", warpgroup<groups>, [&](Warpgroup& g) {
    g.setmaxnreg_dec<24>();
    g.elect([&](Thread t) {
      const U32 head_of_k = head_of_q / given["sharing"_arg];
      t.expect_tx(in.q_full, QTile::transaction_bytes);
      t.tma_load(in.q, given["Q"_arg].at(0, row, 0, head_of_q), in.q_full);
      const auto load_k = [&](const U32& block) {
        auto k = in.k.acquire(t);
        t.tma_load(k.get<KTile>(), given["K"_arg].at(0, block * keys, 0, head_of_k), k.full);
      };
      const auto load_v = [&](const U32& block) {
        auto v = in.v.acquire(t);
        t.tma_load(v.get<VTile>(), given["V"_arg].at(0, block * keys, 0, head_of_k), v.full);
      };
      const auto step = [&](const U32& block) {
        load_k(block);
        load_v(block + 1);
      };
      load_k(last);
      // The same loops as those of the other role: that they end together is then plain.
      if (Visible::cuts_two) t.when(are_two_cut, [&] { step(last - 1); });
      t.loop(whole, [&](U32 i) { step(whole - 1 - i); });
      load_v(attention.constant(0));
    });
  });
  return attention.build();
}

constexpr std::array options{SizeOption{"m", 512, "rows of Q and O of a head"},
                             SizeOption{"n", 512, "rows of K and V of a head: the keys"},
                             SizeOption{"heads", 2, "heads of Q and O, those of a batch one after the other"},
                             SizeOption{"sharing", 1, "heads of Q that share one of K and V"}};

launch::TensorMap map_of(const char* buffer, std::uint64_t rows_of_head, std::uint64_t heads, int box_rows,
                         int box_spans) {
  constexpr std::uint64_t bytes = bf16::bits / 8;
  launch::TensorMap map;
  map.buffer = buffer;
  map.rank = 4;
  map.dims = {span, rows_of_head, head / span, heads, 1};
  map.strides = {0, head * bytes, span * bytes, rows_of_head * head * bytes, 0};
  map.box = {span, std::uint32_t(box_rows), std::uint32_t(box_spans), 1, 1};
  map.swizzle = QTile::swizzle;
  return map;
}

launch::Contract problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), heads = sizes.at("heads"), sharing = sizes.at("sharing");
  launch::Contract c = attention_buffers(m, n);
  if (heads < 1 || heads > 65535)
    throw diag::InputError("--heads " + std::to_string(heads) + ": must be in [1, 65535]");
  if (sharing < 1 || heads % sharing != 0)
    throw diag::InputError("--sharing " + std::to_string(sharing) + ": must divide --heads " + std::to_string(heads));
  for (launch::Buffer& b : c.buffers)
    b.shape.insert(b.shape.begin(), b.name == "K" || b.name == "V" ? heads / sharing : heads);
  launch_kernel(c, kernel, parameter_list, {std::uint32_t(pieces(m, rows)), std::uint32_t(heads), 1},
                "Q"_arg = map_of("Q", m, heads, rows, head / span),
                "K"_arg = map_of("K", n, heads / sharing, keys, head / span),
                "V"_arg = map_of("V", n, heads / sharing, keys, head / span), "O"_arg = map_of("O", m, heads, 16, 1),
                "m"_arg = m, "n"_arg = n, "sharing"_arg = sharing);
  return c;
}

}  // namespace

std::span<const SizeOption> attention_wgmma_options() { return options; }

Kernel attention_wgmma(Target target, const Sizes&) {
  return build("attention_wgmma", target, [](const U32&, const U32&, const U32& n) { return AllKeys{n}; });
}
launch::Contract attention_wgmma_problem(const Kernel& kernel, const Sizes& sizes) { return problem(kernel, sizes); }

Kernel attention_wgmma_causal(Target target, const Sizes&) {
  return build("attention_wgmma_causal", target, [](const U32& row, const U32& m, const U32& n) {
    return KeysSoFar{n, n - m, row};
  });
}
launch::Contract attention_wgmma_causal_problem(const Kernel& kernel, const Sizes& sizes) {
  return causal_problem(problem, kernel, sizes);
}

}  // namespace kiln::kernels
