// Real numbers into narrow operands: elements, scales, and the metadata of a sparse A. docs/launch-contract.md says how
// scales are chosen and what is pruned.
#pragma once

#include <string>

#include "launch/contract.hpp"

namespace kiln::harness {

/// Throws InputError unless a buffer's quantisation can be done: its type and shape take one, and the buffers that it
/// names are there, have the right type and shape, and are filled by nothing else.
void check_quantisation(const launch::Contract&, const launch::Buffer&);

/// Says of the buffers that a buffer's quantisation names that it fills them: their own `init` fills nothing.
void mark_quantised(launch::Contract&, const launch::Buffer&);

/// Fills a buffer whose `init` is quantised, and the buffers that its quantisation names; what was quantised stays in
/// Buffer::exact. Throws InputError as check_quantisation does, and for numbers that are not finite.
void fill_quantised(launch::Contract&, launch::Buffer&, const std::string& folder);

/// The scale, as a word, of a block of numbers of which `most` is the largest magnitude, and which become elements of
/// that type. docs/launch-contract.md has the rule.
std::uint64_t scale_word(isa::ScalarType scale, isa::ScalarType element, double most);

}  // namespace kiln::harness
