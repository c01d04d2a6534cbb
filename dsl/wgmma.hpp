// MMAs where the tensor core is wgmma (sm_90a), from the same kernel. Sums are then registers of the warps that
// multiply: the role that issues MMAs becomes two warpgroups with 64 rows each, after the kernel's other warps, and the
// warpgroup that stores gets the sums through shared memory, 32 columns at a time. Each CTA of a pair multiplies by
// what its own shared memory holds, so both halves of B go to both CTAs.
#pragma once

#include <optional>
#include <vector>

#include "dsl/tensor_core_target.hpp"
#include "dsl/wgmma_issue.hpp"
#include "ptx/isa/wgmma.hpp"

namespace kiln::dsl {

class Wgmma : public TensorCoreTarget {
 public:
  /// For a kernel whose roles have so many warps.
  Wgmma(int warps, const KernelContext&);

  /// Bytes of a CTA's shared memory for the slots of rings, where a kernel has `others` beside them; and of those that
  /// sums take on their way to other warps.
  static int room_for_slots(isa::Target, int others);
  static int handed_bytes() { return chunks * chunk_bytes; }
  /// Bytes of a part of a slot in each CTA: of what several CTAs of a cluster read it has all that they load.
  static int bytes_in_slot(const SlotPart&, isa::CtaGroup, int pairs);

  SumsPlace place_sums(Storage&, int rows, int columns, const std::string& name, Here at) override;
  RingState& place_accumulators(Storage&, int stages, int columns, const std::string& name, Here at) override;
  void place_slots(Storage&, RingState&, const std::vector<SlotPart>& parts) override;
  void place_rest(Storage&) override;
  int warps(int of_roles) const override { return multiplier_ ? first_warp_ + multiplying_warps : of_roles; }
  int ctas_per_sm() const override { return multiplier_ ? 1 : 0; }
  int sum_width() const override { return multiplies_fp8_ ? isa::wgmma_fp8_width : 0; }
  bool pairs_end_together() const override { return multiplier_.has_value() || in_registers_; }
  /// Roles keep sums of such MMAs in registers of their own: RegisterSums.
  void multiplies_in_registers(const isa::MmaForm& form) {
    in_registers_ = true;
    multiplies_fp8_ = multiplies_fp8_ || form.kind == isa::MmaKind::f8f6f4;
  }
  const RoleContext* moved_role() const override { return multiplier_ ? multiplier_->role : nullptr; }
  std::vector<ir::Statement> moved_role_code(Recorder&, std::vector<ir::Statement> recorded) override;

  std::uint64_t descriptor_word(isa::SharedDescriptor constant) const override { return isa::wgmma_word(constant); }
  ir::Operand a_descriptor(TensorCore&, const ir::Operand& all_rows, const TileShape&, Here at) override;
  void mma(TensorCore&, const MmaCall&, MmaOperands, const TileShape* b, Here at) override;
  void commit(TensorCore&, const Mbarrier&, Here at) override;
  void commit(TensorCore&, const Mbarrier&, const U32& ctas, Here at) override;
  void commit(TensorCore&, const Mbarrier&, const WideMulticast& ctas, Here at) override;
  void commit_to_all(TensorCore&, const Mbarrier&, Here at) override;

  std::vector<ir::Operand> load_sums(Warpgroup&, const SumsPlace&, int registers, bool packed, Here at) override;
  void wait_for_sums(WholeWarps&, Here) override {}  // loads from shared memory fill their registers at once

  Destination destination(const Copies&, const SlotPart&, const U32& part, const ExtraList& extras, Here at) override;

 private:
  static constexpr int multiplying_warpgroups = 2, multiplying_warps = 4 * multiplying_warpgroups;
  static constexpr int rows = 64 * multiplying_warpgroups, chunk_columns = 32;  // of the sums handed over at a time
  static constexpr int chunks = 2;                                              // places for them in shared memory
  static constexpr int block_columns = 8;  // a place has the columns in blocks of 8, each of all rows
  static constexpr int block_bytes = rows * block_columns * 4;
  static constexpr int chunk_bytes = block_bytes * chunk_columns / block_columns;

  // The role that multiplies, and its registers.
  struct Multiplier {
    const RoleContext* role = nullptr;
    std::vector<ir::Operand> sums{};
    ir::Operand group{};         // 0 or 1
    ir::Operand lane{};          // of the warp
    ir::Operand first_thread{};  // whether it is the role's first
    ir::Operand place{};         // from a chunk's start to this thread's first sum
    std::optional<SlotUnderWay> slot{};
  };
  // The chunk that the storing role reads, and how many of its columns it has read.
  struct Reading {
    ir::Operand place, empty;
    int columns = 0;
  };

  bool is_shared(const SlotPart&) const;
  Multiplier& multiplier(TensorCore&, Here at);
  void hand_over_sums(TensorCore&, Here at);
  void read_block(Warpgroup&, int block, std::vector<ir::Operand>& out, Here at);

  int first_warp_;  // of those that multiply
  isa::CtaGroup group_;
  int pairs_;  // of a cluster
  RingState* sums_ = nullptr;           // the places; null until the kernel has an accumulator
  int columns_ = 0;                     // of the accumulator
  std::vector<RingState*> unplaced_{};  // rings that take as many slots as there is room for
  std::optional<Multiplier> multiplier_{};
  bool multiplies_fp8_ = false, in_registers_ = false;
  bool is_open_ = false;              // MMAs were issued that no commit followed
  std::optional<Reading> reading_{};
  int next_column_ = 0;  // that the storing role must read
};

}  // namespace kiln::dsl
