// The chains of mma.sync that one command stands for.
#pragma once

#include "lower/engine/form_code.hpp"

namespace kiln::lower {

/// Writes the multiplication of a form: one of the three below, or that of a form without scales in one CTA.
void write_multiplication(const FormCode&);

/// Of a pair's form, in one CTA.
void write_pair_multiplication(const FormCode&);
/// Of a form with block scaling, where mma.sync has none: each block is multiplied alone.
void write_scaled_multiplication(const FormCode&);
/// Of a form with block scaling on sm_120a, whose mma.sync scales the blocks itself.
void write_block_scaled_multiplication(const FormCode&);

}  // namespace kiln::lower
