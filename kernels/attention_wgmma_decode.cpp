// Attention while text is generated, on Hopper: keys in pages (attention_pages.hpp), softmax and sums in registers of a
// warpgroup (attention_wgmma.hpp).
#include "kernels/attention_pages.hpp"
#include "kernels/attention_wgmma.hpp"
#include "kernels/by_hand.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace by_wgmma;
using namespace pages;

namespace {

using Scores = WgmmaSums<keys>;
using Values = WgmmaSums<head>;

// The rows of pages that hold keys of a sequence: the last ones of a page.
template <int page>
struct PageKeys {
  U32 length, column;  // column: this lane's first

  auto in(const U32& block) const {
    std::vector<S32> before;
    for (int p = 0; p < keys / page; ++p)
      before.push_back(bit_cast<S32>(rows_before<page>(length, block * keys + p * page) - column));
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

using LaneParts = Parts<Values::elements, rows_of_lane, row_of>;

template <int page>
Kernel build(const std::string& name, Target target) {
  KernelBuilder attention(name, target, warps<5>);
  attention.minnctapersm(1);
  const auto given = declare(attention, parameter_list);
  const U32 sharing = given["sharing"_arg];
  In in(attention);
  const Place at(attention);

  attention.role("softmax", warpgroups<0, 1>, [&](Warpgroups<1>& g) {
    const U32 length = g.ld_global(given["lengths"_arg].at(widen(at.sequence)));
    const Share share = share_of(length, at.split, at.splits);
    g.exit_when(at.split >= share.parts);
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
      result.rows.push_back(given["O"_arg].at(multiply_wide(at.unit * sharing + row, head) + widen(column)));
      result.there.push_back(row < sharing);
      total.push_back(mine.total(r));
    }
    const auto store_alone = [&] {
      std::vector<F32> inverse;
      for (const F32& sum : total) inverse.push_back(rcp_approx_ftz(sum));
      result.store(g, [&](int i) { return mine.value(i) * inverse[std::size_t(row_of(i))]; });
    };
    const auto store_with_others = [&] {
      const LaneParts parts(g, given, at);
      parts.combine(
          g, share.parts, [&](int i) { return mine.value(i); }, {mine.greatest(0), mine.greatest(1)}, total,
          [&](const auto& value) { result.store(g, value); });
    };
    // Warps that have no row have nothing to leave.
    g.when(mine.first() < sharing, [&] { g.when(share.parts == 1u, store_alone, store_with_others); });
  });
  attention.role("load", warp<4>.elect(), [&](Thread t) { load_pages<page>(t, in, given, at); });
  return attention.build();
}

}  // namespace

std::span<const SizeOption> attention_wgmma_decode_options() { return options; }

Kernel attention_wgmma_decode(Target target, const Sizes& sizes) {
  if (page_of(sizes) == 64) return build<64>("attention_wgmma_decode", target);
  return build<128>("attention_wgmma_decode", target);
}

launch::Contract attention_wgmma_decode_problem(const Kernel& kernel, const Sizes& sizes) {
  return pages_problem(kernel, sizes, LaneParts::vectors);
}

}  // namespace kiln::kernels
