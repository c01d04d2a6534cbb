// The vector loops of the GEMM kernel, compiled once per vector unit inside that unit's namespace.
//
// The including file defines KILN_LANES. Written in compiler vectors so that the loops read as arithmetic. Headers come
// before the target is switched: an inline function of theirs compiled for AVX-512 could be the copy that the linker
// keeps for everyone. Without the unroll pragmas -O2 leaves the small arrays of vectors in memory.

typedef float Floats __attribute__((vector_size(4 * KILN_LANES)));
typedef std::int32_t Ints __attribute__((vector_size(4 * KILN_LANES)));
typedef std::uint32_t Sums __attribute__((vector_size(4 * KILN_LANES)));  // wraps where a lane is about to be redone
typedef std::int8_t Codes __attribute__((vector_size(4 * KILN_LANES)));
typedef std::int8_t LaneCodes __attribute__((vector_size(KILN_LANES)));
typedef float UnalignedFloats __attribute__((vector_size(4 * KILN_LANES), aligned(4), may_alias));
typedef std::int32_t AliasInts __attribute__((vector_size(4 * KILN_LANES), aligned(4), may_alias));
typedef std::int8_t AliasCodes __attribute__((vector_size(4 * KILN_LANES), aligned(1), may_alias));
typedef std::int8_t AliasLaneCodes __attribute__((vector_size(KILN_LANES), aligned(1), may_alias));

#define KILN_INLINE inline __attribute__((always_inline))

constexpr int lanes = KILN_LANES;
constexpr int no_exponent = -1000;
constexpr int special_top = 5000;  // puts every result of a special strip out of range, hence into the hands of `dot`
constexpr int special_code = 63;   // live even against a zero: infinity times zero is NaN
// Results whose exponents stay in here need no rounding at either end of f32 and no window floor. Nor does it matter
// that the product of two values is itself an f32: one that overflows puts the result above, one that underflows lies
// below the grid of every result in here.
constexpr int safe_low = -100, safe_high = 90;

KILN_INLINE Ints bits(Floats x) { return reinterpret_cast<Ints>(x); }
KILN_INLINE Floats floats(Ints x) { return reinterpret_cast<Floats>(x); }
KILN_INLINE Ints choose(Ints mask, Ints yes, Ints no) { return (mask & yes) | (~mask & no); }
KILN_INLINE Ints larger(Ints a, Ints b) { return a > b ? a : b; }
KILN_INLINE Ints smaller(Ints a, Ints b) { return a < b ? a : b; }
// 2^e for -126 <= e <= 127.
KILN_INLINE Floats power(Ints e) { return floats((e + 127) << 23); }
KILN_INLINE Ints truncate(Floats x) { return __builtin_convertvector(x, Ints); }
KILN_INLINE Sums sums(Floats x) { return reinterpret_cast<Sums>(truncate(x)); }
KILN_INLINE Floats to_floats(Ints x) { return __builtin_convertvector(x, Floats); }
KILN_INLINE Floats load(const float* p) { return *reinterpret_cast<const UnalignedFloats*>(p); }
KILN_INLINE Ints load(const std::int32_t* p) { return *reinterpret_cast<const AliasInts*>(p); }
KILN_INLINE void store(float* p, Floats x) { *reinterpret_cast<UnalignedFloats*>(p) = x; }
KILN_INLINE float power_of(int e) { return __builtin_bit_cast(float, (e + 127) << 23); }

#include "ptx/num/gemm_lanes_unit.inl"

// Uses the operations above.
#include "ptx/num/gemm_lanes_decode.inl"

// A rectangle of D that one inner loop covers: row_group rows of panel_block words.
struct Tile {
  float* rows[row_group];
  int row, column, step;
};

// What the exact loop knows about one row of a vector before it multiplies.
struct Window {
  Floats c, scale;
  Ints top, slow;
  Sums units;
};

