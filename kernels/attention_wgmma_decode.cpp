// Attention on Hopper while text is generated: a row of Q for each sequence and head, keys and values in pages that a
// table names. Heads of Q that share one of K and V are rows of one MMA, so a page is read once for all of them: what
// decides is how fast memory gives the pages. Several CTAs share the keys of a sequence (--splits); each leaves what
// its keys come to in global memory, and the one that comes last adds all parts up, always in one order.
//
// The last page of a sequence is copied such that its keys lie in the last rows of a tile. The rows before them lie
// outside of the page and are zero; what follows a sequence's keys is not read and may be anything.
#include <array>
#include <numeric>

#include "kernels/attention_wgmma.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_wgmma;

namespace {

constexpr int rows = 64, stages = 3;
constexpr std::uint64_t most_splits = 64;

using In = Inputs<rows, stages>;
using QTile = In::QTile;
using Scores = WgmmaSums<keys>;
using Values = WgmmaSums<head>;
using QMap = TensorMapHandle<bf16, 3>;   // elements of a swizzle span, heads of all sequences, spans of a row
using Pages = TensorMapHandle<bf16, 5>;  // elements of a swizzle span, keys of a page, spans of a row, heads, pages

constexpr auto parameter_list =
    parameters("Q"_arg.is<QMap>(), "K"_arg.is<Pages>(), "V"_arg.is<Pages>(), "O"_arg.is<Pointer<bf16>>(),
               "pages"_arg.is<Pointer<u32>>(), "lengths"_arg.is<Pointer<u32>>(), "most_pages"_arg.is<u32>(),
               "sharing"_arg.is<u32>(), "parts"_arg.is<Pointer<f32>>(), "counters"_arg.is<Pointer<u32>>());

// What a CTA has of the blocks of a sequence, of which `parts` CTAs have as many but for one: those from `first` to
// `last`.
struct Share {
  U32 parts, first, last;
};
Share share_of(const U32& length, const U32& split, const U32& splits) {
  const U32 blocks = (length + (keys - 1)) / keys, parts = min(blocks, splits);
  return {parts, split * blocks / parts, ((split + 1) * blocks - parts) / parts};
}

// The rows of pages that hold keys of a sequence: the last ones of a page.
template <int page>
struct PageKeys {
  U32 length, column;  // column: this lane's first

  // How many rows of a block's page come before its first key.
  static U32 rows_before(const U32& length, const U32& block, int p) {
    const U32 key = block * keys + p * page;
    return page - select(key < length, min(length - key, page), 0u);
  }
  auto in(const U32& block) const {
    std::vector<S32> before;
    for (int p = 0; p < keys / page; ++p) before.push_back(bit_cast<S32>(rows_before(length, block, p) - column));
    return [before](int, int key) { return before[std::size_t(key / page)] <= key % page; };
  }
};

// A row of O in global memory, of each of a lane's rows, and whether there is one.
struct Result {
  std::vector<U64> rows{};
  std::vector<Pred> there{};

  template <class Value>
  void store(Warpgroup& g, const Value& value) const {
    for (int i = 0; i < Values::elements; i += 2)
      g.st_global(rows[std::size_t(row_of(i))] + Values::Place::at(0, i).column * (bf16::bits / 8),
                  pack<BF16x2>(value(i), value(i + 1)), there[std::size_t(row_of(i))]);
  }
};

// What each CTA of a sequence leaves: of each thread its sums of values, and of its rows the greatest scores and what
// the keys weigh. 16 bytes of a thread lie beside those of the next.
class Parts {
 public:
  static constexpr int vectors = Values::elements / 4 + 1;
  // Threads of a CTA that have rows: those of the warps that do.
  template <class Number>
  static Number threads(const Number& sharing) {
    return (sharing + 15) / 16 * 32;
  }

  Parts(Warpgroup& g, const Pointer<f32>& all, const U32& sharing, const U32& unit, const U32& splits)
      : threads_(threads(sharing)), parts_(all), first_(unit * splits), thread_(g.row()) {}

