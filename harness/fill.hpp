// What buffers hold before a launch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/random.hpp"
#include "launch/contract.hpp"

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

/// Number `index` of those that an init of kind normal, uniform or integers draws.
double drawn_number(const launch::Init&, const RandomStream&, std::uint64_t index);

/// Fills a buffer as its `init` says: the same seed, name, type and shape give the same bytes everywhere. Poison is
/// 0xFF in every byte: NaN in each floating-point type that has one. `folder` is where relative .npy paths start.
/// Throws InputError for fills that the type cannot hold and files that do not fit. A quantised buffer needs its
/// contract when it names others, which it fills too.
void fill(launch::Buffer&, const std::string& folder = {});
void fill(launch::Contract&, const std::string& folder = {});

}  // namespace kiln::harness