// Highest product code of each element of a tile, dead or live.
template <int K>
KILN_INLINE void highest_codes(const GemmJob& job, const Tile& t, std::int8_t (&highest)[row_group][panel_block]) {
  constexpr int width = 4 * lanes;
  const std::int8_t* b = job.b.codes.data() + job.b.element(t.column, t.step);
  const std::int32_t* a = job.a.wide_codes.data() + job.a.element(t.row, t.step);
  for (int j = 0; j < panel_block; j += width) {
    Codes top[row_group];
#pragma GCC unroll 16
    for (int r = 0; r < row_group; ++r) top[r] = Codes{} + static_cast<std::int8_t>(2 * dead_code);
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) {
      const Codes bk = *reinterpret_cast<const AliasCodes*>(b + k * panel_block + j);
#pragma GCC unroll 16
      for (int r = 0; r < row_group; ++r) {
        const Codes sum = bk + reinterpret_cast<Codes>(Ints{} + a[k * panel_block + r]);
        top[r] = sum > top[r] ? sum : top[r];
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < row_group; ++r) *reinterpret_cast<AliasCodes*>(&highest[r][j]) = top[r];
  }
}

KILN_INLINE Window open_window(const GemmTask& task, const Tile& t, int r, int j, const std::int8_t* highest, int a_top,
                               int a_scale, Ints b_top, Ints b_scale) {
  Window w;
  const LaneCodes narrow = *reinterpret_cast<const AliasLaneCodes*>(highest);
  const Ints code = widen(narrow);
  const Ints live = code > dead_code + 1;
  w.c = reads_c(task, t.step) ? load(t.rows[r] + j) : Floats{};
  const Ints magnitude = bits(w.c) & 0x7FFFFFFF;
  const Ints c_top = choose(magnitude == 0, Ints{} + no_exponent,
                            larger(magnitude >> 23, Ints{} + 1) - (127 + task.spec.scale_input_d));
  const Ints product_top = choose(live, code + b_top + a_top, Ints{} + no_exponent);
  const Ints top = larger(product_top, c_top);
  w.slow = (live & (code <= lowest_live_code)) | (((top < safe_low) | (top > safe_high)) & (top > no_exponent + 100));
  w.top = smaller(larger(top, Ints{} + safe_low), Ints{} + safe_high);
  const Ints scale = (blackwell_window + a_scale) - w.top + b_scale;
  w.scale = power(smaller(larger(scale, Ints{} - 126), Ints{} + 127));
  w.units = sums(w.c * power((blackwell_window - task.spec.scale_input_d) - w.top));
  return w;
}

// The sum of the cut products in grid units. Sixteen products stay below 2^31; thirty-two may not, which `slow`
// records. Half of a sparse row's are zeros.
template <int K, bool sparse>
KILN_INLINE void sum_products(const float* a, const float* b, Window (&w)[row_group]) {
  constexpr int safe = sparse ? 32 : 16;
  Sums sum[row_group] = {};
#pragma GCC unroll 16
  for (int k = 0; k < (K < safe ? K : safe); ++k) {
    const Floats bk = load(b + k * panel_block);
#pragma GCC unroll 16
    for (int r = 0; r < row_group; ++r) sum[r] += sums((bk * a[k * panel_block + r]) * w[r].scale);
  }
  Floats rough[row_group];
#pragma GCC unroll 16
  for (int r = 0; r < row_group; ++r) rough[r] = to_floats(reinterpret_cast<Ints>(sum[r]));
  if constexpr (K > safe) {
    Sums rest[row_group] = {};
#pragma GCC unroll 16
    for (int k = safe; k < K; ++k) {
      const Floats bk = load(b + k * panel_block);
#pragma GCC unroll 16
      for (int r = 0; r < row_group; ++r) rest[r] += sums((bk * a[k * panel_block + r]) * w[r].scale);
    }
#pragma GCC unroll 16
    for (int r = 0; r < row_group; ++r) {
      rough[r] += to_floats(reinterpret_cast<Ints>(rest[r]));
      sum[r] += rest[r];
    }
  }
  // C is below 2^26 units, so a sum this far from 2^31 cannot wrap with it.
  constexpr std::int32_t limit = 0x4EF00000;  // the f32 word of 2^31 - 2^27
#pragma GCC unroll 16
  for (int r = 0; r < row_group; ++r) {
    w[r].slow |= (bits(rough[r]) & 0x7FFFFFFF) >= limit;
    w[r].units += sum[r];
  }
}

