// What a generated GEMM multiplies (GemmProblem) and how (GemmStrategy), as values, and what follows from both
// (GemmPlan). One generator (kernels/generator.hpp) builds all of them. The strategies that a problem lists are checked
// while compiling, every other one before it is built, by the same GemmPlan::check.
#pragma once

#include <bit>
#include <numeric>
#include <span>
#include <string_view>

#include "kernels/epilogue.hpp"
#include "kernels/operands.hpp"

namespace kiln::kernels {

/// Whose warps store the sums of a tile.
enum class Storers : unsigned char {
  others,    // a warpgroup that does nothing else
  together,  // the two warpgroups that multiply, half of the rows each, out of their registers: wgmma alone
  by_turns   // the same, but each has tiles of its own: one stores while the other multiplies
};

/// How: CTAs that share a tile, columns of a tile, stored bytes of a row of A along K in a slot, slots, accumulators,
/// how operands lie in shared memory, how many columns the epilogue stores at a time, the order of tiles, which operand
/// has their rows, how D is stored, how many share the K of a tile, and who stores it. A tile has 128 rows a CTA.
/// Structural.
struct GemmStrategy {
  dsl::CtaGroup group = dsl::cta_group_2;
  int columns = 256;
  int slot_bytes = 128;
  int stages = 7;
  int accumulators = 2;  // with two, one is stored while the other is summed up
  dsl::Layout swizzle = dsl::swizzle_128B;
  int epilogue_width = 0;       // columns; 0: the epilogue's own
  int rows_together = 0;        // rows of tiles that are walked together, column by column; 0: all of them
  bool launch_control = false;  // running CTAs take tiles over from those that have not started
  bool swapped = false;         // rows of a tile are rows of B, its columns rows of A: it is stored as a column of D
  bool tma_store = false;       // D leaves through shared memory, by TMA
  int splits = 1;               // CTAs, or pairs, that take a part of the K of a tile each
  Storers storers = Storers::others;
  bool all_add = false;  // of such parts: each waits for the others and adds a slice of the tile; or the last adds all
  bool stream_k = false;  // CTAs, or pairs, share the K of the tiles that fill no whole round evenly
  int pairs = 1;          // of a cluster: their tiles stand side by side, and they share the rows of A

  constexpr int ctas() const { return group == dsl::cta_group_2 ? 2 : 1; }
  constexpr int rows() const { return isa::tmem_lanes * ctas(); }
  /// Whether the warps that multiply store.
  constexpr bool multipliers_store() const { return storers != Storers::others; }
  /// Whether tiles have parts that are added.
  constexpr bool has_parts() const { return splits > 1 || stream_k; }
  constexpr bool operator==(const GemmStrategy&) const = default;
};

/// What is multiplied: the kind of MMA, the element types of A and B (unpacked<...> where 4 or 6 bits take a byte of
/// shared memory), of the sums in tensor memory and of D. The rest has its least value where a problem does not say it.
struct GemmProblem {
  std::string_view name;
  dsl::MmaKind kind{};
  dsl::ElementType a{}, b{}, sums{}, d{};
  isa::ScalarType scale = isa::ScalarType::none;              // of block-scaled kinds
  dsl::ScaleVector scale_vector = dsl::ScaleVector::none;     // where the kind has several
  bool is_sparse = false;                                     // A stores half of its elements
  bool is_batched = false;                                    // --batch matrices at once
  int products = 1;                                           // 2: A meets two matrices, Gate and Up
  dsl::Major a_major = dsl::K_major, b_major = dsl::K_major;  // which extent is contiguous in memory
  isa::L2Eviction a_eviction = isa::L2Eviction::none, b_eviction = isa::L2Eviction::none;  // how soon L2 gives them up
  const Epilogue* epilogue = &plain;                                                       // what becomes of the sums
  std::span<const GemmStrategy> strategies{};                                              // the first is the default

