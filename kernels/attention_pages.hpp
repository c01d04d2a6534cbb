// Attention while text is generated: a row of Q for each sequence and head, keys and values in pages that a table
// names. Heads of Q that share one of K and V are rows of one MMA, so a page is read once for all of them: what decides
// is how fast memory gives the pages. Several CTAs share the keys of a sequence (--splits); each leaves what its keys
// come to in global memory, and the one that comes last adds all parts up, always in one order.
//
// The last page of a sequence is copied such that its keys lie in the last rows of a tile. The rows before them lie
// outside of the page and are zero; what follows a sequence's keys is not read and may be anything. Blocks go from the
// last key to the first. Here is what kernels of both chips have in common. For kernels/*.cpp alone.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/attention_heads.hpp"

namespace kiln::kernels::pages {

using namespace heads;

constexpr int rows = 64, stages = 3;  // rows: of Q, at most
constexpr std::uint64_t most_splits = 64;

using In = Inputs<rows, stages>;
using QMap = TensorMapHandle<bf16, 3>;   // elements of a swizzle span, heads of all sequences, spans of a row
using Pages = TensorMapHandle<bf16, 5>;  // elements of a swizzle span, keys of a page, spans of a row, heads, pages

constexpr auto parameter_list =
    parameters("Q"_arg.is<QMap>(), "K"_arg.is<Pages>(), "V"_arg.is<Pages>(), "O"_arg.is<Pointer<bf16>>(),
               "pages"_arg.is<Pointer<u32>>(), "lengths"_arg.is<Pointer<u32>>(), "most_pages"_arg.is<u32>(),
               "sharing"_arg.is<u32>(), "parts"_arg.is<Pointer<f32>>(), "counters"_arg.is<Pointer<u32>>());

// A CTA's head, sequence and part of its keys.
struct Place {
  U32 head_of_k, sequence, split, splits, unit;  // unit: the head and sequence

  explicit Place(KernelBuilder& b)
      : head_of_k(b.ctaid.x),
        sequence(b.ctaid.y),
        split(b.ctaid.z),
        splits(b.nctaid.z),
        unit(sequence * b.nctaid.x + head_of_k) {}
};

// What a CTA has of the blocks of a sequence, of which `parts` CTAs have as many but for one: those from `first` to
// `last`.
struct Share {
  U32 parts, first, last;
};
inline Share share_of(const U32& length, const U32& split, const U32& splits) {
  const U32 blocks = (length + (keys - 1)) / keys, parts = min(blocks, splits);
  return {parts, split * blocks / parts, ((split + 1) * blocks - parts) / parts};
}

// How many rows of a page come before the first that holds a key of the sequence, given the page's first key.
template <int page>
U32 rows_before(const U32& length, const U32& key) {
  return page - select(key < length, min(length - key, page), 0u);
}

// Threads of a CTA that have rows: those of the warps that do, 16 each.
template <class Number>
Number threads_with_rows(const Number& sharing) {
  return (sharing + 15) / 16 * 32;
}

// What each CTA of a sequence leaves: of each thread its sums of values, and of its rows the greatest scores and what
// the keys weigh. 16 bytes of a thread lie beside those of the next. A thread adds up what the same thread of the other
// CTAs has left, so threads need not wait for each other. A thread has `elements` sums, element i of the row row_of(i)
// of its `rows_of_lane` rows.
template <int elements, int rows_of_lane, int (*row_of)(int)>
class Parts {
 public:
  static constexpr int vectors = elements / 4 + 1;
  template <class Given>
  Parts(Warpgroup& g, const Given& given, const Place& at)
      : place_(at),
        threads_(threads_with_rows<U32>(given["sharing"_arg])),
        thread_(g.row()),
        parts_(given["parts"_arg]),
        counter_(given["counters"_arg].at(widen(at.unit * threads_ + thread_))) {}

  // Leaves this CTA's part of `count`; of the last one to come, store(value) of the sums of all.
  template <class Value, class Store>
  void combine(Warpgroup& g, const U32& count, const Value& value, const std::vector<F32>& greatest,
               const std::vector<F32>& totals, const Store& store) const {
    leave(g, place_.split, value, greatest, totals);
    const U32 others = count - 1, before = g.atom<RedOp::inc>(counter_, others, acq_rel_gpu);
    g.when(before >= others, [&] { add_up(g, count, store); });
  }