  template <class Mine>
  void leave(Warpgroup& g, const U32& part, const Mine& mine, const std::vector<F32>& totals) const {
    for (int v = 0; v < vectors - 1; ++v)
      put(g, part, v, {mine.value(4 * v), mine.value(4 * v + 1), mine.value(4 * v + 2), mine.value(4 * v + 3)});
    put(g, part, vectors - 1, {mine.greatest(0), mine.greatest(1), totals[0], totals[1]});
  }
  // The sums of `count` parts, divided by what all keys weigh.
  void add_up(Warpgroup& g, const U32& count, const Result& to) const {
    auto most = g.vars<rows_of_lane>(least), total = g.vars<rows_of_lane>(0.0f);
    auto sums = g.vars<Values::elements>(0.0f);
    g.loop(count, [&](U32 part) {
      const auto scores = get(g, part, vectors - 1);
      for (int r = 0; r < rows_of_lane; ++r) most[r] = max(most[r], scores[r]);
    });
    g.loop(count, [&](U32 part) {
      const auto scores = get(g, part, vectors - 1);
      std::vector<F32> factor;
      for (int r = 0; r < rows_of_lane; ++r) {
        factor.push_back(ex2_approx_ftz((scores[r] - most[r]) * exponent_scale));
        total[r] = fma(scores[rows_of_lane + r], factor.back(), total[r]);
      }
      for (int v = 0; v < vectors - 1; ++v) {
        const auto four = get(g, part, v);
        for (int i = 4 * v; i < 4 * v + 4; ++i) sums[i] = fma(four[i % 4], factor[std::size_t(row_of(i))], sums[i]);
      }
    });
    std::vector<F32> inverse;
    for (int r = 0; r < rows_of_lane; ++r) inverse.push_back(rcp_approx_ftz(total[r]));
    to.store(g, [&](int i) { return sums[i] * inverse[std::size_t(row_of(i))]; });
  }

 private:
  U64 place(const U32& part, int vector) const {
    return parts_.at(multiply_wide(((first_ + part) * vectors + vector) * threads_ + thread_, 4));
  }
  void put(Warpgroup& g, const U32& part, int vector, const std::array<F32, 4>& of) const {
    const auto word = [&](int i) { return bit_cast<U32>(of[std::size_t(i)]); };
    g.st_global_v4(place(part, vector), {word(0), word(1), word(2), word(3)});
  }
  Registers<f32, 4> get(Warpgroup& g, const U32& part, int vector) const {
    return g.ld_global_v4_f32(place(part, vector));
  }

