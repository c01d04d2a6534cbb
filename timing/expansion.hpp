// What ptxas makes of one PTX instruction of arithmetic that has none of its own in SASS.
#pragma once

#include "ptx/ir/code.hpp"

namespace kiln::timing {

/// SASS instructions, and of them the longest chain from an operand to the result. Where a slow path exists (numbers that
/// are denormal, or whose quotient is), it is not taken.
struct Expansion {
  float instructions = 1;
  float special = 0;  // of them, those of the unit for ex2 and its like
  // The chain: instructions of that unit, of arithmetic, and those after whose predicate another one is executed.
  float in_special = 0, steps = 1, guards = 0;
};

/// Of an arithmetic operation. Source: the SASS of ptxas 13.0, the same for sm_90a and sm_100a.
Expansion expansion_of(const ir::Operation&);

}  // namespace kiln::timing
