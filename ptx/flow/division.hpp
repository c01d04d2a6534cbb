// Divisions by a number, however a compiler has written them.
#pragma once

#include <optional>

#include "ptx/flow/definitions.hpp"
#include "ptx/flow/known_bits.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::flow {

/// An unsigned word divided by a number other than 0.
struct Division {
  const ir::Argument* dividend = nullptr;
  std::uint64_t divisor = 1;
};

/// The division whose quotient an operation makes: div.u, a shift to the right, or the shifted upper half of a product
/// with a rounded-up reciprocal. Registers in between have one writer.
std::optional<Division> quotient(const ir::Code&, const Definitions&, const KnownBits&, const ir::Operation&);

/// The division whose remainder an operation makes: rem.u, or a word less the product of quotient and divisor.
std::optional<Division> remainder(const ir::Code&, const Definitions&, const KnownBits&, const ir::Operation&);

}  // namespace kiln::flow