  constexpr bool is_scaled() const { return scale != isa::ScalarType::none; }
  constexpr bool is_transposed() const { return a_major == dsl::MN_major || b_major == dsl::MN_major; }

  // The same problem with something else.
  constexpr GemmProblem with(const Epilogue& other) const {
    GemmProblem p = *this;
    p.epilogue = &other;
    return p;
  }
  constexpr GemmProblem with_majors(dsl::Major of_a, dsl::Major of_b) const {
    GemmProblem p = *this;
    p.a_major = of_a, p.b_major = of_b;
    return p;
  }
  constexpr GemmProblem with_evictions(isa::L2Eviction of_a, isa::L2Eviction of_b) const {
    GemmProblem p = *this;
    p.a_eviction = of_a, p.b_eviction = of_b;
    return p;
  }
  constexpr GemmProblem with_operands_swapped() const {
    GemmProblem p = *this;
    p.a = b, p.b = a;
    p.a_major = b_major, p.b_major = a_major;
    p.a_eviction = b_eviction, p.b_eviction = a_eviction;
    return p;
  }
  constexpr GemmProblem sparse() const {
    GemmProblem p = *this;
    p.is_sparse = true;
    return p;
  }
  constexpr GemmProblem batched() const {
    GemmProblem p = *this;
    p.is_batched = true;
    return p;
  }
  constexpr GemmProblem dual() const {
    GemmProblem p = *this;
    p.products = 2;
    return p;
  }
  template <class Scale>
  constexpr GemmProblem scaled(dsl::ScaleVector vector = dsl::ScaleVector::none) const {
    GemmProblem p = *this;
    p.scale = Scale::scalar, p.scale_vector = vector;
    return p;
  }
};

/// D = A * B^T, of elements of A and B, sums and elements of D of these types.
template <class A, class B, class Sums, class D>
constexpr GemmProblem product(std::string_view name, dsl::MmaKind kind, std::span<const GemmStrategy> strategies) {
  GemmProblem p;
  p.name = name;
  p.kind = kind;
  p.a = dsl::element_type<A>;
  p.b = dsl::element_type<B>;
  p.sums = dsl::element_type<Sums>;
  p.d = dsl::element_type<D>;
  p.strategies = strategies;
  return p;
}

/// Where tiles of some columns find the scales of B, of which a copy brings whole chunks of 128 rows. Tiles of other
/// widths than multiples of that share chunks, and each begins at its own row of the first.
struct ScaleChunks {
  int columns = 0;
  static constexpr int rows = isa::scale_chunk_rows;

  constexpr int of_tile() const { return (columns + rows - 1) / rows; }
  constexpr bool are_shared() const { return columns % rows != 0; }
  /// The chunk with which a tile of a number in its row of tiles begins; and where they are shared, the row of that.
  template <class Number>
  Number first(const Number& column) const {
    return are_shared() ? column * columns / rows : column * of_tile();
  }
  template <class Number>
  Number first_row(const Number& column) const {
    return column * columns % rows;
  }
  /// The last row of a chunk that a tile begins with.
  constexpr int last_start() const { return rows - std::gcd(columns, rows); }
  /// Whether a tile's scales begin with a column of tensor memory and lie in the chunks that it loads.
  constexpr bool can_be_loaded() const {
    return columns % isa::scale_column_rows == 0 && (!are_shared() || last_start() + columns <= of_tile() * rows);
  }
};

/// A problem with a strategy.
struct GemmPlan {
  GemmProblem problem;
  GemmStrategy strategy;
  GemmProblem issued;  // as MMAs see it: A has the rows of a tile
  dsl::MmaSpec mma;
  int stored_k;  // elements of a row of A in a slot
  int k;         // elements of K in a slot
  dsl::TileShape a_tile, b_tile;
  dsl::TileShape a_part;  // of a_tile, that a CTA loads: all of it, or its share in a cluster of several pairs

