// What issues wgmma: the instruction, waits for its groups, and slots that are given back when their MMAs are done. For
// dsl/*.cpp alone.
#pragma once

#include <vector>

#include "dsl/mbarrier.hpp"
#include "ptx/isa/mma_shape.hpp"
#include "ptx/isa/wgmma.hpp"

namespace kiln::dsl {

/// The sums that a thread has of `columns` columns of 64 rows, of 32 bits.
std::vector<ir::Operand> thread_sums(Recorder&, ScalarType, int columns);
/// The descriptor of A or a vector of its registers, the descriptor of B, and the predicate that says whether to add.
struct WgmmaOperands {
  ir::Operand a, b, enable_input_d;
};
/// One wgmma of so many columns.
void issue_wgmma(Recorder&, const isa::MmaForm&, const isa::MmaShape&, int columns, std::vector<ir::Operand> sums,
                 const WgmmaOperands&, Here at);
/// Waits until all but the last `groups` commits are done.
void wait_for_groups(Recorder&, int groups, Here at);

/// The slot that the warps of a role multiply. It is given back, to all CTAs of the cluster, when its MMAs are done:
/// after those of the next slot have been issued.
class SlotUnderWay {
 public:
  /// Written at the role's entry. `lane` of the warp; `ctas` of the cluster.
  SlotUnderWay(Recorder&, const ir::Operand& lane, int ctas, Here at);

  /// The MMAs of a slot are a commit group: gives the slot before it back, and keeps this one. Each of `warps` arrives.
  void commit(Recorder&, const Mbarrier& empty, int warps, Here at);
  /// Waits for all groups and gives the last slot back.
  void finish(Recorder&, Here at);
  /// None is under way.
  void reset(Recorder&, Here at);

 private:
  void release(Recorder&, Here at);

  ir::Operand lane_;
  int ctas_;
  ir::Operand arrives_;  // whether this lane arrives on the mbarriers of a CTA: lane n on those of rank n
  ir::Operand pending_;  // the mbarrier of the slot; 0: none
};

}  // namespace kiln::dsl
