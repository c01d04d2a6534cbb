// O = softmax(Q * K^T / sqrt(head)) * V of many heads, without an n x n matrix: a CTA has 128 rows of a head of Q and
// goes through its keys in blocks of 128. Scores come out of one MMA into tensor memory; the softmax, in registers,
// puts probabilities back as the A of the next MMA, whose sums it scales whenever a greater score is found. Warp 4
// loads, warp 5 makes scores, warp 6 sums values, warps 0-3 are the softmax, a row each thread. Causal attention goes
// no further than the last of its rows sees, and leaves out what each of them does not see yet.
#include "kernels/attention.hpp"

#include <array>
#include <vector>

#include "kernels/attention_keys.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int rows = attention_rows, keys = attention_keys, head = attention_head, stages = 2, chunk = 32;

using QTile = SharedTile<bf16, rows, head, K_major, swizzle_128B>;
using KTile = SharedTile<bf16, keys, head, K_major, swizzle_128B>;
using VTile = SharedTile<bf16, head, keys, MN_major, swizzle_128B>;  // as memory has it: a row for each key
using ScoresMma = tcgen05_mma<kind_f16, bf16, bf16, f32, rows, keys>;
using ValuesMma = tcgen05_mma<kind_f16, bf16, bf16, f32, rows, head>;
using Scores = Tmem<f32, rows, keys>;
using Probabilities = TmemA<bf16, rows, keys>;

// Has keys that a row does not see weigh nothing.
void leave_out(Warpgroup& g, const Scores& scores, const U32& keys_left) {
  for (int c = 0; c < keys; c += chunk) {
    const auto loaded = g.wait(g.load(scores.columns<chunk>(c)));
    g.store(scores.columns<chunk>(c),
            make_registers<chunk>([&](int i) { return select(keys_left > c + i, loaded[i], unseen_score); }));
  }
  g.tcgen05_wait_st();
}

// What a block of keys weighs, rounded for the MMA, and the sum before rounding.
struct Weights {
  Registers<bf16, keys> rounded;
  F32 sum;
};
Weights weights_of(const Registers<f32, keys>& scores, const F32& greatest) {
  const F32 offset = greatest * -exponent_scale;
  const auto weights =
      make_registers<keys>([&](int i) { return ex2_approx_ftz(fma(scores[i], exponent_scale, offset)); });
  return {cvt<bf16>(weights), combined(weights, plus)};
}

template <class Sums>
auto scaled(Warpgroup& g, const Sums& sums, const F32& factor) {
  const auto loaded = g.wait(g.load(sums));
  return make_registers<head>([&](int i) { return loaded[i] * factor; });
}

// `seen`: the keys that a CTA's rows see, given the first of them, how many rows and keys there are, and the blocks.
template <class Seen>
Kernel build(const std::string& name, Target target, const Seen& seen) {
  KernelBuilder attention(name, target, warps<7>);
  const auto given = declare(attention, attention_list);
  const U32 m = given["m"_arg], n = given["n"_arg];

  auto q = attention.shared<QTile>();
  auto q_full = attention.mbarrier("q_full");
  auto in_k = attention.ring<stages, KTile>("k");
  auto in_v = attention.ring<stages, VTile>("v");
  auto scores = attention.accumulator_ring<2, ScoresMma>("scores");
  auto weights = attention.tensor_memory<Probabilities>("weights");
  auto sums = attention.tmem<f32, rows, head>("sums");
  auto weights_full = attention.mbarrier<4>("weights_full");  // an arrival of each warp
  auto added = attention.mbarrier("added");                   // a block's values are in the sums

  // Causal rows with the most keys begin first.
  const U32 row = (attention.nctaid.x - attention.ctaid.x - 1) * rows, head_of_q = attention.ctaid.y;
  const auto visible = seen(row, m, n, given["blocks"_arg]);
  const U32 blocks = visible.blocks;

  attention.role("load", warp<4>.elect(), [&](Thread t) {
    const U32 head_of_k = head_of_q / given["sharing"_arg];
    t.expect_tx(q_full, QTile::transaction_bytes);
    t.tma_load(q, given["Q"_arg].at(0, row, 0, head_of_q), q_full);
    t.loop(blocks, [&](U32 j) {
      auto k = in_k.acquire(t);
      t.tma_load(k.get<KTile>(), given["K"_arg].at(0, j * keys, 0, head_of_k), k.full);
      auto v = in_v.acquire(t);
      t.tma_load(v.get<VTile>(), given["V"_arg].at(0, j * keys, 0, head_of_k), v.full);
    });
  });
  attention.role("scores", warp<5>.elect(), [&](Thread t) {
    t.wait(q_full, Phase{0});
    t.loop(blocks, [&](U32) {
      auto k = in_k.wait(t);
      auto s = scores.acquire(t);
      t.mma_tiles<ScoresMma>(s.sums, q, k.get<KTile>(), accumulate(false));
      t.commit(k.empty);
      t.commit(s.full);
    });
  });
  attention.role("values", warp<6>.elect(), [&](Thread t) {
    t.loop(blocks, [&](U32 j) {
      auto v = in_v.wait(t);
      t.wait(weights_full, Phase(j & 1));
      t.mma_tiles<ValuesMma>(sums, weights, v.get<VTile>(), accumulate(j != 0));
      t.commit(v.empty);
      t.commit(added);
    });
  });
  attention.role("softmax", warpgroup<0>, [&](Warpgroup& g) {
    auto greatest = g.var(unseen_score), total = g.var(0.0f);
    g.loop(blocks, [&](U32 j) {
      auto s = scores.wait(g);
      const U32 keys_left = visible.left(g, j);
      g.when(visible.cuts(j), [&] { leave_out(g, s.sums, keys_left); });
      const auto loaded = g.wait(g.load(s.sums));
      scores.release(g, s);
      const F32 before = greatest, now = max(before, combined(loaded, greater));
      const Weights w = weights_of(loaded, now);
      const F32 factor = ex2_approx_ftz((before - now) * exponent_scale);
      g.wait(added, Phase((j + 1) & 1));  // the last block's: weights and sums are not used after it
      g.store(weights, w.rounded);
      g.when(j != 0, [&] { g.store(sums, scaled(g, sums, factor)); });
      g.tcgen05_wait_st();
      g.arrive_by_warp(weights_full);
      total = fma(total, factor, w.sum);
      greatest = now;
    });
    g.wait(added, Phase((blocks + 1) & 1));
    const F32 inverse = rcp_approx_ftz(total);
    const U32 my_row = row + g.row(), left = select(my_row < m, head, 0);
    const U64 address = given["O"_arg].at(multiply_wide(head_of_q * m + my_row, head));
    g.store_global(address, cvt<bf16>(scaled(g, sums, inverse)), left);
  });
  return attention.build();
}