  constexpr GemmPlan(const GemmProblem& p, const GemmStrategy& s)
      : problem(p), strategy(s), issued(s.swapped ? p.with_operands_swapped() : p), mma(spec_of(issued, s)) {
    stored_k = s.slot_bytes * 8 / issued.a.bits;
    k = p.is_sparse ? 2 * stored_k : stored_k;
    a_tile = mma.a_tile(issued.a, stored_k, issued.a_major, layout(issued.a_major));
    b_tile = mma.b_tile(issued.b, k, issued.b_major, layout(issued.b_major));
    a_part = a_tile;
    if (s.pairs > 1) a_part.rows /= s.pairs, a_part.readers = dsl::Readers::all_pairs;
  }

  /// The same for a target. On sm_107 an MMA takes 64 bytes of K at once, of dense operands of 4 to 8 bits that are
  /// contiguous along K; with eight scales to a row, whose places are not published, 32.
  constexpr GemmPlan on(isa::Target target) const {
    GemmPlan p = *this;
    constexpr int wide_bytes = isa::a_k_bytes(false, true);
    const bool has_rows = !problem.is_sparse && !problem.is_transposed() && strategy.slot_bytes % wide_bytes == 0 &&
                          isa::span_bytes(a_tile.swizzle()) >= wide_bytes;
    p.mma.shape.wide = true;
    const bool pays = target.sm == 107 && has_rows && p.mma.check().ok();
    return pays ? p : *this;
  }

  constexpr int steps() const { return k / mma.K(); }  // MMAs along K in a slot
  constexpr int sum_columns() const { return problem.products * mma.d_columns(); }
  /// Columns that the epilogue stores at a time.
  constexpr int width() const { return strategy.epilogue_width ? strategy.epilogue_width : problem.epilogue->width(); }
  /// Whether sums are integers.
  constexpr bool sums_are_integers() const { return problem.sums.scalar == isa::ScalarType::s32; }
  /// Whether the epilogue leaves sums of 32 bits as they are, so that it can also store a column, or the sum of several
  /// parts.
  constexpr bool stores_plain_sums() const {
    return problem.epilogue == &plain && problem.products == 1 &&
           (problem.sums.scalar == isa::ScalarType::f32 || sums_are_integers());
  }

  constexpr dsl::MetadataShape metadata() const { return {mma.form.kind, steps()}; }
  constexpr dsl::ScaleShape sfa() const { return dsl::ScaleShape::of(mma, isa::ScaleSide::A, steps()); }
  constexpr dsl::ScaleShape sfb() const { return dsl::ScaleShape::of(mma, isa::ScaleSide::B, steps()); }
  // B's columns are halved between the CTAs of a pair. Their scales are not: each CTA needs all.
  constexpr dsl::ScaleTileShape sfa_tile() const { return {mma.a_rows(), steps() * mma.scales()}; }
  constexpr dsl::ScaleTileShape sfb_tile() const { return {mma.N(), steps() * mma.scales()}; }
  constexpr ScaleChunks chunks() const { return {mma.N()}; }

  /// Columns of tensor memory, and bytes of a slot.
  constexpr int tmem_columns() const {
    int side = 0;
    if (problem.is_sparse) side += metadata().columns_held();
    if (problem.is_scaled()) side += sfa().columns_held() + sfb().columns_held();
    return strategy.accumulators * sum_columns() + strategy.stages * side;
  }
  /// Blocks of D on their way out by TMA, and their columns.
  static constexpr int copied_blocks = 4, copied_columns = 32;
  constexpr std::int64_t copied_bytes() const {
    if (strategy.multipliers_store()) return 2LL * multiplier_blocks * 64 * multiplier_columns() * problem.d.bits / 8;
    return strategy.tma_store ? std::int64_t(copied_blocks) * copied_columns * isa::tmem_lanes * problem.d.bits / 8 : 0;
  }
  /// The same of each of two warpgroups that multiply: blocks of 64 rows.
  static constexpr int multiplier_blocks = 2;
  constexpr int multiplier_columns() const {
    const int most = mma.N() % 64 == 0 && problem.d.bits == 16 ? 64 : 32;
    return strategy.epilogue_width ? std::min(strategy.epilogue_width, most) : most;
  }
  /// The most columns that such a warpgroup has in its registers beside all else: of a half of a tile, or a whole one.
  constexpr int most_multiplier_columns() const { return strategy.storers == Storers::by_turns ? 128 : 256; }
  constexpr std::int64_t slot_bytes() const {
    std::int64_t bytes = dsl::placed_bytes(a_part.bytes()) + problem.products * dsl::placed_bytes(b_tile.bytes());
    if (problem.is_sparse) bytes += dsl::placed_bytes(metadata().bytes());
    if (problem.is_scaled()) bytes += dsl::placed_bytes(sfa_tile().bytes()) + dsl::placed_bytes(sfb_tile().bytes());
    return bytes;
  }

