// wgmma: operands that the tensor cores of a warpgroup read in shared memory, and the groups of operations that its
// warps wait for. What its registers hold is data.
#pragma once

#include "verifier/explore/memory.hpp"

namespace kiln::verifier::explore {

class Warpgroups {
 public:
  Warpgroups(const Program& program, Findings& findings, Values& values, Memory& memory, TileJudge& tiles)
      : program_(program), findings_(findings), values_(values), memory_(memory), tiles_(tiles) {}

  /// wgmma.mma_async, commit_group or wait_group.
  Status execute(const Turn&);

 private:
  Status multiply(const Turn&);
  void read(const Turn&, EventId, const ir::Argument& descriptor, bool is_a);
  void wait(const Turn&);

  const Program& program_;
  Findings& findings_;
  Values& values_;
  Memory& memory_;
  TileJudge& tiles_;
};

/// Threads wait for other warps to come to their wgmma.
bool awaits_warpgroup(const State&);

}  // namespace kiln::verifier::explore
