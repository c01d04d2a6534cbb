// Where the parts of a dense MMA lie: operands in shared memory, the accumulator in tensor memory, in which CTA.
#pragma once

#include <string>

#include "ptx/isa/tmem.hpp"

namespace kiln::harness {

/// An MMA of M x N with this accumulator layout: for each CTA its shared memory (purple) and its tensor memory
/// (orange), and between them the MMA (green), which is one for both CTAs of a pair.
std::string placement_picture(isa::DataPath path, int m, int n);

}  // namespace kiln::harness
