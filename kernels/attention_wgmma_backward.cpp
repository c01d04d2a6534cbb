// The backward pass of attention on Hopper: what sum(O * dO) changes by with Q, K and V. Scores are computed anew, and
// what their keys weigh follows from the logarithms of sums that the forward pass leaves. With P the weights and
// S = P * (dO * V^T - the sum of O * dO of the row):
//
//     dQ = S * K / sqrt(head)        dK = S^T * Q / sqrt(head)        dV = P^T * dO
//
// Two kernels follow one another. The first has 128 rows of Q in a CTA, goes through the keys, and leaves dQ and what
// the second needs of each row. The second has 128 keys, whose P^T and S^T it computes as they are, so that both are
// operands in registers, and goes through the rows of each head that shares the keys. No sum depends on which CTA comes
// first.
#include <array>
#include <cmath>
#include <numbers>

#include "kernels/attention_wgmma_rows.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_wgmma;

namespace {

constexpr int stages = 2;
constexpr int block_rows = 64, block_keys = 64;  // of scores that a warpgroup computes at a time
constexpr int terms = 2;                         // of a row: its log_sum in the exponent of two, and its dot

using Map = HeadMap;
using Tile = KTile;  // 128 rows or keys
using BlockTile = SharedTile<bf16, block_rows, head, K_major, swizzle_128B>;
using Terms = SharedTile<f32, block_rows * terms / 4, 4, K_major, packed>;  // 16 bytes for two rows
using Scores = WgmmaSums<block_keys>;
using Gradient = WgmmaSums<head>;
static_assert(block_rows == block_keys && keys == rows);

inline const float scale = float(1 / std::sqrt(double(head)));

void clear(const Gradient& sums) {
  for (int i = 0; i < sums.elements; ++i) sums.set(i, 0.0f);
}
// Elements of a block, rounded, become A of an MMA.
void keep(const WgmmaA<bf16, block_keys>& a, const std::vector<F32>& values) {
  a.set(make_registers<Scores::elements>([&](int i) { return values[std::size_t(i)]; }));
}

// --- The first kernel: dQ.

constexpr auto q_list =
    parameters("Q"_arg.is<Map>(), "K"_arg.is<Map>(), "V"_arg.is<Map>(), "dO_rows"_arg.is<Map>(), "dQ"_arg.is<Map>(),
               "O"_arg.is<Pointer<bf16>>(), "dO"_arg.is<Pointer<bf16>>(), "log_sums"_arg.is<Pointer<f32>>(),
               "row_terms"_arg.is<Pointer<f32>>(), "m"_arg.is<u32>(), "n"_arg.is<u32>(), "sharing"_arg.is<u32>());

struct QInputs {
  Shared<Tile> q, d_o;
  Mbarrier full;
  Ring<stages, Tile> k, v;

