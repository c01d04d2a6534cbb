// What a kernel owns in shared and tensor memory: tiles, mbarriers, columns, rings. The builder and the kernel's tensor
// core place things here; nothing is freed before the kernel ends.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "dsl/issuer.hpp"
#include "dsl/ring_state.hpp"

namespace kiln::dsl {

/// mbarriers that lie one after the other.
struct Barriers {
  std::string name;
  int count = 1;
  int arrivals = 1;  // that complete a phase
  ir::Operand address{};
};

class Storage {
 public:
  Storage(Recorder& r, KernelContext& kernel);
  Storage(const Storage&) = delete;
  ~Storage();

  Recorder& recorder() { return rec_; }
  isa::Target target() const { return kernel_.target; }
  bool in_pairs() const { return kernel_.group == isa::CtaGroup::two; }

  // Shared memory -----------------------------------------------------------------------------------------------------
  /// The address of so many bytes, placed as tiles are; `name` is what diagnostics call them.
  U32 shared_bytes(int bytes, const std::string& name, Here at);
  /// Bytes of dynamic shared memory so far.
  int bytes() const { return bytes_; }
  /// mbarriers, each with so many arrivals to a phase.
  U32 barriers(const std::string& name, int count, int arrivals);
  std::vector<Barriers>& all_barriers() { return barriers_; }

  // Tensor memory -----------------------------------------------------------------------------------------------------
  /// The register that will hold the allocation's address.
  const ir::Operand& tmem_base();
  /// The first of so many columns; `name` is what diagnostics call them.
  int tmem_columns(int columns, const std::string& name, Here at);
  int columns() const { return columns_; }
  /// What tcgen05.alloc takes for them, and the line that asked for columns last.
  ir::Operand allocation() const;
  Here allocated_at() const { return columns_at_; }

  // Rings -------------------------------------------------------------------------------------------------------------
  RingState& add_ring(const std::string& name, int stages, int slot_bytes, Here at);
  /// A ring of answers of launch control.
  RingState& add_answers(const std::string& name, int stages, int slot_bytes, Here at);
  std::list<RingState>& rings() { return rings_; }
  std::list<RingState>& answers() { return answers_; }
  /// A producer of a slot arrives so often. How often slots are given back, the builder counts.
  void add_barriers(RingState& ring, int arrivals = 1);
  /// The barriers that one side waits for: the producer for empty ones.
  Barriers& barriers_of(const RingState& ring, RingSide waits);

  // Pairs -------------------------------------------------------------------------------------------------------------
  /// The rank of this CTA in its pair; 0 without pairs.
  U32 pair_rank();
  /// The number of its pair in the cluster; 0 where there is one.
  U32 pair();
  ir::Operand leader_predicate();
  /// The same place in the leader's shared memory.
  ir::Operand in_leader(const ir::Operand& shared);
  /// What a special register holds.
  U32 special(const char* name);

  /// The name of the dynamic shared memory.
  static constexpr const char* dynamic_symbol = "kiln_shared";

 private:
  Recorder& rec_;
  KernelContext& kernel_;
  std::vector<Barriers> barriers_;
  std::list<RingState> rings_, answers_;
  // "ring 'in' 163840, a tile 16384": what has asked, in bytes or columns.
  struct Takers {
    void add(const std::string& name, int amount);
    std::string text{};
  };
  Takers shared_takers_{}, tmem_takers_{};
  int bytes_ = 0;
  ir::Operand tmem_base_{};
  int columns_ = 0;
  Here columns_at_{};
};

}  // namespace kiln::dsl
