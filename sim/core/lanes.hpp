// The 32 lanes of a warp: masks, and loops over them that the compiler can vectorise.
//
// A register is an array of 32 words, one per lane: 32-bit words for types of up to 32 bits (narrow values are zero
// extended), 64-bit words for the others. Predicates are one mask.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace kiln::sim {

// The words of registers and addresses.
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// One bit per lane of a warp.
using Mask = u32;

inline constexpr int warp_lanes = 32;
inline constexpr Mask all_lanes = 0xFFFFFFFFu;

constexpr int count(Mask lanes) { return std::popcount(lanes); }
constexpr int first_lane(Mask lanes) { return std::countr_zero(lanes); }

// An operand and the result may be the same register but never overlap otherwise: every lane is independent. clang
// checks that at run time; its own pragma would turn every loop that it does not vectorise into a warning.
#if defined(__clang__)
#define KILN_INDEPENDENT_LANES
#else
#define KILN_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

/// The lanes of a mask, from the lowest: `for (const int l : each_lane(lanes))`.
class LaneRange {
 public:
  constexpr explicit LaneRange(Mask lanes) : left_(lanes) {}
  constexpr LaneRange begin() const { return *this; }
  constexpr LaneRange end() const { return LaneRange(0); }
  constexpr int operator*() const { return first_lane(left_); }
  constexpr void operator++() { left_ &= left_ - 1; }
  constexpr bool operator==(const LaneRange&) const = default;

 private:
  Mask left_;
};
constexpr LaneRange each_lane(Mask lanes) { return LaneRange(lanes); }

/// Calls f(lane) for every lane of the mask; whole warps in a loop that vectorises.
template <class F>
inline void for_lanes(Mask lanes, F f) {
  if (lanes == all_lanes) {
    KILN_INDEPENDENT_LANES
    for (int l = 0; l < warp_lanes; ++l) f(l);
    return;
  }
  for (const int l : each_lane(lanes)) f(l);
}

/// The mask of lanes of `lanes` for which f(lane) holds.
template <class F>
inline Mask lanes_where(Mask lanes, F f) {
  Mask out = 0;
  if (lanes == all_lanes) {
    for (int l = 0; l < warp_lanes; ++l) out |= Mask(f(l)) << l;
    return out;
  }
  for (const int l : each_lane(lanes)) out |= Mask(f(l)) << l;
  return out;
}

/// The word that a value of type T occupies in a register.
template <class T>
using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
constexpr T from_word(Word<T> w) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(w);
  else
    return static_cast<T>(w);
}

template <class T>
constexpr Word<T> to_word(T v) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<Word<T>>(v);
  else
    return static_cast<Word<T>>(static_cast<std::make_unsigned_t<T>>(v));
}

}  // namespace kiln::sim