constexpr auto options = head_options(1);

launch::Contract problem(const Kernel& kernel, const Sizes& sizes) {
  return attention_of_tiles(kernel, sizes, rows);
}

}  // namespace

launch::TensorMap head_map(const char* buffer, std::uint64_t rows, std::uint64_t heads, int box_rows, int box_spans) {
  launch::TensorMap map;
  map.buffer = buffer;
  map.rank = HeadMap::rank;
  map.dims = {attention_span, rows, attention_head / attention_span, heads, 1};
  map.strides = {0, attention_row_bytes, attention_span * bf16::bits / 8, rows * attention_row_bytes, 0};
  map.box = {attention_span, std::uint32_t(box_rows), std::uint32_t(box_spans), 1, 1};
  map.swizzle = QTile::swizzle;
  return map;
}

HeadSizes head_sizes(const Sizes& sizes) {
  const std::uint64_t heads = sizes.at("heads"), sharing = sizes.at("sharing");
  if (heads < 1 || heads > 65535)
    throw diag::InputError("--heads " + std::to_string(heads) + ": must be in [1, 65535]");
  if (sharing < 1 || heads % sharing != 0)
    throw diag::InputError("--sharing " + std::to_string(sharing) + ": must divide --heads " + std::to_string(heads));
  return {heads, heads / sharing};
}

launch::Contract attention_buffers(std::uint64_t m, std::uint64_t n, const HeadSizes& heads) {
  check_extent("m", m);
  check_extent("n", n);
  launch::Contract c;
  c.buffers = {matrix("Q", bf16::scalar, m, head, 1), matrix("K", bf16::scalar, n, head, 2),
               matrix("V", bf16::scalar, n, head, 3), matrix("O", bf16::scalar, m, head)};
  for (launch::Buffer& b : c.buffers)
    b.shape.insert(b.shape.begin(), b.name == "K" || b.name == "V" ? heads.k : heads.q);
  launch::Expectation e;
  e.kind = launch::Expectation::Kind::attention;
  e.output = "O", e.a = "Q", e.b = "K", e.c = "V";
  c.expectations.push_back(e);
  return c;
}

launch::Contract attention_of_tiles(const Kernel& kernel, const Sizes& sizes, int cta_rows) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n");
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = attention_buffers(m, n, heads);
  launch_kernel(c, kernel, attention_list, {std::uint32_t(pieces(m, std::uint64_t(cta_rows))), std::uint32_t(heads.q), 1},
                "Q"_arg = head_map("Q", m, heads.q, rows), "K"_arg = head_map("K", n, heads.k, keys),
                "V"_arg = head_map("V", n, heads.k, keys), "O"_arg = "O", "m"_arg = m, "n"_arg = n,
                "blocks"_arg = pieces(n, keys), "sharing"_arg = std::uint64_t(sizes.at("sharing")));
  return c;
}

bool is_set(const Sizes& sizes, const char* option) {
  const std::uint64_t value = sizes.at(option);
  if (value > 1) throw diag::InputError("--" + std::string(option) + " " + std::to_string(value) + ": must be 0 or 1");
  return value == 1;
}

launch::Contract causal_problem(MakeProblem* problem, const Kernel& kernel, const Sizes& sizes) {
  if (sizes.at("m") > sizes.at("n"))
    throw diag::InputError("--m " + std::to_string(sizes.at("m")) + ": must be at most --n " +
                           std::to_string(sizes.at("n")) + ": the rows are the last of as many positions");
  launch::Contract c = problem(kernel, sizes);
  for (launch::Expectation& e : c.expectations) e.causal = true;
  return c;
}

std::span<const SizeOption> attention_options() { return options; }

Kernel attention(Target target, const Sizes&) {
  return build("attention", target, [](const U32&, const U32&, const U32& n, const U32& blocks) {
    return AllKeys{n, blocks};
  });
}
launch::Contract attention_problem(const Kernel& kernel, const Sizes& sizes) { return problem(kernel, sizes); }

Kernel attention_causal(Target target, const Sizes&) {
  return build("attention_causal", target, [](const U32& row, const U32& m, const U32& n, const U32& blocks) {
    return KeysSoFar(row, m, n, blocks);
  });
}
launch::Contract attention_causal_problem(const Kernel& kernel, const Sizes& sizes) {
  return causal_problem(problem, kernel, sizes);
}

}  // namespace kiln::kernels
