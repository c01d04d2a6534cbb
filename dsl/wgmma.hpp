// MMAs where the tensor core is wgmma (sm_90a), from the same kernel. Sums are then registers of the warps that
// multiply: the role that issues MMAs becomes two warpgroups with 64 rows each, behind the kernel's other warps, and the
// warpgroup that stores gets the sums through shared memory, 32 columns at a time.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "dsl/types.hpp"
#include "ptx/ir/module.hpp"
#include "ptx/isa/wgmma.hpp"

namespace kiln::dsl {

struct RingState;

/// What a kernel knows of its MMAs on such a target. Owned by the builder.
struct WgmmaContext {
  static constexpr int warpgroups = 2, warps = 4 * warpgroups;  // that multiply
  static constexpr int rows = 64 * warpgroups, chunk_columns = 32;  // of the sums that are handed over at a time
  static constexpr int chunks = 2;                                  // places for them in shared memory
  static constexpr int block_columns = 8;  // a place has the columns in blocks of 8, each of all rows
  static constexpr int block_bytes = rows * block_columns * 4;
  static constexpr int chunk_bytes = block_bytes * chunk_columns / block_columns;

  int first_warp = 0;         // of those that multiply
  RingState* sums = nullptr;  // the places; null until the kernel has an accumulator
  int columns = 0;            // of the accumulator

  /// The role that multiplies, and its registers.
  struct Multiplier {
    const void* role = nullptr;
    std::vector<ir::Operand> sums{};
    ir::Operand group{};         // 0 or 1
    ir::Operand lane{};          // of the warp
    ir::Operand arrives{};       // whether it arrives on the mbarriers of a CTA: lane n on those of rank n
    ir::Operand first_thread{};  // whether it is the role's first
    ir::Operand place{};         // from a chunk's start to this thread's first sum
    ir::Operand pending{};       // the mbarrier that the commit before the last one is for; 0: none
  };
  std::optional<Multiplier> multiplier{};
  bool is_open = false;              // MMAs were issued that no commit followed
  std::set<const bool*> released{};  // the rings that it empties, by their flag

  /// The chunk that the storing role reads, and how many of its columns it has.
  struct Reading {
    ir::Operand place, empty;
    int columns = 0;
  };
  std::optional<Reading> reading{};
  int next_column = 0;  // that it must read
};

}  // namespace kiln::dsl
