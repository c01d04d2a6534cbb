// Rules about what an architecture has, rather than about what a text means: of one that Kiln does not know they may not
// hold.
#pragma once

#include <algorithm>

#include "ptx/rules/catalogue.hpp"

namespace kiln::rules {

/// Whether a rule bounds sizes, shapes and formats by those of the architectures that Kiln knows.
constexpr bool is_limit_of_hardware(Rule r) {
  constexpr Rule limits[] = {Rule::alloc_columns,  Rule::alloc_budget,   Rule::dealloc_size,    Rule::tmem_range,
                             Rule::mma_m,          Rule::mma_n,          Rule::mma_types,       Rule::mma_accumulator,
                             Rule::mma_k96,        Rule::mma_wide,       Rule::idesc_reserved,  Rule::idesc_transpose,
                             Rule::idesc_scale,    Rule::block_scale,    Rule::scale_vector,    Rule::scale_input_d,
                             Rule::ashift,         Rule::ashift_collector, Rule::collector_buffer, Rule::ws_cta_group,
                             Rule::ws_kind,        Rule::zero_mask,      Rule::output_lanes,    Rule::cp_shape,
                             Rule::ld_red,         Rule::sdesc_fixed,    Rule::sdesc_swizzle,   Rule::sdesc_atom32,
                             Rule::sdesc_alignment, Rule::shared_budget, Rule::bulk_size,       Rule::tma_alignment,
                             Rule::setmaxnreg_count, Rule::cta_pair};
  return std::find(std::begin(limits), std::end(limits), r) != std::end(limits);
}

}  // namespace kiln::rules
