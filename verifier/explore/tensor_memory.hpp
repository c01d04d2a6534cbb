// tcgen05: allocation of tensor memory, the tensor core's queue and the operands that it reads, loads and stores.
#pragma once

#include "verifier/explore/barriers.hpp"
#include "verifier/footprint.hpp"

namespace kiln::verifier::explore {

class TensorMemory {
 public:
  TensorMemory(const Program& program, Findings& findings, Values& values, Memory& memory, Barriers& barriers,
               TileJudge& tiles)
      : program_(program), findings_(findings), values_(values), memory_(memory), barriers_(barriers), tiles_(tiles) {}

  /// A tcgen05 instruction.
  Status execute(const Turn&);
  /// The threads read registers: a load of which every register was read is done.
  void consume_loads(const Turn&);

 private:
  void allocate(const Turn&);
  void meet_peer(const Turn&);
  void deallocate(const Turn&);
  void multiply(const Turn&);
  void commit(const Turn&);
  void load_or_store(const Turn&);
  void touch(const Turn&, EventId, std::uint32_t cta, const Footprint&);
  std::optional<KnownOperand> known_operand(const Turn&, const ops::Mma&, bool is_a);
  EventId read_operand(const Turn&, std::uint32_t cta, const ir::Argument& descriptor,
                       const std::optional<KnownOperand>&);
  bool may_leave_out_lanes(const ops::Mma&) const;
  void judge_tiles(const Turn&, std::uint32_t cta, const ops::Mma&, const std::optional<KnownOperand>& a,
                   const std::optional<KnownOperand>& b);
  void check_columns(const Turn&, std::uint32_t cta, isa::ColumnRange, isa::ColumnRange used, bool may);
  void check_descriptor(const Turn&, const ops::Mma&, bool is_a);

  const Program& program_;
  Findings& findings_;
  Values& values_;
  Memory& memory_;
  Barriers& barriers_;
  TileJudge& tiles_;
};

}  // namespace kiln::verifier::explore
