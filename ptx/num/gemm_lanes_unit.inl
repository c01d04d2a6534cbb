// The few operations that compiler vectors cannot say, one version per vector unit. Part of gemm_lanes.inl.

// Quarters of vectors: four lanes each, which AVX shuffles among themselves at no extra cost.
typedef std::int32_t Quad __attribute__((vector_size(16)));
typedef std::int32_t AliasQuad __attribute__((vector_size(16), aligned(1), may_alias));
KILN_INLINE Quad load_quad(const std::uint8_t* p) { return *reinterpret_cast<const AliasQuad*>(p); }

// Of each quarter of a and b, the runs of `run` lanes that begin at `first` lanes, in turn.
template <int run, int first, std::size_t... lane>
KILN_INLINE Ints interleave_lanes(Ints a, Ints b, std::index_sequence<lane...>) {
  return __builtin_shufflevector(
      a, b, (lane / 4 * 4 + first + lane % 4 / (2 * run) * run + lane % run + (lane / run % 2 ? KILN_LANES : 0))...);
}
template <int run, int first>
KILN_INLINE Ints interleave(Ints a, Ints b) {
  return interleave_lanes<run, first>(a, b, std::make_index_sequence<KILN_LANES>());
}

#if KILN_LANES == 16
// Four words of every fourth row, `step` bytes apart.
KILN_INLINE Ints every_fourth_row(const std::uint8_t* p, std::size_t step) {
  typedef std::int32_t Half __attribute__((vector_size(32)));
  const Half low = __builtin_shufflevector(load_quad(p), load_quad(p + step), 0, 1, 2, 3, 4, 5, 6, 7);
  const Half high = __builtin_shufflevector(load_quad(p + 2 * step), load_quad(p + 3 * step), 0, 1, 2, 3, 4, 5, 6, 7);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}
#elif KILN_LANES == 8
KILN_INLINE Ints every_fourth_row(const std::uint8_t* p, std::size_t step) {
  return __builtin_shufflevector(load_quad(p), load_quad(p + step), 0, 1, 2, 3, 4, 5, 6, 7);
}
#else
KILN_INLINE Ints every_fourth_row(const std::uint8_t* p, std::size_t) { return load_quad(p); }
#endif

#if KILN_LANES == 16

// GCC 12 warns about the undefined vectors inside the unmasked forms of some intrinsics, hence "maskz" with every lane
// on.
KILN_INLINE unsigned lane_mask(Ints mask) { return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask)); }
KILN_INLINE Floats multiply_add(Floats a, Floats b, Floats c) {
  return reinterpret_cast<Floats>(_mm512_fmadd_ps(a, b, c));
}
KILN_INLINE Ints widen(LaneCodes x) {
  return reinterpret_cast<Ints>(_mm512_maskz_cvtepi8_epi32(0xFFFF, reinterpret_cast<__m128i>(x)));
}
// To f32 toward zero.
KILN_INLINE Floats truncate_to_floats(Ints n) {
  return reinterpret_cast<Floats>(
      _mm512_maskz_cvt_roundepi32_ps(0xFFFF, reinterpret_cast<__m512i>(n), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
}

#else

#if KILN_LANES == 8
KILN_INLINE unsigned lane_mask(Ints mask) {
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
}
KILN_INLINE Floats multiply_add(Floats a, Floats b, Floats c) {
  return reinterpret_cast<Floats>(_mm256_fmadd_ps(a, b, c));
}
KILN_INLINE Ints widen(LaneCodes x) {
  return reinterpret_cast<Ints>(_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(__builtin_bit_cast(long long, x))));
}
#else
KILN_INLINE unsigned lane_mask(Ints mask) {
  unsigned found = 0;
  for (int lane = 0; lane < lanes; ++lane) found |= (mask[lane] ? 1u : 0u) << lane;
  return found;
}
KILN_INLINE Floats multiply_add(Floats a, Floats b, Floats c) { return a * b + c; }
KILN_INLINE Ints widen(LaneCodes x) { return __builtin_convertvector(x, Ints); }
#endif

// To f32 toward zero: where rounding to nearest went up, step back one unit in the last place. |n| is below 2^31 - 64.
KILN_INLINE Floats truncate_to_floats(Ints n) {
  const Floats nearest = to_floats(n);
  const Ints sign = n >> 31;
  const Ints wanted = reinterpret_cast<Ints>(reinterpret_cast<Sums>(n ^ sign) - reinterpret_cast<Sums>(sign));
  const Ints got = truncate(floats(bits(nearest) & 0x7FFFFFFF));
  return floats(bits(nearest) + (got > wanted));
}

#endif