  U32 threads_;
  Pointer<f32> parts_;
  U32 first_, thread_;
};

template <int page>
Kernel build(const std::string& name, Target target) {
  KernelBuilder attention(name, target, warps<5>);
  attention.minnctapersm(1);
  const auto given = declare(attention, parameter_list);
  const U32 sharing = given["sharing"_arg];
  In in(attention);
  const U32 head_of_k = attention.ctaid.x, sequence = attention.ctaid.y, split = attention.ctaid.z;
  const U32 unit = sequence * attention.nctaid.x + head_of_k, splits = attention.nctaid.z;
  const auto length_of = [&](auto& scope) { return scope.ld_global(given["lengths"_arg].at(widen(sequence))); };

  attention.role("softmax", warpgroups<0, 1>, [&](Warpgroups<1>& g) {
    const U32 length = length_of(g);
    const Share share = share_of(length, split, splits);
    g.exit_when(split >= share.parts);
    Rows<1, stages, PageKeys<page>> mine(g, in, [&](const U32&, const U32& column) {
      return PageKeys<page>{length, column};
    });
    mine.begin(share.last);
    g.loop(share.last - share.first, [&](U32 i) { mine.step(false, share.last - 1 - i); });
    mine.end();

    Result result;
    std::vector<F32> total;
    const U32 column = Values::Place::column(g.lane(), 0);
    for (int r = 0; r < rows_of_lane; ++r) {
      const U32 row = mine.row() + 8 * r;
      result.rows.push_back(given["O"_arg].at(multiply_wide(unit * sharing + row, head) + widen(column)));
      result.there.push_back(row < sharing);
      total.push_back(mine.total(r));
    }
    const auto store_alone = [&] {
      std::vector<F32> inverse;
      for (const F32& sum : total) inverse.push_back(rcp_approx_ftz(sum));
      result.store(g, [&](int i) { return mine.value(i) * inverse[std::size_t(row_of(i))]; });
    };
    const auto store_with_others = [&] {
      const Parts parts(g, given["parts"_arg], sharing, unit, splits);
      const U64 counter = given["counters"_arg].at(widen(unit * Parts::threads(sharing) + g.row()));
      parts.leave(g, split, mine, total);
      const U32 others = share.parts - 1, before = g.atom<RedOp::inc>(counter, others, acq_rel_gpu);
      g.when(before >= others, [&] { parts.add_up(g, share.parts, result); });
    };
    // A thread adds up what the same thread of the other CTAs has left, so threads need not wait for each other. Warps
    // that have no row have nothing to leave.
    g.when(mine.first() < sharing, [&] { g.when(share.parts == 1u, store_alone, store_with_others); });
  });
  attention.role("load", warp<4>.elect(), [&](Thread t) {
    const U32 length = length_of(t), last_page = (length - 1) / page;
    const Share share = share_of(length, split, splits);
    t.exit_when(split >= share.parts);
    const U64 table = given["pages"_arg].at(multiply_wide(sequence, given["most_pages"_arg]));
    t.expect_tx(in.q_full, QTile::transaction_bytes);
    t.tma_load(in.q, given["Q"_arg].at(0, unit * sharing, 0), in.q_full);
    const auto load = [&](auto& ring, const Pages& from, const U32& block) {
      std::vector<U32> pages;
      for (int p = 0; p < keys / page; ++p)
        pages.push_back(t.ld_global(table + widen(min(block * (keys / page) + p, last_page)) * 4));
      const auto slot = ring.acquire(t);
      for (int p = 0; p < keys / page; ++p)
        for (int s = 0; s < head / span; ++s)
          t.cp_async_bulk_tensor(
              slot.part(0) + (s * keys + p * page) * (span * bf16::bits / 8),
              from.at(0, -PageKeys<page>::rows_before(length, block, p), s, head_of_k, pages[std::size_t(p)]),
              slot.full);
    };
    load(in.k, given["K"_arg], share.last);
    t.loop(share.last - share.first, [&](U32 i) {
      load(in.k, given["K"_arg], share.last - 1 - i);
      load(in.v, given["V"_arg], share.last - i);
    });
    load(in.v, given["V"_arg], share.first);
  });
  return attention.build();
}

constexpr std::array options{SizeOption{"batch", 3, "sequences"},
                             SizeOption{"n", 512, "keys of the longest sequence"},
                             SizeOption{"heads", 8, "heads of Q and O"},
                             SizeOption{"sharing", 4, "heads of Q that share one of K and V, at most 64"},
                             SizeOption{"page", 64, "keys of a page: 64 or 128"},
                             SizeOption{"splits", 2, "CTAs that share the keys of a sequence, at most 64"}};

std::uint64_t in_range(const Sizes& sizes, const char* name, std::uint64_t most) {
  const std::uint64_t value = sizes.at(name);
  if (value == 0 || value > most)
    throw diag::InputError("--" + std::string(name) + " " + std::to_string(value) + ": must be in [1, " +
                           std::to_string(most) + "]");
  return value;
}

std::uint64_t page_of(const Sizes& sizes) {
  const std::uint64_t page = sizes.at("page");
  if (page != 64 && page != 128) throw diag::InputError("--page " + std::to_string(page) + ": must be 64 or 128");
  return page;
}

launch::TensorMap map_of_pages(const char* buffer, std::uint64_t pages, std::uint64_t page, std::uint64_t heads) {
  constexpr std::uint64_t row = attention_row_bytes;
  launch::TensorMap map;
  map.buffer = buffer;
  map.rank = Pages::rank;
  map.dims = {span, page, head / span, heads, pages};
  map.strides = {0, heads * row, span * bf16::bits / 8, row, page * heads * row};
  map.box = {span, std::uint32_t(page), 1, 1, 1};
  map.swizzle = QTile::swizzle;
  return map;
}

launch::TensorMap map_of_rows(std::uint64_t all) {
  launch::TensorMap map;
  map.buffer = "Q";
  map.rank = QMap::rank;
  map.dims = {span, all, head / span, 1, 1};
  map.strides = {0, attention_row_bytes, span * bf16::bits / 8, 0, 0};
  map.box = {span, rows, head / span, 1, 1};
  map.swizzle = QTile::swizzle;
  return map;
}

}  // namespace

