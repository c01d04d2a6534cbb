// Which columns of tensor memory are taken: a bit for each 32 of them in a word of shared memory. A pair has one word,
// in its even CTA: the lower half for that one, the upper half for the other.
#pragma once

#include "lower/code.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

/// Takes the lowest columns that are free, of a pair in both CTAs; waits while there are none. `columns` is how many,
/// `to` gets the first of them.
void take_columns(Builder&, const Plan&, Register columns, Register to);

/// Frees columns of this CTA: `mask`, of units of 32, is overwritten.
void free_columns(Builder&, const Plan&, Register mask);

}  // namespace kiln::lower
