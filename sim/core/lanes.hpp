// The 32 lanes of a warp: masks, and loops over them that the compiler can vectorise.
//
// A register is an array of 32 words, one per lane: 32-bit words for types of up to 32 bits (narrow values are zero
// extended), 64-bit words for the others. Predicates are one mask.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace kiln::sim {

/// One bit per lane of a warp.
using Mask = std::uint32_t;

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

/// Calls f(lane) for every lane of the mask; whole warps in a loop that vectorises.
template <class F>
inline void for_lanes(Mask lanes, F f) {
  if (lanes == all_lanes) {
    KILN_INDEPENDENT_LANES
    for (int l = 0; l < warp_lanes; ++l) f(l);
    return;
  }
  for (Mask m = lanes; m != 0; m &= m - 1) f(first_lane(m));
}

/// The mask of lanes of `lanes` for which f(lane) holds.
template <class F>
inline Mask lanes_where(Mask lanes, F f) {
  Mask out = 0;
  if (lanes == all_lanes) {
    for (int l = 0; l < warp_lanes; ++l) out |= Mask(f(l)) << l;
    return out;
  }
  for (Mask m = lanes; m != 0; m &= m - 1) out |= Mask(f(first_lane(m))) << first_lane(m);
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
