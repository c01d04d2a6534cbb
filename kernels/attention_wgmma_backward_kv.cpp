// The second kernel of the backward pass: dK and dV. It computes P^T and S^T as they are, keys as rows, so that both
// are A of the next product in registers. Rows of Q are then columns; what is known of each comes with their block.
#include "kernels/attention_wgmma_backward.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_wgmma;

namespace {

struct none_is_cut {};

struct KvInputs {
  Shared<Tile> k, v;
  Mbarrier full;
  Ring<backward_stages, BlockTile, Terms> q;
  Ring<backward_stages, BlockTile> d_o;

  explicit KvInputs(KernelBuilder& b)
      : k(b.shared<Tile>()),
        v(b.shared<Tile>()),
        full(b.mbarrier("keys_full")),
        q(b.ring<backward_stages, BlockTile, Terms>("q")),
        d_o(b.ring<backward_stages, BlockTile>("do")) {}
};

// The rows that see some of a CTA's keys. blocks(scope, step): step(block, cut) for each block of them; `cut`: some row
// of it does not see all keys.
struct AllRows {
  U32 m, n, key;

  template <class S, class Step>
  void blocks(S& scope, Step step) const {
    scope.loop((m + (block_rows - 1)) / block_rows, [&](U32 i) { step(i, none_is_cut{}); });
  }
};
// Those whose position is the key's or a later one; the rows are the last of n positions.
struct RowsFromNow {
  U32 m, n, key;

  template <class S, class Step>
  void blocks(S& scope, Step step) const {
    const RowBlocks of = blocks_from_now<block_rows>(m, n, key);
    scope.loop(of.end - of.begin, [&](U32 i) { step(of.begin + i, of.begin + i < of.whole); });
  }
};

// A warpgroup's 64 keys. Rows of a block are columns here.
class GradientOfKeys {
 public:
  // `last`: of each of this lane's keys, how far its position is after that of the lane's first column.
  GradientOfKeys(Warpgroups<groups>& g, const KvInputs& in, std::vector<S32> last)
      : g_(g), mma_(g), in_(in), last_(std::move(last)) {
    clear(of_k_), clear(of_v_);
  }

  template <class Cut>
  void step(const U32& block, const Cut& cut) {
    const auto q = in_.q.wait(g_);
    const auto q_rows = q.get<BlockTile>();
    mma_.fence();
    mma_.multiply(scores_, in_.k.rows<64>(g_.group() * 64), q_rows, accumulate(false));
    mma_.commit();
    const auto d_o = in_.d_o.wait(g_);
    const auto d_o_rows = d_o.get<BlockTile>();
    mma_.fence();
    mma_.multiply(products_, in_.v.rows<64>(g_.group() * 64), d_o_rows, accumulate(false));
    mma_.commit();
    mma_.wait(1);
    const U32 of_rows = q.get<Terms>().address + Scores::Place::column(g_.lane(), 0) * (terms * 4);
    if constexpr (std::is_same_v<Cut, Pred>) g_.when(cut, [&] { leave_out(block); });
    const std::vector<F32> weights = weights_of(of_rows);
    keep(weights_, weights);
    mma_.fence();
    mma_.multiply(of_v_, weights_, d_o_rows.transposed(), accumulate(true));
    mma_.commit();
    mma_.wait(1);
    const std::vector<F32> dots = term(of_rows, 1);
    std::vector<F32> gradients;
    for (int i = 0; i < Scores::elements; ++i)
      gradients.push_back(weights[std::size_t(i)] * (products_[i] - dots[column_of(i)]));
    keep(gradients_, gradients);
    mma_.fence();
    mma_.multiply(of_k_, gradients_, q_rows.transposed(), accumulate(true));
    mma_.commit();
    mma_.wait(1);
    mma_.release(d_o);
    mma_.wait(0);
    in_.q.release(g_, q);
  }
  F32 of_k(int i) const { return of_k_[i] * scale; }
  F32 of_v(int i) const { return of_v_[i]; }

