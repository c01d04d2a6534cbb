// The fp4 kinds in integers: each group's products meet in 16 bits, groups and C in 64. Part of gemm_lanes.inl.

constexpr int half_lanes = lanes / 2;  // 64-bit lanes of a vector

typedef std::int16_t Shorts __attribute__((vector_size(4 * KILN_LANES)));
typedef std::int16_t AliasShorts __attribute__((vector_size(4 * KILN_LANES), aligned(2), may_alias));
typedef std::int16_t LaneShorts __attribute__((vector_size(2 * KILN_LANES), aligned(2), may_alias));
typedef std::int32_t HalfInts __attribute__((vector_size(2 * KILN_LANES), aligned(4), may_alias));
typedef float HalfFloats __attribute__((vector_size(2 * KILN_LANES), aligned(4), may_alias));
typedef std::int64_t Longs __attribute__((vector_size(4 * KILN_LANES)));
typedef std::uint64_t Unsigned __attribute__((vector_size(4 * KILN_LANES)));
typedef double Doubles __attribute__((vector_size(4 * KILN_LANES)));

constexpr int fp4_most_groups = 6;
constexpr int fp4_window = 35, fp4_floor = -174;  // as in `dot`
// Terms are shifted up by this and then down: a C of 24 bits stays below 2^63, and a term is at most 33 bits above the
// grid.
constexpr int fp4_headroom = 39;

// A sum's terms on their way to 64 bits: magnitudes, signs and how far each has to go down.
struct Fp4Term {
  alignas(64) std::int32_t magnitude[lanes], sign[lanes], down[lanes];

  KILN_INLINE void set(Ints value, Ints shift) {
    const Ints s = value >> 31;
    *reinterpret_cast<AliasInts*>(magnitude) = (value ^ s) - s;
    *reinterpret_cast<AliasInts*>(sign) = s;
    *reinterpret_cast<AliasInts*>(down) = smaller(larger(fp4_headroom - shift, Ints{}), Ints{} + 63);
  }
  // Cut toward zero to the grid.
  KILN_INLINE Longs cut(int first) const {
    const Unsigned whole = reinterpret_cast<Unsigned>(half(magnitude + first)) << fp4_headroom;
    const Longs s = half(sign + first);
    return (reinterpret_cast<Longs>(whole >> reinterpret_cast<Unsigned>(half(down + first))) ^ s) - s;
  }
  static KILN_INLINE Longs half(const std::int32_t* p) {
    return __builtin_convertvector(*reinterpret_cast<const HalfInts*>(p), Longs);
  }
};

// A tile's group sums in quarters: at most 16 * 12 * 12 of them.
using Fp4Quarters = std::int16_t[row_group][fp4_most_groups][panel_block];

template <int Columns>
KILN_INLINE void sum_fp4_groups(const GemmJob& job, const Tile& t, Fp4Quarters& quarters) {
  const std::int16_t* a = job.fp4_a.halves.data() + job.fp4_a.half(t.row, t.step);
  const std::int16_t* b = job.fp4_b.halves.data() + job.fp4_b.half(t.column, t.step);
  for (int g = 0; g < job.fp4_a.groups; ++g, a += Columns * panel_block, b += Columns * panel_block)
    for (int j = 0; j < panel_block; j += 2 * lanes) {
      Shorts sum[row_group] = {};
#pragma GCC unroll 32
      for (int k = 0; k < Columns; ++k) {
        const Shorts bk = *reinterpret_cast<const AliasShorts*>(b + k * panel_block + j);
#pragma GCC unroll 4
        for (int r = 0; r < row_group; ++r) sum[r] += bk * a[k * panel_block + r];
      }
#pragma GCC unroll 4
      for (int r = 0; r < row_group; ++r) *reinterpret_cast<AliasShorts*>(&quarters[r][g][j]) = sum[r];
    }
}

