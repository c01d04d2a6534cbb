// Modifiers: the dotted words after the opcode. One enum per question that a modifier answers, and the decoded set that
// an instruction carries.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/isa/spaces.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::isa {

// Each group of modifiers.def as an enum whose first value, `none`, says that no modifier of the group is written.
#define FIELD(Type, member) enum class Type : std::uint8_t { none,
#define VALUE(id, text) id,
#define END() };
#include "ptx/isa/modifiers.def"

/// The PTX spelling of a modifier value without its dot; empty for `none`.
#define FIELD(Type, member) std::string_view spelling(Type);
#include "ptx/isa/modifiers.def"

/// A type list of at most five entries in the order written (mma.sync with scale types is the longest).
struct TypeList {
  std::array<ScalarType, 5> at{};
  std::uint8_t count = 0;

  constexpr ScalarType operator[](int i) const { return i < count ? at[std::size_t(i)] : ScalarType::none; }
};

/// At most two spaces in the order written: destination, then source.
struct SpaceList {
  std::array<Space, 2> at{};
  std::uint8_t count = 0;

  constexpr Space operator[](int i) const { return i < count ? at[std::size_t(i)] : Space::generic; }
};

/// An instruction's modifiers, decoded. Every member named in modifiers.def is here: an enum per FIELD, a bool per
/// FLAG.
struct Modifiers {
#define FIELD(Type, member) Type member = Type::none;
#define FLAG(member, text) bool member = false;
#include "ptx/isa/modifiers.def"
  TypeList types{};
  SpaceList spaces{};
  /// What no table has: mma shapes, texture geometries, and modifiers that Kiln does not know. A consumer that
  /// needs the whole meaning must look at these or say `incomplete`.
  std::vector<std::string> others{};
  /// Modifiers that answer a question already answered ("rn" and "rz" on one instruction).
  std::vector<std::string> repeated{};

  ScalarType type() const { return types[0]; }
  Space space() const { return spaces[0]; }
  /// Whether a mask says which CTAs of the cluster take part.
  bool multicast() const { return multicast_mask != MulticastMask::none; }
  int cta_mask_bits() const { return multicast_mask == MulticastMask::cluster_32b ? 32 : 16; }
};

/// Decodes modifiers given without their dots, in the order written.
Modifiers decode_modifiers(std::span<const std::string> written);

/// Registers a thread receives per repeat, and the like, are functions of these two; the numbers they spell:
constexpr int repeat_count(Repeat r) { return r == Repeat::none ? 0 : 1 << (int(r) - 1); }
constexpr int vector_width(Vector v) { return v == Vector::none ? 1 : 1 << int(v); }
constexpr int dimensions(TensorDims d) { return int(d); }

}  // namespace kiln::isa