  /// What the rules say: a legal MMA, tiles that it can read, whole slices of K, columns of tensor memory, bytes of
  /// shared memory. All targets with tensor memory have as much of both.
  constexpr rules::Verdict check() const {
    using namespace rules;
    if (const Verdict v = first(mma.check(), a_tile.check(), b_tile.check()); !v.ok()) return v;
    const int last = (stored_k - 1) / mma.a_k() * mma.a_k();  // where the last slice begins
    const Verdict operands = first(mma_a(mma.form, mma.shape, a_tile.mma_operand()),
                                   mma_b(mma.form, mma.shape, b_tile.mma_operand()));
    return first(operands, tile_slice(stored_k, last, mma.a_k()), tmem_budget(tmem_columns()),
                 shared_budget(dsl::sm_100a, strategy.stages * slot_bytes() + copied_bytes()));
  }
  /// What this generator does not do although the rules allow it; empty: nothing of it.
  constexpr std::string_view limit() const {
    if (strategy.stages < 1 || strategy.accumulators < 1) return "a kernel has a slot and an accumulator at least";
    if (problem.epilogue->is_fixed() && width() != problem.epilogue->width())
      return "the epilogue makes one value of each of its blocks, which have a width of their own";
    if (width() < 8 || width() > 128 || !std::has_single_bit(unsigned(width())))
      return "an epilogue stores 8, 16, 32, 64 or 128 columns at a time";
    if (mma.N() % width() != 0)
      return "a tile has whole blocks of the columns that are stored at once";
    if (problem.is_scaled() && !chunks().can_be_loaded())
      return "the scales of a tile's columns begin with a column of tensor memory: a multiple of 32";
    if (problem.is_transposed() && (problem.is_scaled() || problem.is_sparse || problem.epilogue->is_fixed()))
      return "scales, metadata and maxima belong to elements along K: their operands are not transposed";
    if (strategy.splits < 1) return "a tile has a part of K at least";
    if ((strategy.swapped || strategy.has_parts()) && !stores_plain_sums())
      return "operands change places, and CTAs share a tile's K, where one product's sums of 32 bits are stored as they are";
    if (strategy.stream_k && sums_are_integers()) return "CTAs that share the K of the last tiles evenly add floats";
    if (strategy.tma_store && (problem.epilogue != &plain || problem.products > 1 || problem.is_batched))
      return "TMA stores the sums of one product as they are";
    if (strategy.tma_store && (strategy.swapped || strategy.splits > 1))
      return "TMA stores whole rows of a tile: its operands do not change places, and its K is not shared";
    if (strategy.tma_store && mma.N() % copied_columns != 0)
      return "a tile has whole blocks of 32 columns that TMA stores";
    if (strategy.multipliers_store() && (!strategy.tma_store || strategy.launch_control))
      return "the warps that multiply store by TMA, and their tiles are dealt out before";
    const bool stores_words = problem.d.scalar == problem.sums.scalar && problem.d.bits == 32;
    if (strategy.multipliers_store() &&
        ((problem.d.bits != 16 && !stores_words) || problem.is_scaled() || problem.is_sparse))
      return "the warps that multiply store 16-bit floats or sums as they are, of dense operands without scales";
    if (strategy.multipliers_store() && mma.N() > most_multiplier_columns())
      return "a warpgroup that multiplies and stores has registers for 128 rows of 128 columns, or 64 of 256";
    if (strategy.multipliers_store() && strategy.epilogue_width && strategy.epilogue_width != multiplier_columns())
      return "the warps that multiply store 32 columns at a time, or 64 of 16 bits";
    if (strategy.all_add && (strategy.splits == 1 || strategy.rows_together != 0 || strategy.launch_control))
      return "CTAs that wait for one another's parts have some, which follow one another and are dealt out before";
    if (strategy.stream_k && (strategy.splits > 1 || strategy.launch_control))
      return "CTAs that share the K of the last tiles evenly share no other's, and their tiles are dealt out before";
    if (strategy.stream_k && (strategy.storers == Storers::by_turns ||
                              (strategy.tma_store && strategy.storers == Storers::others)))
      return "parts of K are added by warps that store rows, or by two warpgroups that multiply half of a tile each";
    if (strategy.pairs != 1 && strategy.pairs != 2 && strategy.pairs != 4)
      return "a cluster has one pair of CTAs, two or four";
    if (strategy.pairs > 1 && (!strategy.multipliers_store() || strategy.ctas() == 1 || strategy.stream_k))
      return "pairs of CTAs share rows of A where the warps that multiply store whole tiles";
    if (strategy.pairs > 1 && issued.a_major == dsl::MN_major)
      return "pairs of CTAs share rows of an A that is contiguous along K";
    if (strategy.swapped && (problem.is_scaled() || problem.is_sparse))
      return "scales and metadata belong to their operand: it does not change places with the other";
    if (problem.is_batched &&
        (a_tile.blocks() * a_tile.box_rows_pieces() != 1 || b_tile.blocks() * b_tile.box_rows_pieces() != 1))
      return "in a batch one box brings a tile: a row of a slot is one span of the swizzle";
    return "";
  }

