// Elements of 8 bits as f16, for targets whose tensor cores have no products of 8-bit floats: sm_90. ptxas would do the
// same for an mma.sync of e4m3, but with all fragments of a step converted at once, for which there are no registers.
#pragma once

#include "lower/code.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::lower {

/// Fragments from number `from` on, `count` of them with four elements each: the elements `2 * half` and the next one
/// of each as two f16, in the fragments from `to` on. The halves of A and of B multiply each other, whatever place
/// along K they had.
void write_half(Builder&, const Registers& fragments, isa::ScalarType, int from, int to, int count, int half);

}  // namespace kiln::lower