__attribute__((noinline)) void redo_lanes(GemmJob& job, const Tile& t, int r, int j, unsigned mask, const float* c,
                                          float* result) {
  for (int lane = 0; lane < lanes; ++lane) {
    const int row = t.row + r, column = t.column + j + lane;
    if (!(mask >> lane & 1) || row >= job.task->m || column >= job.task->n) continue;
    const auto word = redo_element(job, row, column, t.step, __builtin_bit_cast(std::uint32_t, c[lane]));
    __builtin_memcpy(result + lane, &word, sizeof word);
    ++job.counters.redone;
  }
}

KILN_INLINE void close_window(GemmJob& job, const Tile& t, int r, int j, const Window& w) {
  const Floats result = truncate_to_floats(reinterpret_cast<Ints>(w.units)) * power(w.top - blackwell_window);
  store(t.rows[r] + j, result);
  const unsigned mask = lane_mask(w.slow);
  if (__builtin_expect(mask != 0, 0)) {
    alignas(64) float c[lanes];
    store(c, w.c);
    redo_lanes(job, t, r, j, mask, c, t.rows[r] + j);
  }
}

template <int K, bool sparse>
__attribute__((noinline)) void exact_tile(GemmJob& job, const Tile& t) {
  alignas(64) std::int8_t highest[row_group][panel_block];
  highest_codes<K>(job, t, highest);
  const float* a = job.a.values() + job.a.element(t.row, t.step);
  const float* b = job.b.values() + job.b.element(t.column, t.step);
  for (int j = 0; j < panel_block; j += lanes) {
    const std::size_t column = job.b.strip(t.column, t.step) + static_cast<std::size_t>(j);
    const Ints b_top = load(job.b.tops.data() + column), b_scale = load(job.b.scales.data() + column);
    Window w[row_group];
#pragma GCC unroll 16
    for (int r = 0; r < row_group; ++r) {
      const std::size_t strip = job.a.strip(t.row + r, t.step);
      w[r] = open_window(*job.task, t, r, j, &highest[r][j], job.a.tops[strip], job.a.scales[strip], b_top, b_scale);
    }
    sum_products<K, sparse>(a, b + j, w);
#pragma GCC unroll 16
    for (int r = 0; r < row_group; ++r) close_window(job, t, r, j, w[r]);
  }
}

// Whether every C of a tile is a multiple of 2^unit and at most 2^23 of them.
KILN_INLINE bool small_multiples(const Tile& t, float c_scale, int unit) {
  Ints bad = {};
  for (int r = 0; r < row_group; ++r)
    for (int j = 0; j < panel_block; j += lanes) {
      const Floats c = load(t.rows[r] + j) * c_scale;
      const Ints whole = truncate(c * power_of(-unit));
      // Compared at C's own scale: a C so small that the quotient underflows is no multiple of the unit.
      bad |= (to_floats(whole) * power_of(unit) != c) | (whole > (1 << 23)) | (whole < -(1 << 23));
    }
  return lane_mask(bad) == 0;
}