// The sum of 64-bit terms, rounded toward zero to f32; lanes that this cannot do come back in `slow`.
KILN_INLINE Floats round_fp4(const Fp4Term* terms, int count, Ints q, Ints& slow) {
  alignas(64) std::int32_t grid[lanes], bad[lanes];
  alignas(64) float rounded[lanes];
  *reinterpret_cast<AliasInts*>(grid) = q;
  for (int first = 0; first < lanes; first += half_lanes) {
    Longs n{};
    for (int k = 0; k < count; ++k) n += terms[k].cut(first);
    // |n| is below 2^51, so its bits in the fraction of 1.5 * 2^52 make it an exact double.
    constexpr std::int64_t one_and_a_half = 0x4338000000000000;
    const Doubles whole = reinterpret_cast<Doubles>(n + one_and_a_half) - 0x1.8p52;
    const Longs power = (Fp4Term::half(grid + first) + 1023) << 52;
    const Longs word = reinterpret_cast<Longs>(whole * reinterpret_cast<Doubles>(power));
    const Longs magnitude = word & 0x7FFFFFFFFFFFFFFF;
    constexpr std::int64_t least = std::int64_t{1023 - 126} << 52, above = std::int64_t{1023 + 128} << 52;
    const Longs out = (magnitude >= above) | ((magnitude < least) & (magnitude != 0));
    constexpr std::int64_t f32_bits = -(std::int64_t{1} << 29);
    *reinterpret_cast<HalfFloats*>(rounded + first) =
        __builtin_convertvector(reinterpret_cast<Doubles>(word & f32_bits), HalfFloats);
    *reinterpret_cast<HalfInts*>(bad + first) = __builtin_convertvector(out, HalfInts);
  }
  slow |= load(bad);
  return load(rounded);
}

// One group of `lanes` elements of a row: the product of the scales, and its exponent where products count.
struct Fp4Group {
  Ints scale, exponent, live;

  KILN_INLINE Fp4Group(const Fp4Panel& pa, const Fp4Panel& pb, std::size_t a, std::size_t b)
      : scale(load(pb.scales.data() + b) * pa.scales[a]), exponent(load(pb.exponents.data() + b) + pa.exponents[a]) {
    const Ints columns = *reinterpret_cast<const AliasInts*>(pb.live.data() + b);
    live = ((columns & static_cast<std::int32_t>(pa.live[a])) != 0) & (scale != 0);
  }
};

// `lanes` elements of one row of a tile, from column j on.
KILN_INLINE void close_fp4(GemmJob& job, const Tile& t, int r, int j, const Fp4Quarters& quarters) {
  const Fp4Panel &pa = job.fp4_a, &pb = job.fp4_b;
  const std::size_t a = pa.group(t.row + r, t.step), b = pb.group(t.column, t.step) + static_cast<std::size_t>(j);
  const auto group = [&](int g) __attribute__((always_inline)) {
    const auto further = static_cast<std::size_t>(g * panel_block);
    return Fp4Group(pa, pb, a + further, b + further);
  };
  const Floats c = reads_c(*job.task, t.step) ? load(t.rows[r] + j) : Floats{};
  const Ints c_field = bits(c) >> 23 & 0xFF;
  const Ints c_top = larger(c_field, Ints{} + 1) - (127 + job.task->spec.scale_input_d);
  Ints top = choose((bits(c) & 0x7FFFFFFF) == 0, Ints{} + no_exponent, c_top);
  for (int g = 0; g < pa.groups; ++g) {
    const Fp4Group here = group(g);
    top = larger(top, choose(here.live, here.exponent, Ints{} + no_exponent));
  }
  const Ints q = larger(top - fp4_window, Ints{} + fp4_floor);
  Fp4Term terms[fp4_most_groups + 1];
  for (int g = 0; g < pa.groups; ++g) {
    const Fp4Group here = group(g);
    const Ints sum = __builtin_convertvector(*reinterpret_cast<const LaneShorts*>(&quarters[r][g][j]), Ints);
    terms[g].set(sum * here.scale, here.exponent - 2 * pa.fraction_bits - 2 - q);
  }
  const Ints c_fraction = (bits(c) & 0x7FFFFF) | choose(c_field == 0, Ints{}, Ints{} + 0x800000);
  const Ints c_sign = bits(c) >> 31;
  terms[pa.groups].set((c_fraction ^ c_sign) - c_sign, c_top - 23 - q);
  const Ints nan = load(pb.specials.data() + pb.strip(t.column, t.step) + j) | pa.specials[pa.strip(t.row + r, t.step)];
  Ints slow = (c_field == 0xFF) | nan;
  store(t.rows[r] + j, round_fp4(terms, pa.groups + 1, q, slow));
  const unsigned mask = lane_mask(slow);
  if (__builtin_expect(mask == 0, 1)) return;
  alignas(64) float old[lanes];
  store(old, c);
  redo_lanes(job, t, r, j, mask, old, t.rows[r] + j);
}

__attribute__((noinline)) void fp4_tile(GemmJob& job, const Tile& t) {
  alignas(64) Fp4Quarters quarters;
  if (job.task->spec.sparse)
    sum_fp4_groups<2 * fp4_group>(job, t, quarters);
  else
    sum_fp4_groups<fp4_group>(job, t, quarters);
  for (int r = 0; r < row_group; ++r)
    for (int j = 0; j < panel_block; j += lanes) close_fp4(job, t, r, j, quarters);
}
