// The second kernel of the backward pass by tcgen05: dK and dV. It computes P^T and S^T as they are, keys as rows, a
// row each thread; two warpgroups have half of a block's rows of Q each, which are columns here. P^T lies where scores
// lay, S^T where dO * V^T lay, the A of the products with dO and Q; with dK and dV they fill tensor memory. What is
// known of each row of Q comes with its block.
#include <array>

#include "kernels/attention_backward.hpp"
#include "kernels/attention_keys.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_tcgen05;
using namespace backward;

namespace {

constexpr int groups = 2, stages = 2, half = rows / groups, row_bytes_of_terms = terms * 4;
static_assert(rows == head);

using Out = Pointer<bf16>;
using Terms = SharedTile<f32, rows * terms / 4, 4, K_major, packed>;  // 16 bytes for two rows
using Transposed = TmemA<bf16, keys, half>;                           // half of P^T, or of S^T

// A block of scores, or of dO * V^T, and what then lies there, each half where its own was.
struct Place {
  Scores sums;
  Mbarrier full;
  Mbarrier replaced;  // an arrival of each warp
  Mbarrier added;     // what lies there was multiplied

  Transposed a(int which) const { return {{sums.rec, sums.base, sums.first + half * which}}; }
  auto own(int which) const { return sums.template columns<half>(half * which); }
};

// The rows that see some of a CTA's keys, in blocks, of one head of Q after the other.
struct AllRows {
  static RowBlocks blocks(const U32& m, const U32&, const U32&) {
    const U32 none{m.recorder(), ir::Operand::number(0)};
    return {none, (m + (rows - 1)) / rows, none};
  }
};
struct RowsFromNow {
  static RowBlocks blocks(const U32& m, const U32& n, const U32& key) { return blocks_from_now<rows>(m, n, key); }
};

// One term of each of this warpgroup's rows of Q, which are columns.
std::vector<F32> term_of(Warpgroup& g, const Shared<Terms>& all, int which, int term) {
  std::vector<F32> out;
  for (int row = 0; row < half; row += 2) {
    const auto pair = g.ld_shared_v4(all.address + (half * which + row) * row_bytes_of_terms);
    for (int c = 0; c < 2; ++c) out.push_back(bit_cast<F32>(pair[std::size_t(c * terms + term)]));
  }
  return out;
}

template <class Seen>
Kernel build(Target target) {
  KernelBuilder attention("attention_backward_kv", target, warps<11>);
  attention.minnctapersm(1);
  const auto given = declare(attention, kv_list<Out>);
  const auto k = attention.shared<KTile>(), v = attention.shared<KTile>();
  auto keys_full = attention.mbarrier("keys_full");
  auto in_q = attention.ring<stages, QTile, Terms>("q");
  auto in_d_o = attention.ring<stages, QTile>("do");
  const auto place = [&](const char* name) {
    const std::string of = name;
    return Place{attention.accumulator<ScoresMma>(of), attention.mbarrier(of + "_full"),
                 attention.mbarrier<4 * groups>(of + "_replaced"), attention.mbarrier(of + "_added")};
  };
  const Place scores = place("scores"), products = place("products");
  const Sums of_k = attention.accumulator<ValuesMma>("of_k"), of_v = attention.accumulator<ValuesMma>("of_v");
  // A block's S^T is multiplied after the next scores were issued, whose weights take the longest.
  auto scores_issued = attention.mbarrier("scores_issued");

  // Causal keys that the most rows see begin first.
  const U32 key = attention.ctaid.x * keys, of_head = attention.ctaid.y;
  const U32 m = given["m"_arg], n = given["n"_arg], sharing = given["sharing"_arg];
  const RowBlocks seen = Seen::blocks(m, n, key);
  const U32 of_one = seen.end - seen.begin, blocks = of_one * sharing;

  attention.role("load", warp<8>.elect(), [&](Thread t) {
    t.expect_tx(keys_full, 2 * KTile::transaction_bytes);
    t.tma_load(k, given["K"_arg].at(0, key, 0, of_head), keys_full);
    t.tma_load(v, given["V"_arg].at(0, key, 0, of_head), keys_full);
    const U32 places = (m + (rows - 1)) / rows * rows;
    t.loop(blocks, [&](U32 j) {
      const U32 of_q = of_head * sharing + j / of_one, row = (seen.begin + j % of_one) * rows;
      auto q = in_q.acquire(t);
      t.tma_load(q.template get<QTile>(), given["Q"_arg].at(0, row, 0, of_q), q.full);
      t.cp_async_bulk(q.template get<Terms>().address,
                      given["row_terms"_arg].at(multiply_wide(of_q * places + row, terms)), Terms::bytes, q.full);
      auto d_o = in_d_o.acquire(t);
      t.tma_load(d_o.template get<QTile>(), given["dO"_arg].at(0, row, 0, of_q), d_o.full);
    });
  });
  attention.role("products", warp<9>.elect(), [&](Thread t) {
    t.wait(keys_full, Phase{0});
    t.loop(blocks, [&](U32 j) {
      const auto q = in_q.wait(t);
      t.wait(scores.added, Phase((j + 1) & 1));
      t.mma_tiles<ScoresMma>(scores.sums, k, q.template get<QTile>(), accumulate(false));
      t.commit(q.empty);
      t.commit(scores.full);
      t.when(j != 0, [&] { t.arrive(scores_issued); });
      const auto d_o = in_d_o.wait(t);
      t.wait(products.added, Phase((j + 1) & 1));
      t.mma_tiles<ScoresMma>(products.sums, v, d_o.template get<QTile>(), accumulate(false));
      t.commit(d_o.empty);
      t.commit(products.full);
    });
    t.arrive(scores_issued);  // none are left
  });
  attention.role("sums", warp<10>.elect(), [&](Thread t) {
    const auto add = [&](const Sums& to, const Place& from, const Shared<QTile>& all, const U32& j) {
      t.wait(from.replaced, Phase(j & 1));
      for (int which = 0; which < groups; ++which) {
        const auto some_rows = all.template rows<half>(half * which).transposed();
        if (which == 0)
          t.mma_tiles<ValuesMma>(to, from.a(which), some_rows, accumulate(j != 0));
        else
          t.mma_tiles<ValuesMma>(to, from.a(which), some_rows, accumulate(true));
      }
      t.commit(from.added);
    };
    t.loop(blocks, [&](U32 j) {
      const auto q = in_q.wait(t);
      const auto d_o = in_d_o.wait(t);
      add(of_v, scores, d_o.template get<QTile>(), j);
      t.commit(d_o.empty);
      t.wait(scores_issued, Phase(j & 1));
      add(of_k, products, q.template get<QTile>(), j);
      t.commit(q.empty);
    });
  });
  const auto gradient = [&](Warpgroup& g, int which) {
    // How many columns of a block lie before the first that sees this thread's key.
    const U32 last = key + g.row() - (n - m) - half * which;
    g.loop(blocks, [&](U32 j) {
      const U32 block = seen.begin + j % of_one;
      const auto q = in_q.wait(g);
      const auto of_rows = q.template get<Terms>();
      g.wait(scores.full, Phase(j & 1));
      const auto own = scores.own(which);
      g.when(block < seen.whole, [&] {
        const S32 before = bit_cast<S32>(last - block * rows);
        leave_out(g, own, [&](int column) { return before <= column; });
      });
      const auto loaded = g.wait(g.load(own));
      const std::vector<F32> log_sums = term_of(g, of_rows, which, 0);
      const auto weights = make_registers<half>(
          [&](int i) { return ex2_approx_ftz(fma(loaded[i], exponent_scale, -log_sums[std::size_t(i)])); });
      g.store(scores.a(which), cvt<bf16>(weights));
      g.tcgen05_wait_st();
      g.arrive_by_warp(scores.replaced);
      g.wait(products.full, Phase(j & 1));
      const auto of_block = g.wait(g.load(products.own(which)));
      const std::vector<F32> dots = term_of(g, of_rows, which, 1);
      g.store(
          products.a(which),
          cvt<bf16>(make_registers<half>([&](int i) { return weights[i] * (of_block[i] - dots[std::size_t(i)]); })));
      in_q.release(g, q);
      g.tcgen05_wait_st();
      g.arrive_by_warp(products.replaced);
    });
    const U32 my_key = key + g.row(), left = select(my_key < n, half, 0);
    const auto leave = [&](const Sums& sums, const Pointer<bf16>& to, float times) {
      const U64 address = to.at(multiply_wide(of_head * n + my_key, head)) + half * which * (bf16::bits / 8);
      for (int c = 0; c < half; c += part) {
        const auto some = g.wait(g.load(sums.columns<part>(half * which + c)));
        g.store_global(address, cvt<bf16>(make_registers<part>([&](int i) { return some[i] * times; })), left, c);
      }
    };
    g.wait(scores.added, Phase((blocks + 1) & 1));
    leave(of_v, given["dV"_arg], 1);
    g.wait(products.added, Phase((blocks + 1) & 1));
    leave(of_k, given["dK"_arg], scale);
  };
  attention.role("gradient_0", warpgroup<0>, [&](Warpgroup& g) { gradient(g, 0); });
  attention.role("gradient_1", warpgroup<1>, [&](Warpgroup& g) { gradient(g, 1); });
  return attention.build();
}

}  // namespace

Kernel attention_backward_kv(Target target, const Sizes& sizes) {
  return is_causal(sizes) ? build<RowsFromNow>(target) : build<AllRows>(target);
}
launch::Contract attention_backward_kv_problem(const Kernel& kernel, const Sizes& sizes) {
  return as_causal(kv_problem<Out, 0, rows>, kernel, sizes);
}

}  // namespace kiln::kernels