  explicit QInputs(KernelBuilder& b)
      : q(b.shared<Tile>()),
        d_o(b.shared<Tile>()),
        full(b.mbarrier("rows_full")),
        k(b.ring<stages, Tile>("k")),
        v(b.ring<stages, Tile>("v")) {}
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
Kernel build_q(Target target) {
  KernelBuilder attention("attention_wgmma_backward_q", target, warps<4 * (groups + 1)>);
  attention.minnctapersm(1);
  const auto given = declare(attention, q_list);
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

// --- The second kernel: dK and dV.

struct none_is_cut {};

constexpr auto kv_list = parameters("Q"_arg.is<Map>(), "K"_arg.is<Map>(), "V"_arg.is<Map>(), "dO"_arg.is<Map>(),
                                    "dK"_arg.is<Map>(), "dV"_arg.is<Map>(), "row_terms"_arg.is<Pointer<f32>>(),
                                    "m"_arg.is<u32>(), "n"_arg.is<u32>(), "sharing"_arg.is<u32>());

struct KvInputs {
  Shared<Tile> k, v;
  Mbarrier full;
  Ring<stages, BlockTile, Terms> q;
  Ring<stages, BlockTile> d_o;

  explicit KvInputs(KernelBuilder& b)
      : k(b.shared<Tile>()),
        v(b.shared<Tile>()),
        full(b.mbarrier("keys_full")),
        q(b.ring<stages, BlockTile, Terms>("q")),
        d_o(b.ring<stages, BlockTile>("do")) {}
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

  // The first row that is at a key's position or after it.
  U32 first(const U32& of_key) const {
    const U32 before = n - m;
    return select(of_key > before, of_key - before, 0u);
  }
  template <class S, class Step>
  void blocks(S& scope, Step step) const {
    const U32 end = (m + (block_rows - 1)) / block_rows, begin = first(key) / block_rows;
    const U32 whole = min((first(key + (rows - 1)) + (block_rows - 1)) / block_rows, end);
    scope.loop(end - begin, [&](U32 i) { step(begin + i, begin + i < whole); });
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
Kernel build_kv(Target target) {
  KernelBuilder attention("attention_wgmma_backward_kv", target, warps<4 * (groups + 1)>);
  attention.minnctapersm(1);
  const auto given = declare(attention, kv_list);
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

constexpr auto shared_options = head_options(2);
constexpr std::array options{shared_options[0], shared_options[1], shared_options[2], shared_options[3],
                             SizeOption{"causal", 1, "1: row i sees the first n - m + i + 1 keys; 0: all"}};

bool is_causal(const Sizes& sizes) {
  const std::uint64_t causal = sizes.at("causal");
  if (causal > 1) throw diag::InputError("--causal " + std::to_string(causal) + ": must be 0 or 1");
  return causal == 1;
}

// Buffers of both passes with O and dO given, and an expectation of a result in `output`, which is like `like`.
launch::Expectation& expect(launch::Contract& c, launch::AttentionResult result, const char* output, const char* like) {
  launch::Buffer b = c.at(like);
  b.name = output, b.init = {};
  c.buffers.push_back(b);
  launch::Expectation e = c.expectations.front();
  e.output = output, e.result = result, e.d_o = "dO";
  c.expectations.push_back(e);
  return c.expectations.back();
}
launch::Contract buffers(const Sizes& sizes) {
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = attention_buffers(sizes.at("m"), sizes.at("n"), heads);
  launch::Buffer d_o = c.at("O");
  d_o.name = "dO";
  c.buffers.push_back(d_o);
  for (const auto& [name, seed] : {std::pair("O", 4), std::pair("dO", 5)}) {
    c.at(name).init = c.at("Q").init;
    c.at(name).init.seed = std::uint64_t(seed);
  }
  return c;
}
// What the forward pass leaves of a row, about as scores of normal numbers have it.
float usual_log_sum(std::uint64_t m, std::uint64_t n, bool causal, std::uint64_t row) {
  return std::log(float(causal ? n - m + row + 1 : n)) + 0.5f;
}
launch::Buffer& add_numbers(launch::Contract& c, const char* name, std::vector<std::uint64_t> shape,
                            std::vector<double> values) {
  launch::Buffer& b = add_workspace(c, name, isa::ScalarType::f32, 1, launch::Init::Kind::values);
  b.shape = std::move(shape), b.init.values = std::move(values);
  return b;
}

launch::Contract q_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), places = pieces(m, rows) * rows;
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = buffers(sizes);
  std::vector<double> log_sums;
  for (std::uint64_t h = 0; h < heads.q; ++h)
    for (std::uint64_t i = 0; i < m; ++i) log_sums.push_back(usual_log_sum(m, n, is_causal(sizes), i));
  add_numbers(c, "log_sums", {heads.q, m}, std::move(log_sums));
  const auto given_forward = [](launch::Expectation& e) { e.o = "O", e.log_sums = "log_sums"; };
  given_forward(expect(c, launch::AttentionResult::dq, "dQ", "Q"));
  given_forward(expect(c, launch::AttentionResult::row_terms, "row_terms", "log_sums"));
  c.at("row_terms").shape = {heads.q, places, terms};
  c.expectations.erase(c.expectations.begin());
  launch_kernel(c, kernel, q_list, {std::uint32_t(pieces(m, rows)), std::uint32_t(heads.q), 1},
                "Q"_arg = head_map("Q", m, heads.q, rows), "K"_arg = head_map("K", n, heads.k, keys),
                "V"_arg = head_map("V", n, heads.k, keys), "dO_rows"_arg = head_map("dO", m, heads.q, rows),
                "dQ"_arg = head_map("dQ", m, heads.q, store_rows, 1), "O"_arg = "O", "dO"_arg = "dO",
                "log_sums"_arg = "log_sums", "row_terms"_arg = "row_terms", "m"_arg = m, "n"_arg = n,
                "sharing"_arg = std::uint64_t(sizes.at("sharing")));
  return c;
}

launch::Contract kv_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), places = pieces(m, rows) * rows;
  const HeadSizes heads = head_sizes(sizes);
  launch::Contract c = buffers(sizes);
  std::vector<double> of_rows;
  for (std::uint64_t i = 0; i < heads.q * places; ++i) {
    const std::uint64_t row = i % places;
    of_rows.push_back(row < m ? double(std::numbers::log2e_v<float> * usual_log_sum(m, n, is_causal(sizes), row))
                              : launch::no_row);
    of_rows.push_back(row < m ? 0.25 * (double(row % 7) - 3) : 0);
  }
  add_numbers(c, "row_terms", {heads.q, places, terms}, std::move(of_rows));
  expect(c, launch::AttentionResult::dk, "dK", "K").row_terms = "row_terms";
  expect(c, launch::AttentionResult::dv, "dV", "V").row_terms = "row_terms";
  c.expectations.erase(c.expectations.begin());
  launch_kernel(c, kernel, kv_list, {std::uint32_t(pieces(n, rows)), std::uint32_t(heads.k), 1},
                "Q"_arg = head_map("Q", m, heads.q, block_rows), "K"_arg = head_map("K", n, heads.k, keys),
                "V"_arg = head_map("V", n, heads.k, keys), "dO"_arg = head_map("dO", m, heads.q, block_rows),
                "dK"_arg = head_map("dK", n, heads.k, store_rows, 1),
                "dV"_arg = head_map("dV", n, heads.k, store_rows, 1), "row_terms"_arg = "row_terms", "m"_arg = m,
                "n"_arg = n, "sharing"_arg = std::uint64_t(sizes.at("sharing")));
  return c;
}

}  // namespace

std::span<const SizeOption> attention_wgmma_backward_options() { return options; }

Kernel attention_wgmma_backward_q(Target target, const Sizes& sizes) {
  return is_causal(sizes) ? build_q<KeysSoFar>(target) : build_q<AllKeys>(target);
}
launch::Contract attention_wgmma_backward_q_problem(const Kernel& kernel, const Sizes& sizes) {
  return is_causal(sizes) ? causal_problem(q_problem, kernel, sizes) : q_problem(kernel, sizes);
}
Kernel attention_wgmma_backward_kv(Target target, const Sizes& sizes) {
  return is_causal(sizes) ? build_kv<RowsFromNow>(target) : build_kv<AllRows>(target);
}
launch::Contract attention_wgmma_backward_kv_problem(const Kernel& kernel, const Sizes& sizes) {
  return is_causal(sizes) ? causal_problem(kv_problem, kernel, sizes) : kv_problem(kernel, sizes);
}

}  // namespace kiln::kernels