// Plain multiply-add over `across` vectors of columns and `depth` times K products of each.
template <int K, int across>
KILN_INLINE void plain_columns(const GemmJob& job, const Tile& t, int j, const float* a, const float* b, float c_scale,
                               int depth) {
  Floats sum[row_group][across];
#pragma GCC unroll 16
  for (int i = 0; i < row_group * across; ++i) {
    const int r = i / across, v = i % across;
    sum[r][v] = reads_c(*job.task, t.step) ? load(t.rows[r] + j + v * lanes) * c_scale : Floats{};
  }
  for (int step = 0; step < depth; ++step, a += K * panel_block, b += K * panel_block) {
#pragma GCC unroll 16
    for (int k = 0; k < K; ++k) {
#pragma GCC unroll 16
      for (int i = 0; i < row_group * across; ++i) {
        const int r = i / across, v = i % across;
        const Floats ak = a[k * panel_block + r] - Floats{};
        sum[r][v] = multiply_add(ak, load(b + k * panel_block + j + v * lanes), sum[r][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < row_group * across; ++i) {
    const int r = i / across, v = i % across;
    const Floats d = sum[r][v] + 0.0f;  // D is never -0
    store(t.rows[r] + j + v * lanes, floats(choose(d == d, bits(d), Ints{} + 0x7FFFFFFF)));
  }
}

// Plain multiply-add over a tile, for `depth` instructions. Where `unit` is given, C must be small multiples of 2^unit,
// or the tile is left alone and the answer is false; with the caller's proof for the products, every partial sum is
// then an exact f32.
template <int K>
__attribute__((noinline)) bool plain_tile(GemmJob& job, const Tile& t, const int* unit, int depth) {
  constexpr int across = lanes >= 16 ? 4 : 2;
  const float c_scale = power_of(-job.task->spec.scale_input_d);
  if (unit && reads_c(*job.task, t.step) && !small_multiples(t, c_scale, *unit)) return false;
  const float* a = job.a.values() + job.a.element(t.row, t.step);
  const float* b = job.b.values() + job.b.element(t.column, t.step);
  for (int j = 0; j < panel_block; j += lanes * across) plain_columns<K, across>(job, t, j, a, b, c_scale, depth);
  return true;
}

// The largest unit that divides every product of `depth` instructions, if sums of them and a small C are exact in f32
// and uncut.
KILN_INLINE bool provable(const GemmJob& job, const Tile& t, int k, int depth, int& unit) {
  const BlockSummary* const a = &job.a.summaries[job.a.index(t.row, t.step)];
  const BlockSummary* const b = &job.b.summaries[job.b.index(t.column, t.step)];
  unit = a->unit + b->unit;
  for (int step = 1; step < depth; ++step)
    unit = a[step].unit + b[step].unit < unit ? a[step].unit + b[step].unit : unit;
  if (unit < safe_low || unit > safe_high) return false;
  float bound = 0;
  for (int step = 0; step < depth; ++step) {
    if (!a[step].plain || !b[step].plain || a[step].top + b[step].top - blackwell_window > unit) return false;
    bound += static_cast<float>(k) * a[step].max_abs * b[step].max_abs;
  }
  return bound <= power_of(23 + unit);
}

// How much of a tile lies inside D.
KILN_INLINE int rows_in(const GemmJob& job, const Tile& t) {
  return job.task->m - t.row < row_group ? job.task->m - t.row : row_group;
}
KILN_INLINE int columns_in(const GemmJob& job, const Tile& t) {
  return job.task->n - t.column < panel_block ? job.task->n - t.column : panel_block;
}

// The instructions that `multiply_tile` is given at once. Plain sums may stay in registers from one to the next: what
// D's word adds is that -0 becomes +0 and a NaN the canonical one, and that is seen in the last as well.
KILN_INLINE int depth_of(const GemmJob& job) {
  const bool looks_at_each = job.task->spec.sparse && job.task->arithmetic == Arithmetic::fast;
  return job.task->spec.scale_input_d == 0 && !looks_at_each ? job.a.steps : 1;
}

// By plain sums, where they are proven exact.
template <int K, bool sparse>
KILN_INLINE bool multiply_proven(GemmJob& job, const Tile& t, int depth) {
  int unit = 0;
  if (!provable(job, t, sparse ? K / 2 : K, depth, unit) || !plain_tile<K>(job, t, &unit, depth)) return false;
  job.counters.proven += static_cast<std::uint64_t>(depth) * static_cast<std::uint64_t>(rows_in(job, t)) *
                         static_cast<std::uint64_t>(columns_in(job, t));
  return true;
}

// Zeros that a sparse A does not store meet elements of B that the MMA ignores: infinities and NaNs among them must
// leave no trace, so those go through `dot`.
__attribute__((noinline)) bool redo_specials(GemmJob& job, const Tile& t) {
  if (job.b.summaries[job.b.index(t.column, t.step)].plain) return false;
  for (int r = 0; r < row_group; ++r)
    for (int j = 0; j < panel_block; j += lanes) {
      alignas(64) float c[lanes];
      store(c, load(t.rows[r] + j));
      redo_lanes(job, t, r, j, ~0u, c, t.rows[r] + j);
    }
  return true;
}

template <int K, bool sparse>
void multiply_tile(GemmJob& job, const Tile& t) {
  const int depth = depth_of(job);
  if (job.task->arithmetic == Arithmetic::fast) {
    if (!sparse || !redo_specials(job, t)) plain_tile<K>(job, t, nullptr, depth);
    return;
  }
  if (depth > 1 && multiply_proven<K, sparse>(job, t, depth)) return;
  Tile one = t;
  for (; one.step < t.step + depth; ++one.step)
    if (!multiply_proven<K, sparse>(job, one, 1)) exact_tile<K, sparse>(job, one);
}

// Uses the tile and `redo_lanes`.
#include "ptx/num/gemm_lanes_fp4.inl"

// A tile that hangs over the edge of D works on a copy.
template <void (*multiply_one)(GemmJob&, const Tile&)>
__attribute__((noinline)) void edge_tile(GemmJob& job, Tile t, int steps, int depth) {
  alignas(64) float copy[row_group][panel_block] = {};
  const int rows = rows_in(job, t), columns = columns_in(job, t);
  float* const* outside = t.rows;
  Tile inside = t;
#pragma GCC unroll 16
  for (int r = 0; r < row_group; ++r) inside.rows[r] = copy[r];
  for (int r = 0; r < rows; ++r)
    __builtin_memcpy(copy[r], outside[r], sizeof(float) * static_cast<std::size_t>(columns));
  for (inside.step = 0; inside.step < steps; inside.step += depth) multiply_one(job, inside);
  for (int r = 0; r < rows; ++r)
    __builtin_memcpy(outside[r], copy[r], sizeof(float) * static_cast<std::size_t>(columns));
}

template <void (*multiply_one)(GemmJob&, const Tile&)>
void multiply_tiles(GemmJob& job, int steps, int depth = 1) {
  const GemmTask& task = *job.task;
  for (int column = 0; column < task.n; column += panel_block)
    for (int row = 0; row < task.m; row += row_group) {
      Tile t{{}, row, column, 0};
#pragma GCC unroll 16
      for (int r = 0; r < row_group; ++r)
        t.rows[r] = reinterpret_cast<float*>(task.d + static_cast<std::size_t>(row + r) * task.d_stride +
                                             static_cast<std::size_t>(column));
      if (row + row_group > task.m || column + panel_block > task.n) {
        edge_tile<multiply_one>(job, t, steps, depth);
        continue;
      }
      for (t.step = 0; t.step < steps; t.step += depth) multiply_one(job, t);
    }
}

template <int K, bool sparse = false>
void multiply_all(GemmJob& job) {
  decode_panels<K, sparse>(job);
  multiply_tiles<multiply_tile<K, sparse>>(job, job.a.steps, depth_of(job));
}

void multiply(GemmJob& job) {
  if (job.is_fp4) return multiply_tiles<fp4_tile>(job, job.fp4_a.steps);
  if (job.task->spec.sparse) switch (job.a.k) {
      case 16: return multiply_all<16, true>(job);
      case 32: return multiply_all<32, true>(job);
      default: return multiply_all<64, true>(job);
    }
  switch (job.a.k) {
    case 8: return multiply_all<8>(job);
    case 16: return multiply_all<16>(job);
    default: return multiply_all<32>(job);
  }
}

#undef KILN_INLINE
