// Which bits of each register are the same on every path and in every thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ptx/flow/bits.hpp"
#include "ptx/flow/definitions.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/isa/spaces.hpp"

namespace kiln::flow {

/// Where the bits of operands come from.
class OperandBits {
 public:
  virtual ~OperandBits() = default;
  /// The bits of an operand of `width` bits; unknown for aggregates and floats.
  virtual Bits of(const ir::Argument&, int width) const = 0;
};

/// What is given of a kernel's parameters: bytes by parameter and offset.
using ParameterBytes = std::vector<std::map<std::uint32_t, std::uint8_t>>;

/// Known bits of registers, without a thought for paths: a register's bits are what all its definitions agree on, found
/// as the greatest fixpoint. Addresses of shared variables have the zeros of their alignment. Of a function whose text
/// could not be read as a whole no bit of a register is known.
class KnownBits final : public OperandBits {
 public:
  KnownBits(const ir::Code&, const Definitions&);
  /// The same for launches with these parameters.
  KnownBits(const ir::Code&, const Definitions&, ParameterBytes);

  Bits of(ir::RegisterId r) const { return bits_[r]; }
  Bits of(const ir::Argument&, int width) const override;
  std::optional<std::uint64_t> constant(const ir::Argument& a, int width) const { return of(a, width).value(); }

 private:
  void solve();
  bool update(ir::RegisterId r, Bits value);
  Bits address_of(const ir::Argument&) const;
  std::vector<Bits> results(const ir::Operation&) const;
  std::vector<Bits> loaded_parameter(const ir::Operation&) const;

  const ir::Code& code_;
  const Definitions& definitions_;
  ParameterBytes given_;
  std::vector<Bits> bits_;
};

/// The bits of the results of one operation, in the order of Definitions::written, given those of its operands.
std::vector<Bits> transfer(const ir::Code&, const ir::Operation&, const OperandBits&);

/// The bits of an address that stay what they are in every view of shared memory: offsets within a CTA's window.
inline constexpr std::uint64_t shared_window_mask = isa::shared_offset_mask;

/// Bits of a shared address: a cluster has at most 16 CTAs. So it is the same number with and without a sign.
inline constexpr int shared_address_bits = isa::cluster_rank_shift + 4;

/// Where the shared window may begin in generic addresses: at a multiple of 4 GiB. From sm_90 on, machine code makes a
/// generic address of shared memory by putting the special register SR_SWINHI above the 32 bits of the address. On an
/// H100 all CTAs saw such a window (tests/gpu/shared_window.cu).
inline constexpr std::uint64_t shared_window_alignment = std::uint64_t{1} << 32;

}  // namespace kiln::flow
