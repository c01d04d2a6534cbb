// The types of PTX values: what they are called, how many bits they have, what kind of number they hold.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace kiln::isa {

/// How a type's bits are read.
enum class TypeClass : std::uint8_t { predicate, untyped, unsigned_integer, signed_integer, floating, packed, opaque };

/// A fundamental, alternate floating-point or packed type. PTX ISA "Types".
enum class ScalarType : std::uint8_t {
  none,
#define TYPE(id, spelling, bits, kind) id,
#include "ptx/isa/types.def"
#undef TYPE
};

/// A row of types.def.
struct TypeInfo {
  std::string_view spelling;
  int bits;
  TypeClass type_class;
};

inline constexpr TypeInfo scalar_types[] = {
    {"", 0, TypeClass::untyped},
#define TYPE(id, spelling, bits, kind) {spelling, bits, TypeClass::kind},
#include "ptx/isa/types.def"
#undef TYPE
};

/// The PTX spelling without its dot: "bf16x2". Empty for `none`.
constexpr std::string_view spelling(ScalarType t) { return scalar_types[std::size_t(t)].spelling; }
/// Bits of one value of this type; 0 for `none`.
constexpr int bits(ScalarType t) { return scalar_types[std::size_t(t)].bits; }
constexpr TypeClass type_class(ScalarType t) { return scalar_types[std::size_t(t)].type_class; }

/// The type that `text` (no dot) spells, if there is one.
constexpr std::optional<ScalarType> parse_type(std::string_view text) {
  for (std::size_t i = 1; i < std::size(scalar_types); ++i)
    if (scalar_types[i].spelling == text) return ScalarType(i);
  return std::nullopt;
}

constexpr bool is_integer(ScalarType t) {
  return type_class(t) == TypeClass::unsigned_integer || type_class(t) == TypeClass::signed_integer;
}
constexpr bool is_signed(ScalarType t) { return type_class(t) == TypeClass::signed_integer; }
constexpr bool is_floating(ScalarType t) { return type_class(t) == TypeClass::floating; }

}  // namespace kiln::isa
