// Elements that share scales, and the slots in which they and their scales come: for kernels whose tiles have 128 rows.
// nvfp4 is e2m1 with a ue4m3 scale for 16 of them along K, in f16; mxfp8 is e4m3 with a ue8m0 scale for 32, in bf16.
// Scales lie in the chunks that tcgen05.cp takes to tensor memory (isa::scale_index). For kernels/*.cpp alone.
#pragma once

#include <optional>

#include "kernels/operands.hpp"

namespace kiln::kernels::scaled {

using namespace kiln::dsl;

constexpr int M = 128;
constexpr int a = 0, b = 1, sfa = 2, sfb = 3;  // places in a slot
using ScaleMap = TensorMapHandle<u32, 3>;

// Elements and scales; K: elements of a row in a slot, 128 bytes.
struct Nvf4 {
  using Element = e2m1;
  using Scale = ue4m3;
  using Result = f16;
  static constexpr int block = 16, K = 256;
  template <int N>
  using Mma = tcgen05_mma<kind_mxf4nvf4, e2m1, e2m1, f32, M, N, block16>;
};
struct Mxf8 {
  using Element = e4m3;
  using Scale = ue8m0;
  using Result = bf16;
  static constexpr int block = 32, K = 128;
  template <int N>
  using Mma = tcgen05_mma<kind_mxf8f6f4, e4m3, e4m3, f32, M, N>;
};

// The slots of a tile N columns wide, and where their scales go.
template <class Format, int N_, int stages>
struct Slots {
  static constexpr int N = N_, K = Format::K;
  using Mma = typename Format::template Mma<N>;
  static constexpr int steps = K / Mma::K;
  using ATile = typename Mma::template ATile<K, K_major, swizzle_128B>;
  using BTile = typename Mma::template BTile<K, K_major, swizzle_128B>;
  template <int rows>
  using Scales = ScaleTile<typename Format::Scale, rows, K / Format::block>;
  using Ring = dsl::Ring<stages, ATile, BTile, Scales<M>, Scales<N>>;

  Ring in;
  TmemArray<stages, SFA<Mma, steps>> of_a;
  TmemArray<stages, SFB<Mma, steps>> of_b;

  explicit Slots(KernelBuilder& gemm)
      : in(gemm.ring<stages, ATile, BTile, Scales<M>, Scales<N>>("in")),
        of_a(gemm.tensor_memory<stages, SFA<Mma, steps>>("sfa")),
        of_b(gemm.tensor_memory<stages, SFB<Mma, steps>>("sfb")) {}

  // Brings the chunks of scales of 128 rows, with that number; `first`: before how many rows of chunks of the tile.
  template <class Tile>
  static void load_scales(Thread& t, const Shared<Tile>& to, int first, const ScaleMap& from, const U32& k_block,
                          const U32& chunk, const AnyMbarrier& full) {
    constexpr int bytes = Scales<M>::bytes;
    t.tma_load(SlotPart{bytes, bytes}, to.address + first * bytes, from.at(0, k_block * Scales<M>::groups, chunk),
               full);
  }

  // Multiplies so many slots into the sums. The scales of B begin with that row of their chunks, a multiple of 32.
  template <class Sums>
  void multiply(Thread& t, const Sums& sums, const U32& k_blocks, const std::optional<U32>& first_row = {}) {
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = in.wait(t);
      const auto scales_a = of_a.at(slot.stage);
      const auto chunks_b = of_b.at(slot.stage);
      const auto scales_b = first_row ? chunks_b.from_row(*first_row) : chunks_b;
      t.copy(scales_a, slot.template get<sfa>());
      t.copy(chunks_b, slot.template get<sfb>());
      for (int step = 0; step < steps; ++step)
        t.mma<Mma>(sums, slot.template get<a>().k_slice(step * Mma::K), slot.template get<b>().k_slice(step * Mma::K),
                   accumulate(i != 0 || step != 0), scales(scales_a.at(step), scales_b.at(step)));
      t.commit(slot.empty);
    });
  }
};

// The map of a buffer of scales, of one matrix or of several, with boxes of what a slot has of 128 rows.
template <class Slots>
launch::TensorMap map_of_scales(const launch::Contract& c, const std::string& name) {
  launch::TensorMap map = scale_map(c, name, 1, Slots::template Scales<M>::groups);
  const launch::Buffer& scales = c.at(name);
  if (scales.shape.size() < 4) return map;
  map.dims[1] = scales.shape[2], map.dims[2] = scales.shape[0] * scales.shape[1];
  map.strides[2] = scales.shape[2] * isa::scale_chunk_bytes;
  return map;
}

// Elements of which a row along K has whole multiples: 16 bytes, and blocks.
template <class Format>
constexpr std::uint64_t k_multiple = std::max<std::uint64_t>(Format::block, 128 / Format::Element::bits);

template <class Format>
GemmSizes scaled_sizes(const Sizes& sizes) {
  return gemm_sizes(sizes, k_multiple<Format>);
}

}  // namespace kiln::kernels::scaled
