// Which columns of tensor memory are taken: a bit for each 32 of them in the word lw_columns of shared memory. A pair
// has one word, in its even CTA: the lower half for that one, the upper half for the other.
#pragma once

#include <string>

#include "lower/plan.hpp"
#include "lower/text.hpp"

namespace kiln::lower {

/// Takes the lowest columns that are free, of a pair in both CTAs; waits for as long as there are none. `columns`, how
/// many, and `to`, the first of them, are registers.
void take_columns(Text&, const Plan&, const std::string& columns, const std::string& to);

/// Columns of this CTA are free: `mask` is a register, of units of 32, and is overwritten, as are %lw_t0 and %lw_t1.
void free_columns(Text&, const Plan&, const std::string& mask);

}  // namespace kiln::lower
