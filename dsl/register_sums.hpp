// Sums that stay in the registers of the warpgroup which multiplies, where the tensor core is wgmma: for kernels whose
// MMAs and tiles are values. The warpgroup itself stores them, so they need no way to other warps.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <memory>
#include <optional>
#include <vector>

#include "dsl/mma.hpp"
#include "dsl/warp.hpp"

namespace kiln::dsl {

class SlotUnderWay;

/// A warpgroup's f32 or s32 sums of an MMA's rows of this CTA, in blocks of 64 rows: all blocks or some that follow one
/// another. A warp has 16 rows of each block, a lane of it what SumsFragment says. PTX ISA "wgmma.mma_async".
class RegisterSums {
 public:
  /// In a role of one warpgroup. `mma` has 128 rows a CTA; two such roles may have a block each.
  RegisterSums(Warpgroup& g, const MmaSpec& mma, int first_block, int blocks, Here at = {});

  /// Other sums of the same MMA: each commit of either gives back the slot before, whose products are then complete.
  RegisterSums another() const;
  int blocks() const { return blocks_; }
  /// Adds the products of a slot's tiles, or where `more` is false begins with them. Where `b` has fewer rows than the
  /// MMA has columns, these are the sums' first columns.
  void multiply(const AnyShared& a, const AnyShared& b, const EnableInputD& more, Here at = {});
  void multiply(const AnyShared& a, const AnyShared& b, const Pred& more, Here at = {}) {
    multiply(a, b, accumulate(more, at), at);
  }
  /// The MMAs since the last commit read a slot: it is given back while those of the next one are under way.
  void commit(const Mbarrier& empty, Here at = {});
  /// Waits for all MMAs, gives the last slot back, and the sums may be read.
  void finish(Here at = {});
  /// This lane's sums of `count` columns of a block, from a multiple of 8 on: elements of SumsFragment<count>. They are
  /// what the sums are now, whatever is multiplied later.
  AnyRegisters columns(int block, int first, int count, Here at = {}) const;
  /// Adds such values to them, or where `more` is false puts them in their place. PTX ISA "add".
  void add(const AnyRegisters& values, int block, int first, const Pred& more, Here at = {});
  /// Writes the sums of a block, from column `first` on, to a K-major tile of 64 rows of 32 of them, in lines of 128
  /// bytes with their swizzle: two neighbours at a time. PTX ISA "st".
  void store(const AnyShared& to, int block, int first, Here at = {});

 private:
  std::vector<ir::Operand> of_columns(int block, int first, int count, Here at) const;

  Warpgroup g_;
  MmaSpec mma_;
  int first_block_, blocks_;
  std::vector<std::vector<ir::Operand>> sums_{};  // of each block
  std::shared_ptr<SlotUnderWay> slot_{};
  // Where this lane's sums go in a tile of 64 rows of 128 bytes, and whether its rows are odd ones.
  struct WordPlace {
    ir::Operand in_tile, is_odd;
  };
  std::optional<WordPlace> word_place_{};
};

}  // namespace kiln::dsl