 private:
  // Which of a lane's columns, in order, an element is of: two beside each other, of both of its rows.
  static std::size_t column_of(int element) { return std::size_t(element / 4 * 2 + element % 2); }
  // A term of each of this lane's columns.
  std::vector<F32> term(const U32& of_rows, int which) {
    std::vector<F32> out;
    for (int i = 0; i < Scores::elements; i += 4) {
      const auto pair = g_.ld_shared_v4(of_rows + Scores::Place::at(0, i).column * (terms * 4));
      for (int c = 0; c < 2; ++c) out.push_back(bit_cast<F32>(pair[std::size_t(c * terms + which)]));
    }
    return out;
  }
  // Rows do not see keys that come after them.
  void leave_out(const U32& block) {
    std::vector<S32> before;  // how many columns lie before the first that sees a key
    for (const S32& last : last_) before.push_back(last - bit_cast<S32>(block * block_rows));
    for (int i = 0; i < Scores::elements; ++i)
      scores_.set(i,
                  select(before[std::size_t(row_of(i))] <= Scores::Place::at(0, i).column, scores_[i], unseen_score));
  }
  std::vector<F32> weights_of(const U32& of_rows) {
    const std::vector<F32> log_sums = term(of_rows, 0);
    std::vector<F32> out;
    for (int i = 0; i < Scores::elements; ++i)
      out.push_back(ex2_approx_ftz(fma(scores_[i], exponent_scale, -log_sums[column_of(i)])));
    return out;
  }

  Warpgroups<groups>& g_;
  WarpgroupMma mma_;
  KvInputs in_;
  std::vector<S32> last_;
  Scores scores_ = mma_.sums<block_rows>(), products_ = mma_.sums<block_rows>();
  WgmmaA<bf16, block_rows> weights_ = mma_.a<bf16, block_rows>(), gradients_ = mma_.a<bf16, block_rows>();
  Gradient of_k_ = mma_.sums<head>(), of_v_ = mma_.sums<head>();
};

template <class Rows>
Kernel build(Target target) {
  KernelBuilder attention("attention_wgmma_backward_kv", target, warps<4 * (groups + 1)>);
  attention.minnctapersm(1);
  const auto given = declare(attention, kv_list<Map>);
  KvInputs in(attention);
  // Causal keys that the most rows see begin first.
  const U32 key = attention.ctaid.x * rows, of_head = attention.ctaid.y;
  const U32 m = given["m"_arg], n = given["n"_arg], sharing = given["sharing"_arg];
  const Rows visible{m, n, key};

  attention.role("gradient", warpgroups<0, groups>, [&](Warpgroups<groups>& g) {
    take_registers<240>(g);
    const U32 first = g.group() * 64 + (g.warp_index() & 3) * 16;
    const U32 mine_of_tile = first + Scores::Place::row(g.lane(), 0), column = Scores::Place::column(g.lane(), 0);
    std::vector<S32> last;
    for (int r = 0; r < rows_of_lane; ++r) last.push_back(bit_cast<S32>(key + mine_of_tile + 8 * r - (n - m) - column));
    GradientOfKeys mine(g, in, std::move(last));
    g.wait(in.full, Phase{0});
    g.loop(sharing, [&](U32) { visible.blocks(g, [&](const U32& block, const auto& cut) { mine.step(block, cut); }); });
    stage(g, in.k, first, [&](int i) { return mine.of_k(i); });
    store_staged(
        g, in.k, first, [&](Thread&) { return given["dK"_arg]; }, key, of_head);
    stage(g, in.v, first, [&](int i) { return mine.of_v(i); });
    store_staged(
        g, in.v, first, [&](Thread&) { return given["dV"_arg]; }, key, of_head);
  });
  attention.role("load", warpgroup<groups>, [&](Warpgroup& g) {
    g.setmaxnreg_dec<24>();
    g.elect([&](Thread t) {
      t.expect_tx(in.full, 2 * Tile::transaction_bytes);
      t.tma_load(in.k, given["K"_arg].at(0, key, 0, of_head), in.full);
      t.tma_load(in.v, given["V"_arg].at(0, key, 0, of_head), in.full);
      const U32 places = (m + (rows - 1)) / rows * rows;
      t.loop(sharing, [&](U32 i) {
        const U32 of_q = of_head * sharing + i;
        visible.blocks(t, [&](const U32& block, const auto&) {
          const U32 row = block * block_rows;
          auto q = in.q.acquire(t);
          t.tma_load(q.template get<BlockTile>(), given["Q"_arg].at(0, row, 0, of_q), q.full);
          t.cp_async_bulk(q.template get<Terms>().address,
                          given["row_terms"_arg].at(multiply_wide(of_q * places + row, terms)), Terms::bytes, q.full);
          auto d_o = in.d_o.acquire(t);
          t.tma_load(d_o.template get<BlockTile>(), given["dO"_arg].at(0, row, 0, of_q), d_o.full);
        });
      });
    });
  });
  return attention.build();
}

}  // namespace

Kernel attention_wgmma_backward_kv(Target target, const Sizes& sizes) {
  return is_causal(sizes) ? build<RowsFromNow>(target) : build<AllRows>(target);
}
launch::Contract attention_wgmma_backward_kv_problem(const Kernel& kernel, const Sizes& sizes) {
  return as_causal(kv_problem<Map, store_rows, block_rows>, kernel, sizes);
}

}  // namespace kiln::kernels
