// One element of a buffer, as bits and as a number.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/isa/types.hpp"

namespace kiln::harness {

/// Writes element `index` of a buffer's bytes: the low bits of `word`. Elements of 4 and 6 bits are packed, the first
/// in the lowest bits: two to a byte, or sixteen to 12 bytes as TMA reads them (16U6_ALIGN16B).
void store_element(std::vector<std::uint8_t>& bytes, isa::ScalarType, std::uint64_t index, std::uint64_t word);
/// Reads it.
std::uint64_t load_element(const std::vector<std::uint8_t>& bytes, isa::ScalarType, std::uint64_t index);
/// True for elements of 4, 6, 8, 16, 32 and 64 bits: those that the two functions above take.
bool is_addressable(isa::ScalarType);

/// The word of this type nearest to a number: rounded to nearest even, clamped to the finite range. Untyped bits and
/// integers are rounded to a whole number.
std::uint64_t quantise(isa::ScalarType, double value);
/// The number that a word of this type stands for.
double element_value(isa::ScalarType, std::uint64_t word);

}  // namespace kiln::harness