 private:
  template <class Value>
  void leave(Warpgroup& g, const U32& part, const Value& value, const std::vector<F32>& greatest,
             const std::vector<F32>& totals) const {
    for (int v = 0; v < vectors - 1; ++v)
      put(g, part, v, {value(4 * v), value(4 * v + 1), value(4 * v + 2), value(4 * v + 3)});
    put(g, part, vectors - 1, {greatest.front(), greatest.back(), totals.front(), totals.back()});
  }
  // store(value) of the sums of `count` parts, divided by what all keys weigh.
  template <class Store>
  void add_up(Warpgroup& g, const U32& count, const Store& store) const {
    auto most = g.vars<rows_of_lane>(least_score), total = g.vars<rows_of_lane>(0.0f);
    auto sums = g.vars<elements>(0.0f);
    g.loop(count, [&](U32 part) {
      const auto scores = get(g, part, vectors - 1);
      for (int r = 0; r < rows_of_lane; ++r) most[r] = max(most[r], scores[r]);
    });
    g.loop(count, [&](U32 part) {
      const auto scores = get(g, part, vectors - 1);
      std::vector<F32> factor;
      for (int r = 0; r < rows_of_lane; ++r) {
        factor.push_back(ex2_approx_ftz((scores[r] - most[r]) * exponent_scale));
        total[r] = fma(scores[2 + r], factor.back(), total[r]);
      }
      for (int v = 0; v < vectors - 1; ++v) {
        const auto four = get(g, part, v);
        for (int i = 4 * v; i < 4 * v + 4; ++i) sums[i] = fma(four[i % 4], factor[std::size_t(row_of(i))], sums[i]);
      }
    });
    std::vector<F32> inverse;
    for (int r = 0; r < rows_of_lane; ++r) inverse.push_back(rcp_approx_ftz(total[r]));
    store([&](int i) { return sums[i] * inverse[std::size_t(row_of(i))]; });
  }

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

  Place place_;
  U32 first_ = place_.unit * place_.splits, threads_, thread_;
  Pointer<f32> parts_;
  U64 counter_;
};

// The thread that loads: Q, and the pages of each block of the CTA's share.
template <int page, class Given>
void load_pages(Thread t, In& in, const Given& given, const Place& at) {
  const U32 length = t.ld_global(given["lengths"_arg].at(widen(at.sequence))), last_page = (length - 1) / page;
  const Share share = share_of(length, at.split, at.splits);
  t.exit_when(at.split >= share.parts);
  const U64 table = given["pages"_arg].at(multiply_wide(at.sequence, given["most_pages"_arg]));
  t.expect_tx(in.q_full, In::QTile::transaction_bytes);
  t.tma_load(in.q, given["Q"_arg].at(0, at.unit * given["sharing"_arg], 0), in.q_full);
  const auto load = [&](auto& ring, const Pages& from, const U32& block) {
    std::vector<U32> pages;
    for (int p = 0; p < keys / page; ++p)
      pages.push_back(t.ld_global(table + widen(min(block * (keys / page) + p, last_page)) * 4));
    const auto slot = ring.acquire(t);
    for (int p = 0; p < keys / page; ++p)
      for (int s = 0; s < head / span; ++s)
        t.cp_async_bulk_tensor(
            slot.part(0) + (s * keys + p * page) * (span * bf16::bits / 8),
            from.at(0, -rows_before<page>(length, block * keys + p * page), s, at.head_of_k, pages[std::size_t(p)]),
            slot.full);
  };
  load(in.k, given["K"_arg], share.last);
  t.loop(share.last - share.first, [&](U32 i) {
    load(in.k, given["K"_arg], share.last - 1 - i);
    load(in.v, given["V"_arg], share.last - i);
  });
  load(in.v, given["V"_arg], share.first);
}

inline constexpr std::array options{SizeOption{"batch", 3, "sequences"},
                                    SizeOption{"n", 512, "keys of the longest sequence"},
                                    SizeOption{"heads", 8, "heads of Q and O"},
                                    SizeOption{"sharing", 4, "heads of Q that share one of K and V, at most 64"},
                                    SizeOption{"page", 64, "keys of a page: 64 or 128"},
                                    SizeOption{"splits", 2, "CTAs that share the keys of a sequence, at most 64"}};

/// --page. Throws diag::InputError where it is neither 64 nor 128.
std::uint64_t page_of(const Sizes&);
/// The problem, where a thread leaves so many times 16 bytes in a part.
launch::Contract pages_problem(const Kernel&, const Sizes&, int vectors);

}  // namespace kiln::kernels::pages