 private:
  // Tf32 that is contiguous along M or N has a swizzle of its own.
  constexpr dsl::Layout layout(dsl::Major major) const {
    const bool needs_atom32 = problem.kind == dsl::MmaKind::tf32 && major == dsl::MN_major;
    return needs_atom32 && strategy.swizzle == dsl::swizzle_128B ? dsl::swizzle_128B_atom_32B : strategy.swizzle;
  }
  static constexpr dsl::MmaSpec spec_of(const GemmProblem& p, const GemmStrategy& s) {
    dsl::MmaSpec mma;
    mma.form.kind = p.kind;
    mma.form.group = s.group;
    mma.form.sparse = p.is_sparse;
    mma.form.scale_vector = p.scale_vector;
    mma.shape.a = p.a.scalar;
    mma.shape.b = p.b.scalar;
    mma.shape.d = p.sums.scalar;
    mma.shape.m = s.rows();
    mma.shape.n = s.columns;
    mma.shape.a_major = p.a_major;
    mma.shape.b_major = p.b_major;
    mma.shape.scale = mma.sfb = p.scale;
    mma.complete();
    return mma;
  }
};

/// Instantiated with a strategy that breaks a rule, fails to compile with that rule's text.
template <const GemmProblem& problem, GemmStrategy strategy>
struct Checked {
  static constexpr GemmPlan plan{problem, strategy};
  using Required = decltype(rules::require<plan.check()>());
  static_assert(!plan.check().ok() || plan.limit().empty(),
                "the generator has no such kernel: GemmPlan::limit says why");
};

/// The same for each strategy that a problem lists.
template <const GemmProblem& problem>
constexpr bool all_checked() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return ((sizeof(Checked<problem, problem.strategies[i]>) > 0) && ...);
  }
  (std::make_index_sequence<problem.strategies.size()>());
}

}  // namespace kiln::kernels
