// What the calls see that docstrings of the DSL show: each is compiled as a statement of a member of one of these. No
// object of them is made. tools/snippets chooses the struct by the name of the function, else by that of the header.
#pragma once
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-result"

#include "dsl/dsl.hpp"

#include "dsl/warpgroup_mma.hpp"

namespace kiln::pages {

using namespace kiln::dsl;
using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 256, 64, K_major, swizzle_128B>;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 256>;

namespace frames {

struct Names {
  Warp w;
  Warpgroup g;
  Thread t;
  U32 i, n, row, m, index, first, bytes, elements, k;
  F32 x, sum_of_row;
  U64 flag, address, counter;
  Pointer<f32> pointer;
  Shared<ATile> tile;
};

struct scope_frame : Names {
  U32 a, b;
};
struct vars_frame : Names {
  int i;
};
struct atomics_frame : Warpgroup, Names {
  using Warpgroup::row;
  U64 sum;
};
struct async_stores_frame : Thread {
  U64 address;
  F32 x;
};
struct accumulator_ring_frame : Names {
  AccumulatorSlot<Mma> slot;
};
struct ring_frame : Names {
  Ring<2, ATile, BTile> in;
};
struct builder_frame : Names {};
struct fences_frame : Thread {};
struct launch_frame {};
struct math_frame : Names {};
struct packed_frame {
  F16x2 a, b;
};
struct memory_frame : Warpgroup {
  Shared<SharedTile<bf16, 64, 128, MN_major, swizzle_128B>> tile;
  U32 k;
};
struct shared_access_frame : Warpgroup {
  Warpgroup g;
  Shared<ATile> tile;
  Registers<bf16, 64> values;
  U32 row, m;
};
struct copies_frame : Thread {
  Thread t;
  Shared<ATile> tile;
  TensorMapHandle<bf16, 2> map;
  Pointer<u32> index;
  U32 first;
  Mbarrier full;
  U32 row;
};
struct tma_scatter_frame : Thread {
  Shared<ATile> tile;
  TensorMapHandle<bf16, 2> map;
  U32 (*row)(U32);
};
struct tensormap_replace_frame : Thread {
  U32 map;
};
struct tensor_core_frame : Thread {
  Thread t;
  Mma::Accumulator d;
  KSlice<ATile> a;
  KSlice<BTile> b;
  U32 i, ctas;
};
struct mma_tiles_frame : Thread {
  Thread t;
  Mma::Accumulator d;
  Shared<ATile> a;
  Shared<BTile> b;
  U32 i;
};
struct warpgroup_mma_frame : Names {
  WarpgroupMma& mma;
  WgmmaSums<256> sums;
  Shared<SharedTile<bf16, 64, 64, K_major, swizzle_128B>> a;
  Shared<BTile> b;
};
struct warp_frame : Warpgroup {
  U64 address;
  Pointer<f32> sums;
  Registers<f32, 8> values;
  F32 sum;
  U32 elements, row, m;
};

}  // namespace frames

}  // namespace kiln::pages
