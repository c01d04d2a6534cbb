// mbarrier objects as instructions name them.
#pragma once

#include <optional>
#include <string>

#include "verifier/facts.hpp"

namespace kiln::verifier {

/// An mbarrier: a shared variable, and where in it as far as that is known.
struct BarrierObject {
  std::uint32_t symbol = 0;
  flow::Bits offset{};

  bool operator==(const BarrierObject&) const = default;
  /// Whether the two may be the same object.
  bool may_be(const BarrierObject& o) const {
    const bool differs = ((offset.one & o.offset.zero) | (offset.zero & o.offset.one)) != 0;
    return symbol == o.symbol && !differs;
  }
};

/// The object at an address; nothing when its base is not followed to a shared variable.
std::optional<BarrierObject> barrier_object(const Facts&, const ir::Argument& address);
/// "'bars+8'" as a message names it.
std::string name(const Facts&, const BarrierObject&);

/// The mbarrier that an instruction initialises, waits on, arrives at or completes on; null when there is none.
const ir::Argument* barrier_operand(const ir::Operation&);
/// It counts as an arrival when it executes, or when what it tracks is done.
bool arrives(const ir::Operation&);
/// mbarrier.try_wait or test_wait.
bool waits(const ir::Operation&);
/// It raises the count of bytes that a phase waits for.
bool expects_bytes(const ir::Operation&);

}  // namespace kiln::verifier
