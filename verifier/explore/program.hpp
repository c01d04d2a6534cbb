// What a run needs to know of a kernel beforehand: its slice, its branches, its shared memory, its CTA and cluster.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "ptx/flow/demand.hpp"
#include "verifier/explore/boxes.hpp"
#include "verifier/explore/premise.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier::explore {

/// What a launch says: how large the grid, the CTA and the cluster are, zeros where it does not, bytes of parameters by
/// parameter and offset, and tensor maps among them.
struct Shape {
  std::array<std::uint32_t, 3> grid{}, cta{}, cluster{};
  bool is_of_launch = false;      // a launch says all of this
  std::uint32_t fewest_ctas = 1;  // to a cluster, where nothing says how many: with fewer, addresses lie beyond it
  std::vector<std::map<std::uint32_t, std::uint8_t>> parameters{};
  /// What pointers in parameters point to, where the launch says it: launch::known_content.
  std::vector<std::map<std::uint32_t, std::span<const std::uint8_t>>> content{};
  std::optional<std::array<std::uint32_t, 3>> place{};  // in the grid, of the one cluster that is explored
  GivenMaps maps{};
  std::optional<std::uint32_t> dynamic_shared{};  // bytes
  std::string_view option = "--launch";           // what says more about launches
};

/// A kernel cut down to its synchronisation: operations that make threads wait or let them go, accesses to shared and
/// tensor memory, and the values that these depend on.
class Program {
 public:
  explicit Program(const Facts&, const Shape& = {});

  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};

  const Facts& facts;
  const ir::Code& code;

 private:
  std::vector<bool> stores_words_;  // by operation: what it stores may be words of the protocol
  std::map<std::uint32_t, std::vector<const ir::Argument*>> words_{};  // those that it stores, by operation
  std::set<std::uint32_t> deciding_{};                                 // branches that matter
  flow::Demands demanded() const;

 public:
  flow::Demands demands;
  int threads = 0;         // of the CTA; 0: the kernel does not say
  std::uint32_t ctas = 1;  // of the cluster
  std::uint32_t cta[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  Shape shape{};
  std::vector<Premise> premises{};              // how large they are taken to be, where nothing says it
  std::optional<launch::TensorMap> made_map{};  // what tensor maps that the kernel makes have in common

  /// Some operation waits, signals, or touches memory that threads share.
  bool synchronises() const;

  std::uint32_t slots() const { return slots_; }
  /// Where a register of the slice is kept; no_slot for others.
  std::uint32_t slot(ir::RegisterId r) const { return slot_[r]; }
  /// What the operation stores in shared memory and may be a word of the protocol.
  std::span<const ir::Argument* const> words(std::uint32_t operation) const;
  /// What a load or store reads or writes: the elements of a vector, or the one operand.
  std::span<const ir::Argument> elements(const ir::Operation&) const;
  /// The operation is a load of global memory that finds the same word at an address at any time (lasting.hpp).
  bool finds_lasting_word(std::uint32_t operation) const { return lasting_[operation]; }
  /// The operation is one of the protocol, or makes a value that the protocol depends on.
  bool matters(std::uint32_t operation) const { return matters_[operation]; }
  /// Where the ways of a branch meet again, if it does not matter which way threads take: nothing happens in between.
  std::optional<std::uint32_t> merge_point(std::uint32_t branch) const;
  /// Ways of a branch on which threads compute and access memory, but neither wait for other warps nor let them go on.
  struct Ways {
    std::uint32_t meet = no_slot;  // where they meet again
    bool together = false;         // some operation on them is one of the whole warp
  };
  /// Those of a branch that matters; nothing where threads do more than that on them.
  std::optional<Ways> local_ways(std::uint32_t branch) const;
  /// The next operation, from this one on, that matters or leads elsewhere; `loads`: or reads what tcgen05.ld writes.
  std::uint32_t next(std::uint32_t operation, bool loads) const { return next_[loads][operation]; }
  /// The first operation after all of the slice that read what the launch gives, parameters and special registers; past
  /// the last one where a loop may come back to one of them.
  std::uint32_t after_parameters() const { return after_parameters_; }
  /// Registers of the slice that may be read from an operation on before they are written.
  const std::vector<ir::RegisterId>& live(std::uint32_t operation) const;
  /// Counters and their bounds: registers that are compared, made of each other by adding numbers or compared with each
  /// other.
  struct Family {
    bool bounded = false;    // one is compared with another one
    bool counts = false;     // a loop adds a number to one
    std::int64_t most = -1;  // largest number that one is compared with
  };
  /// The number of a register's family; no_slot for registers of none.
  std::uint32_t family(ir::RegisterId r) const { return families_[r]; }
  const Family& family_of(std::uint32_t number) const { return kin_.at(number); }
  /// A register is written at one place, which is in no loop.
  bool is_written_once(ir::RegisterId r) const { return is_written_once_[r]; }
  /// Registers that an operation of the protocol needs as numbers.
  const std::vector<ir::RegisterId>& questions(std::uint32_t operation) const { return questions_[operation]; }
  /// Bytes of shared memory that the CTA has, if that is known.
  std::optional<std::uint32_t> shared_bytes() const { return shared_bytes_; }
  /// The address of a shared variable within the CTA's window.
  std::uint32_t address(std::uint32_t symbol) const { return addresses_[symbol]; }

 private:
  void number_registers();
  void place_shared();
  void measure();
  bool may_synchronise(const ir::Operation&) const;
  bool find_words();
  std::vector<bool> between(flow::BlockId from, flow::BlockId meet) const;
  void find_merge_points();
  void find_local_ways();
  void find_next();
  void find_live();
  void find_parameters();
  void find_families();
  void find_questions();
  void step_back(std::uint32_t operation, std::vector<bool>& live) const;

  std::uint32_t slots_ = 0, after_parameters_ = 0;
  std::optional<std::uint32_t> shared_bytes_{};
  std::vector<std::uint32_t> slot_, addresses_, families_;
  std::vector<std::uint8_t> matters_;
  std::vector<bool> lasting_{}, is_written_once_{};
  std::vector<std::uint32_t> merge_points_;
  std::map<std::uint32_t, Ways> local_ways_{};  // by branch
  std::array<std::vector<std::uint32_t>, 2> next_{};
  std::vector<std::vector<ir::RegisterId>> questions_{};
  std::map<std::uint32_t, Family> kin_{};
  std::vector<std::vector<bool>> live_out_{};                            // by block, by slot
  mutable std::map<std::uint32_t, std::vector<ir::RegisterId>> live_{};  // what was asked for
};

}  // namespace kiln::verifier::explore
