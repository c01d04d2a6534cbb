// Which bits of each register matter to some operations of interest: the backward slice, with a mask for each register.
// A bit that no operation of interest depends on is not in it: of a loop counter whose `i % 4` chooses a stage, only
// two bits count.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "ptx/flow/bits.hpp"
#include "ptx/flow/definitions.hpp"
#include "ptx/flow/known_bits.hpp"
#include "ptx/flow/sums.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::flow {

/// What of a value matters: some of its bits, its rest modulo a number, and whether it is compared, which may hang on
/// all of it. Rests are followed through sums as if words had no end. What is `made` alone is an intermediate result of
/// something of which less matters than of that.
struct Demand {
  std::uint64_t bits = 0;
  bool compared = false;
  std::uint64_t modulus = 1;
  bool made = false;

  bool counts() const { return bits != 0 || compared || modulus > 1; }
  bool any() const { return counts() || made; }
  bool operator==(const Demand&) const = default;
};

/// Demands on registers, without a thought for paths.
class Demands {
 public:
  /// What is of interest for itself, in all bits; of parities the lowest one alone.
  struct Wanted {
    std::vector<const ir::Argument*> arguments{}, parities{};
    std::vector<const ir::Argument*> rough{};  // addresses of which a small addend does not matter
    std::vector<ir::RegisterId> registers{};
  };
  static constexpr std::uint64_t most_small = 3;
  /// Appends what of an operation is of interest.
  using Roots = std::function<void(const ir::Operation&, Wanted&)>;

  Demands(const ir::Code&, const Cfg&, const Definitions&, const KnownBits&, const Roots&);

  Demand of(ir::RegisterId r) const { return demands_[r]; }
  /// It is a sum of which a small addend does not matter.
  bool is_rough(ir::RegisterId r) const { return rough_.contains(r); }
  /// Registers that an operation does not read, but whose rests stand for what it reads: they must be known until then.
  const std::vector<ir::RegisterId>& kept(std::uint32_t operation) const {
    static const std::vector<ir::RegisterId> none;
    const auto found = kept_.find(operation);
    return found == kept_.end() ? none : found->second;
  }
  /// The operation writes a register that matters.
  bool matters(std::uint32_t operation) const;

 private:
  void want(const ir::Argument&, Demand);
  void want(ir::RegisterId, Demand);
  void settle();
  void want_roughly(const ir::Argument&);
  bool want_all_but_small(ir::RegisterId);
  void want_operands(const ir::Operation&, Demand result);
  void want_sources(const ir::Operation&, Demand);
  bool want_through_number(const ir::Operation&, Demand result);
  bool want_through_division(const ir::Operation&, Demand result);
  bool want_low_bits(const ir::Operation&, std::uint64_t modulus);
  void want_carries();

  const ir::Code* code_;
  const Definitions* definitions_;
  const KnownBits* known_;
  Sums sums_;
  std::vector<Demand> demands_;
  std::vector<ir::RegisterId> work_{};
  std::set<ir::RegisterId> rough_{};
  std::map<std::uint32_t, std::vector<ir::RegisterId>> kept_{};
  bool wants_carries_ = false;
};

}  // namespace kiln::flow
