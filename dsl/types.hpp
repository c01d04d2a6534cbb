// The words that a kernel author writes for element types, majors, swizzles and targets.
#pragma once

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/spaces.hpp"
#include "ptx/isa/swizzle.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::dsl {

using isa::ScalarType;

/// An element type as a type: what tiles and registers hold.
template <ScalarType type>
struct Element {
  static constexpr ScalarType scalar = type;
  static constexpr int bits = isa::bits(type);
  static constexpr int packed_bits = bits;  // what TMA counts
};

/// A 4- or 6-bit element that takes a byte: how kind::f8f6f4 and mxf8f6f4 read shared memory, 16 elements to 16 bytes.
/// PTX ISA "Packing formats".
template <class T>
struct unpacked {
  static constexpr ScalarType scalar = T::scalar;
  static constexpr int bits = 8;
  static constexpr int packed_bits = T::bits;
};

/// The same as a value.
struct ElementType {
  ScalarType scalar = ScalarType::none;
  int bits = 0;         // in shared memory
  int packed_bits = 0;  // in global memory, which is what TMA counts

  constexpr bool is_unpacked() const { return bits != packed_bits; }
  constexpr bool operator==(const ElementType&) const = default;
};
template <class T>
inline constexpr ElementType element_type{};  // of a type of C++, which is no element
template <class T>
  requires requires { T::packed_bits; }
inline constexpr ElementType element_type<T>{T::scalar, T::bits, T::packed_bits};

using bf16 = Element<ScalarType::bf16>;
using f16 = Element<ScalarType::f16>;
using f32 = Element<ScalarType::f32>;
using f64 = Element<ScalarType::f64>;
using tf32 = Element<ScalarType::tf32>;
using e4m3 = Element<ScalarType::e4m3>;
using e5m2 = Element<ScalarType::e5m2>;
using e2m3 = Element<ScalarType::e2m3>;
using e3m2 = Element<ScalarType::e3m2>;
using e2m1 = Element<ScalarType::e2m1>;
using ue8m0 = Element<ScalarType::ue8m0>;
using ue4m3 = Element<ScalarType::ue4m3>;
using ue5m3 = Element<ScalarType::ue5m3>;
using u8 = Element<ScalarType::u8>;
using s8 = Element<ScalarType::s8>;
using u16 = Element<ScalarType::u16>;
using u32 = Element<ScalarType::u32>;
using u64 = Element<ScalarType::u64>;
using s32 = Element<ScalarType::s32>;
using s64 = Element<ScalarType::s64>;
using b32 = Element<ScalarType::b32>;
using b64 = Element<ScalarType::b64>;

using isa::Major;
inline constexpr Major K_major = Major::K, MN_major = Major::MN;

/// How a tile lies in shared memory. `packed`: rows one after the other, as one TMA box without a swizzle is written;
/// no tensor core reads it. `none`: columns of 16 bytes, each of 8-row core matrices. The rest: rows of one swizzle
/// span.
enum class Layout : unsigned char { packed, none, b32, b64, b128, b128_atom32 };
inline constexpr Layout packed = Layout::packed, swizzle_none = Layout::none, swizzle_32B = Layout::b32,
                        swizzle_64B = Layout::b64, swizzle_128B = Layout::b128,
                        swizzle_128B_atom_32B = Layout::b128_atom32;

/// The swizzle of a layout.
constexpr isa::Swizzle swizzle_of(Layout l) {
  switch (l) {
    case Layout::packed:
    case Layout::none: return isa::Swizzle::none;
    case Layout::b32: return isa::Swizzle::b32;
    case Layout::b64: return isa::Swizzle::b64;
    case Layout::b128: return isa::Swizzle::b128;
    case Layout::b128_atom32: return isa::Swizzle::b128_atom32;
  }
  return isa::Swizzle::none;
}

/// State spaces, as template arguments; `any_space` where PTX writes none.
inline constexpr isa::Space shared_cta = isa::Space::shared_cta, shared_cluster = isa::Space::shared_cluster,
                            global = isa::Space::global, any_space = isa::Space::generic;

/// Shapes of tcgen05.ld and tcgen05.st: lanes, bits of a row in one register, column ranges.
inline constexpr isa::DataShape shape_32x32b = isa::DataShape::s32x32b, shape_16x64b = isa::DataShape::s16x64b,
                                shape_16x128b = isa::DataShape::s16x128b, shape_16x256b = isa::DataShape::s16x256b,
                                shape_16x32bx2 = isa::DataShape::s16x32bx2;

/// .redOp: what a reduction does.
using RedOp = isa::Combine;
/// and, or and xor know bits, not numbers.
constexpr bool is_bitwise(RedOp op) { return op == RedOp::and_ || op == RedOp::or_ || op == RedOp::xor_; }

using isa::sm_90a, isa::sm_100a, isa::sm_100f, isa::sm_103a, isa::sm_103f, isa::sm_107a, isa::sm_107f, isa::sm_110a,
    isa::sm_110f;
using isa::Target;

}  // namespace kiln::dsl
