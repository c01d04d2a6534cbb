// How a kernel deals a product out, in numbers: what decides its time, known before there is a kernel.
#pragma once

#include <cstdint>

#include "ptx/isa/mma_form.hpp"

namespace kiln::launch {

/// D[m, n] = A[m, k] * B[n, k]^T, of `matrices` in a batch and `products` that share A.
struct Tiling {
  isa::MmaKind kind{};
  std::uint64_t m = 1, n = 1, k = 1, matrices = 1;
  int products = 1;
  int a_bits = 16, b_bits = 16, d_bits = 16;  // of an element in global memory

  int rows = 128, columns = 128;   // of the tile that CTAs share
  int ctas = 1;                    // that share it
  int pairs = 1;                   // of CTAs in a cluster: their tiles stand side by side, and share rows of A
  int slot_k = 64, mmas = 4;       // elements of K in a slot of the ring, and MMAs of each product for them
  int stages = 1;                  // slots
  int accumulators = 1;            // with two, one is stored while the other is summed up
  std::uint64_t slot_bytes = 0;    // that each CTA loads for a slot
  std::uint64_t slot_rows = 0;     // of the boxes that bring them
  std::uint64_t copied_bytes = 0;  // of them, those that go on to tensor memory: scales, metadata
  std::uint64_t splits = 1;        // parts of K that are summed up apart, and then added
  bool all_add = false;            // by all that have parts, a slice of the tile each; or by the last one
  bool stream_k = false;           // the tiles that fill no whole round are shared evenly, by parts of their K
  std::uint64_t most_ctas = 0;     // of a persistent kernel; 0: as many as its tiles need
  int rows_together = 0;           // rows of tiles that are walked together; 0: all
  bool launch_control = false;     // running CTAs take tiles over from those that have not started
  int store_columns = 8;           // that the epilogue stores at a time
  bool stores_by_copy = false;     // out of shared memory, by TMA
  bool multipliers_store = false;  // wgmma: two warpgroups, out of their registers
  bool stores_columns = false;     // of D: lanes that follow one another have elements that do, too
  bool by_turns = false;           // each of them has tiles of its own: one stores while the other multiplies

  int cluster() const { return ctas * pairs; }  // CTAs

  bool operator==(const Tiling&) const = default;
};

/// Of so many tiles of `blocks` slots, dealt out to so many CTAs or pairs, those whose K is shared by `stream_k`. Fewer
/// than there are CTAs: all. Else none where they fill whole rounds, or those that fill none. Where these are so few
/// that each would have many parts, a whole round more: then no tile has more than two.
constexpr std::uint64_t shared_tiles(std::uint64_t tiles, std::uint64_t groups, std::uint64_t blocks) {
  constexpr std::uint64_t most_parts = 8;
  const std::uint64_t rest = tiles % groups;
  if (rest == 0 || tiles < groups) return rest;
  return rest * most_parts >= groups && rest * blocks >= groups ? rest : rest + groups;
}

}  // namespace kiln::launch