std::span<const SizeOption> attention_wgmma_decode_options() { return options; }

Kernel attention_wgmma_decode(Target target, const Sizes& sizes) {
  if (page_of(sizes) == 64) return build<64>("attention_wgmma_decode", target);
  return build<128>("attention_wgmma_decode", target);
}

launch::Contract attention_wgmma_decode_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t batch = in_range(sizes, "batch", 65535), n = sizes.at("n"), page = page_of(sizes);
  const std::uint64_t heads = in_range(sizes, "heads", 65535), sharing = in_range(sizes, "sharing", rows);
  const std::uint64_t splits = in_range(sizes, "splits", most_splits);
  check_extent("n", n);
  if (heads % sharing != 0)
    throw diag::InputError("--sharing " + std::to_string(sharing) + ": must divide --heads " + std::to_string(heads));
  const std::uint64_t most = pieces(n, page), all = batch * most, heads_of_k = heads / sharing;
  // Pages of a sequence lie apart, and each sequence is shorter than the one before it.
  std::uint64_t step = 5;
  while (std::gcd(step, all) != 1) step += 2;
  std::vector<double> table, lengths;
  for (std::uint64_t i = 0; i < all; ++i) table.push_back(double((i * step + 2) % all));
  for (std::uint64_t i = 0; i < batch; ++i) lengths.push_back(double(pieces(n * (batch - i), batch)));

  launch::Contract c = attention_buffers(1, 1, {});
  c.at("Q").shape = c.at("O").shape = {batch, heads, head};
  c.at("K").shape = c.at("V").shape = {all, page, heads_of_k, head};
  const auto values = launch::Init::Kind::values;
  launch::Buffer& pages = add_workspace(c, "pages", isa::ScalarType::u32, all, values);
  pages.shape = {batch, most}, pages.init.values = table;
  add_workspace(c, "lengths", isa::ScalarType::u32, batch, values).init.values = lengths;
  const std::uint64_t threads = batch * heads_of_k * Parts::threads(sharing);
  add_workspace(c, "parts", isa::ScalarType::f32, threads * splits * Parts::vectors * 4);
  add_workspace(c, "counters", isa::ScalarType::u32, threads, launch::Init::Kind::zeros);
  launch::Expectation& attention = c.expectations.front();
  attention.pages = "pages", attention.lengths = "lengths";
  const launch::Dim3 grid{std::uint32_t(heads_of_k), std::uint32_t(batch), std::uint32_t(splits)};
  launch_kernel(c, kernel, parameter_list, grid, "Q"_arg = map_of_rows(batch * heads),
                "K"_arg = map_of_pages("K", all, page, heads_of_k), "V"_arg = map_of_pages("V", all, page, heads_of_k),
                "O"_arg = "O", "pages"_arg = "pages", "lengths"_arg = "lengths", "most_pages"_arg = most,
                "sharing"_arg = sharing, "parts"_arg = "parts", "counters"_arg = "counters");
  return c;
}

}  // namespace kiln::kernels
