// The types of PTX values: what they are called, how many bits they have, what kind of number they hold.
#pragma once

#include <cstdint>
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

/// The PTX spelling without its dot: "bf16x2". Empty for `none`.
constexpr std::string_view spelling(ScalarType t) {
  switch (t) {
    case ScalarType::none: return "";
#define TYPE(id, text, bits, kind) \
  case ScalarType::id: return text;
#include "ptx/isa/types.def"
#undef TYPE
  }
  return "";
}

/// Bits of one value of this type; 0 for `none`.
constexpr int bits(ScalarType t) {
  switch (t) {
    case ScalarType::none: return 0;
#define TYPE(id, text, width, kind) \
  case ScalarType::id: return width;
#include "ptx/isa/types.def"
#undef TYPE
  }
  return 0;
}

constexpr TypeClass type_class(ScalarType t) {
  switch (t) {
    case ScalarType::none: return TypeClass::untyped;
#define TYPE(id, text, width, kind) \
  case ScalarType::id: return TypeClass::kind;
#include "ptx/isa/types.def"
#undef TYPE
  }
  return TypeClass::untyped;
}

/// The type that `text` (no dot) spells, if there is one.
constexpr std::optional<ScalarType> parse_type(std::string_view text) {
#define TYPE(id, spelled, width, kind) \
  if (text == spelled) return ScalarType::id;
#include "ptx/isa/types.def"
#undef TYPE
  return std::nullopt;
}

constexpr bool is_integer(ScalarType t) {
  return type_class(t) == TypeClass::unsigned_integer || type_class(t) == TypeClass::signed_integer;
}
constexpr bool is_signed(ScalarType t) { return type_class(t) == TypeClass::signed_integer; }
constexpr bool is_floating(ScalarType t) { return type_class(t) == TypeClass::floating; }

}  // namespace kiln::isa
