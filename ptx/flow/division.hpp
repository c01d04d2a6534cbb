// Divisions by a number, however a compiler has written them.
#pragma once

#include <optional>

#include "ptx/flow/definitions.hpp"
#include "ptx/flow/known_bits.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::flow {

/// A word divided by a number other than 0. Where instructions for signed words make it, what is said of quotient and
/// remainder holds for words that are not negative.
struct Division {
  const ir::Argument* dividend = nullptr;
  std::uint64_t divisor = 1;
};

/// The division whose quotient an operation makes: div, a shift to the right, or what compilers make of a product with
/// a rounded-up reciprocal, by mul.hi or mul.wide, shifts, sums and conversions. Registers in between have one writer.
std::optional<Division> quotient(const ir::Code&, const Definitions&, const KnownBits&, const ir::Operation&);

/// The division whose remainder an operation makes: rem, or a word less the product of quotient and divisor.
std::optional<Division> remainder(const ir::Code&, const Definitions&, const KnownBits&, const ir::Operation&);

}  // namespace kiln::flow
