// MMAs where the tensor core is tcgen05: sums live in tensor memory, one thread issues for a CTA or a pair, and the
// tensor core of a pair reads the peer's half of B where it lies.
#pragma once

#include "dsl/tensor_core_target.hpp"

namespace kiln::dsl {

class Tcgen05 : public TensorCoreTarget {
 public:
  SumsPlace place_sums(Storage&, int rows, int columns, const std::string& name, Here at) override;
  RingState& place_accumulators(Storage&, int stages, int columns, const std::string& name, Here at) override;
  void place_slots(Storage&, RingState&, const std::vector<SlotPart>& parts) override;

  std::uint64_t descriptor_word(isa::SharedDescriptor constant) const override { return constant.word(); }
  ir::Operand a_descriptor(TensorCore&, const ir::Operand& all_rows, const TileShape&, Here) override {
    return all_rows;
  }
  void mma(TensorCore&, const MmaCall&, MmaOperands, const TileShape* b, Here at) override;
  void commit(TensorCore&, const Mbarrier&, Here at) override;
  void commit(TensorCore&, const Mbarrier&, const U32& ctas, Here at) override;
  void commit(TensorCore&, const Mbarrier&, const WideMulticast& ctas, Here at) override;
  void commit_to_all(TensorCore&, const Mbarrier&, Here at) override;

  std::vector<ir::Operand> load_sums(Warpgroup&, const SumsPlace&, int registers, bool packed, Here at) override;
  void wait_for_sums(WholeWarps&, Here at) override;

  Destination destination(const Copies&, const SlotPart&, const U32& part, const ExtraList& extras, Here at) override;
};

}  // namespace kiln::dsl
