// What kernels of attention by tcgen05 have in common: blocks of 128 keys, tiles of 128 rows, a row each thread, and
// which keys a row sees. For kernels/*.cpp alone.
#pragma once

#include "kernels/attention_heads.hpp"

namespace kiln::kernels::by_tcgen05 {

using namespace heads;

constexpr int rows = 128;
constexpr int part = 32;  // columns that are loaded at a time where time does not count

using QTile = SharedTile<bf16, rows, head, K_major, swizzle_128B>;
using ScoresMma = tcgen05_mma<kind_f16, bf16, bf16, f32, rows, keys>;
using ValuesMma = tcgen05_mma<kind_f16, bf16, bf16, f32, rows, head>;
using Scores = ScoresMma::Accumulator;
using Sums = ValuesMma::Accumulator;
using Probabilities = TmemA<bf16, rows, keys>;
static_assert(rows == keys);

// How many of the keys before `end` are a block's or come after it.
inline U32 keys_left(const U32& end, const U32& block) {
  const U32 from = block * keys;
  return select(from < end, end - from, 0);
}

// What the rows of a CTA of so many tiles see: `blocks` blocks of keys from `first` on. cuts(tile, block): some row of
// the tile does not see all of the block; sees(scope, tile, block) then says which of its keys this thread's row sees.
template <int tiles>
struct AllKeys {
  static constexpr auto parameter_list = parameters();
  Extents of;
  U32 blocks = (of.n + (keys - 1)) / keys;

  static auto maker(KernelBuilder&) {
    return [](const Extents& of) { return AllKeys{of}; };
  }
  U32 first() const { return {of.n.recorder(), ir::Operand::number(0)}; }
  Pred cuts(int, const U32& block) const { return block + 1 >= blocks; }
  auto sees(Warpgroup&, int, const U32& block) const {
    return [left = keys_left(of.n, block)](int column) { return left > column; };
  }
};
// None that comes later than a row's own.
template <int tiles>
struct KeysSoFar {
  static constexpr auto parameter_list = parameters();
  Extents of;
  U32 blocks = (of.end(tiles * rows - 1) + (keys - 1)) / keys;

  static auto maker(KernelBuilder&) {
    return [](const Extents& of) { return KeysSoFar{of}; };
  }
  U32 first() const { return {of.n.recorder(), ir::Operand::number(0)}; }
  // The last keys of a tile's rows lie in two blocks at most.
  Pred cuts(int, const U32& block) const { return block + (tiles + 1) >= blocks; }
  auto sees(Warpgroup& g, int tile, const U32& block) const {
    return [left = keys_left(of.end(g.row() + tile * rows), block)](int column) { return left > column; };
  }
};
// Of these the last ones, as many as the window has.
template <int tiles>
struct LastKeys : KeysOfWindow {
  U32 from = begin(0) / keys, blocks = (of.end(tiles * rows - 1) + (keys - 1)) / keys - from;

  static auto maker(KernelBuilder& b) {
    return [window = declare(b, parameter_list)["window"_arg]](const Extents& of) { return LastKeys{{of, window}}; };
  }
  U32 first() const { return from; }
  Pred cuts(int tile, const U32& block) const {
    const U32 key = block * keys;
    return key < begin(tile * rows + (rows - 1)) || key + keys > of.end(tile * rows);
  }
  auto sees(Warpgroup& g, int tile, const U32& block) const {
    const U32 row = g.row() + tile * rows;  // what lies before the begin is a large number
    return [after = block * keys - begin(row), of = count(row)](int column) { return after + column < of; };
  }
};

// The greatest of a row's scores: three by an instruction.
template <int columns>
F32 greatest_of(Warpgroup& g, const Registers<f32, columns>& scores) {
  std::vector<F32> left;
  for (int i = 0; i < columns; ++i) left.push_back(scores[i]);
  while (left.size() > 1) {
    std::vector<F32> next;
    std::size_t i = 0;
    for (; i + 2 < left.size(); i += 3)
      next.push_back(g.ptx<"max.f32", F32(F32, F32, F32)>(left[i], left[i + 1], left[i + 2]));
    if (i + 1 < left.size())
      next.push_back(max(left[i], left[i + 1]));
    else if (i < left.size())
      next.push_back(left[i]);
    left = std::move(next);
  }
  return left.front();
}

// Has keys that a row does not see weigh nothing: those of some columns of scores, from `first` of the block on.
template <int columns, class Sees>
void leave_out(Warpgroup& g, const Tmem<f32, rows, columns>& scores, const Sees& sees, int first = 0) {
  for (int c = 0; c < columns; c += part) {
    const auto loaded = g.wait(g.load(scores.template columns<part>(c)));
    g.store(scores.template columns<part>(c),
            make_registers<part>([&](int i) { return select(sees(first + c + i), loaded[i], unseen_score); }));
  }
  g.tcgen05_wait_st();
}

}  // namespace kiln::kernels::by_tcgen05
