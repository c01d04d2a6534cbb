// What a value is based on: a number, the address of a variable, or a word that was loaded from a known place of shared
// memory, which is how the address that tcgen05.alloc returns reaches its users.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/flow/definitions.hpp"
#include "ptx/flow/known_bits.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::flow {

/// A base and the known bits of what was added to it.
struct Origin {
  enum class Base : std::uint8_t {
    nothing,  // no definition seen yet
    number,   // no base: a plain number
    symbol,   // the address of Code::symbols[id], in any view (shared, generic, another CTA's copy)
    slot,     // the 32-bit word that was loaded from Origins::slots[id]
    unknown
  };
  Base base = Base::unknown;
  std::uint32_t id = 0;
  Bits added = Bits::unknown();

  bool operator==(const Origin&) const = default;
  bool is(Base b) const { return base == b; }
  /// What was added is the same on every path and in every thread.
  bool exact() const { return added.is_constant(); }
  std::int64_t offset() const { return std::int64_t(added.one); }
};

/// A place in shared memory whose content is a base of its own.
struct Slot {
  std::uint32_t symbol = 0;
  std::int64_t offset = 0;
  bool operator==(const Slot&) const = default;
};

/// The origin of each register, without a thought for paths.
class Origins {
 public:
  Origins(const ir::Code&, const Definitions&, const KnownBits&);

  Origin of(ir::RegisterId r) const { return origins_[r]; }
  /// The origin of a register, symbol, number, or of an address operand's base with its offset.
  Origin of(const ir::Argument&) const;

  std::vector<Slot> slots{};

 private:
  Origin transfer(const ir::Operation&, std::size_t result, std::size_t results);
  Origin loaded(const ir::Operation&, std::size_t component);
  Origin masked(const ir::Operation&) const;
  Origin sum(const ir::Operation&) const;
  Origin product_sum(const ir::Operation&) const;
  std::uint32_t slot(Slot s);

  const ir::Code& code_;
  const KnownBits& known_;
  std::vector<Origin> origins_;
};

}  // namespace kiln::flow
