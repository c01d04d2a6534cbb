// Values that a kernel computes from its parameters alone, as the launches of a contract give them.
#pragma once

#include <optional>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/flow/known_bits.hpp"

namespace kiln::lower {

/// Values that the launches of one kernel in the contract give. Code made for such a value must check the value when it
/// runs: the kernel can be launched with other numbers.
class ContractValues {
 public:
  ContractValues(const ir::Code&, const flow::Definitions&, std::vector<const launch::Launch*>);

  /// The value of an operand of `width` bits that all launches agree on; nothing if a launch leaves it open, or there
  /// is no launch.
  std::optional<std::uint64_t> constant(const ir::Argument&, int width) const;
  /// Where it comes from when there is none, for people: "from the kernel's parameters, ...", or nothing when it does
  /// not come from these alone.
  std::string why_unknown(const ir::Argument&, int width) const;

 private:
  const std::vector<flow::KnownBits>& of_launches() const;
  bool is_from_parameters(const ir::Argument&, int width) const;

  const ir::Code& code_;
  const flow::Definitions& definitions_;
  std::vector<const launch::Launch*> launches_;
  mutable std::optional<std::vector<flow::KnownBits>> of_launches_{};  // one of each; few kernels need them
};

}  // namespace kiln::lower
