// What integer instructions make of numbers: arithmetic, comparisons, logic, shifts, bit fields, conversions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ptx/ir/code.hpp"

namespace kiln::flow {

/// The number that the low `width` bits are as a signed word.
constexpr std::int64_t as_signed(std::uint64_t v, int width) {
  return width >= 64 ? std::int64_t(v) : std::int64_t(v << (64 - width)) >> (64 - width);
}

/// How many bits of its source operands, from `a` on, an integer instruction reads.
std::array<int, 4> source_widths(const ir::Operation&);

/// The result of an integer instruction for numbers in place of its sources, as its register holds it: bits beyond the
/// register's width do not count. Predicates are 0 and 1. Nothing for instructions that work on floats, carries, memory
/// or other threads, for packs of registers, and for results that PTX leaves open.
std::optional<std::uint64_t> result_of(const ir::Operation&, const std::array<std::uint64_t, 4>& sources);

/// Whether two numbers compare as setp and set say; nothing for comparisons of floats.
std::optional<bool> compare(const isa::Modifiers&, isa::ScalarType, std::uint64_t a, std::uint64_t b);

}  // namespace kiln::flow
