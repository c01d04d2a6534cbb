// Whole warps: the readers and writers of tensor memory, its allocators, and the electors of one thread.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include "dsl/value.hpp"  // the same

#include <bit>

#include "dsl/matrices.hpp"
#include "dsl/thread.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/tcgen05_form.hpp"

namespace kiln::dsl {

/// .pack::16b of a load and .unpack::16b of a store: two 16-bit columns in one register.
enum class Packing : unsigned char { none, pack_16b };
enum class Unpacking : unsigned char { none, unpack_16b };
inline constexpr Packing pack_16b = Packing::pack_16b;
inline constexpr Unpacking unpack_16b = Unpacking::unpack_16b;
/// What tcgen05.ld.red does to floats before it compares them.
enum class Comparison : unsigned char { plain, abs, NaN, abs_NaN };
constexpr bool compares_magnitudes(Comparison c) { return c == Comparison::abs || c == Comparison::abs_NaN; }
constexpr bool keeps_nan(Comparison c) { return c == Comparison::NaN || c == Comparison::abs_NaN; }

/// A form of tcgen05.ld or tcgen05.st: what follows the shape and the repeat count is taken in any order.
struct TmemAccess {
  isa::DataShape shape;
  int repeat;
  bool packed = false;
  std::optional<int> split{};  // the immediate of 16x32bx2: columns from the first range to the second
  constexpr void take(int columns) { split = columns; }
};
struct TmemLoad : TmemAccess {
  using TmemAccess::take;
  constexpr void take(Packing) { packed = true; }
};
struct TmemStore : TmemAccess {
  using TmemAccess::take;
  constexpr void take(Unpacking) { packed = true; }
};
struct TmemReduction : TmemAccess {
  Comparison comparison = Comparison::plain;
  using TmemAccess::take;
  constexpr void take(Comparison c) { comparison = c; }
};
template <class Access, auto... how>
constexpr Access tmem_access(isa::DataShape shape, int repeat) {
  Access a{{shape, repeat}};
  (a.take(how), ...);
  return a;
}

/// Whether a load or store has this shape.
constexpr rules::Verdict tmem_shape(const TmemAccess& a) {
  return rules::first(rules::ld_repeat(a.shape, a.repeat), rules::ld_split(a.shape, a.split.has_value()));
}
/// Registers of a load or store.
template <isa::DataShape shape, int repeat>
inline constexpr int registers_of = isa::load_shape(shape).registers * repeat;

/// What whole warps execute together: loads and stores of tensor memory and their waits, the warpgroup's register
/// count, and one thread out of them. Addresses of tensor memory carry the lane in the upper half.
class WholeWarps : public Matrices {
 public:
  WholeWarps(Recorder& r, RoleContext& role) : Matrices(r, role, true) {}

  /// The registers that this thread receives, in the order of the ISA's fragment pictures; readable after wait(...).
  /// `how`: pack_16b, and for 16x32bx2 the columns between its ranges. PTX ISA "tcgen05.ld".
  template <isa::DataShape shape, int repeat, auto... how>
  Registers<b32, registers_of<shape, repeat>, LdState::pending> tcgen05_ld(const U32& address, Here at = {}) {
    constexpr auto access = tmem_access<TmemLoad, how...>(shape, repeat);
    rules::require<tmem_shape(access)>();
    return {*rec_, load_tmem(access, address, at)};
  }
  /// A load and the least or greatest of what this thread receives. `how`: a Comparison, and for 16x32bx2 the columns
  /// between its ranges. PTX ISA "tcgen05.ld.red".
  template <isa::DataShape shape, int repeat, RedOp op, class T, auto... how>
  Reduced<T, repeat, LdState::pending> tcgen05_ld_red(const U32& address, Here at = {}) {
    static_assert(op == RedOp::min || op == RedOp::max, "tcgen05.ld.red finds the min or the max");
    constexpr auto access = tmem_access<TmemReduction, how...>(shape, repeat);
    rules::require<rules::first(tmem_shape(access), reducible(access, T::scalar))>();
    return reduced<T, repeat>(load_reduced(access, op, T::scalar, address, at));
  }
  /// Writes this thread's registers. `how`: unpack_16b, and for 16x32bx2 the columns between its ranges.
  /// PTX ISA "tcgen05.st".
  template <isa::DataShape shape, int repeat, auto... how, class T, int N, LdState s>
  void tcgen05_st(const U32& address, const Registers<T, N, s>& values, Here at = {}) {
    constexpr auto access = tmem_access<TmemStore, how...>(shape, repeat);
    rules::require<rules::first(tmem_shape(access), rules::step(s, LdEvent::read).verdict,
                                rules::ld_registers(shape, repeat, Registers<T, N, s>::count))>();
    store_tmem(access, address, values.operands(at), at);
  }

  /// The address in the lanes of this warp's quarter, which is what it reaches: for tcgen05_ld and tcgen05_st.
  U32 quarter(const U32& address, Here at = {}) const;

  // Here only to explain: an address is wanted.
  KILN_OTHERWISE(arguments, "quarter(address): a U32, of an accumulator sums.address() [dsl-arguments]")
  U32 quarter(KILN_WHATEVER) const;
  KILN_OTHERWISE(arguments, "tcgen05_ld<shape, repeat>(address): a U32 in the lanes of this warp's quarter, as "
                            "g.quarter(sums.address()) [dsl-arguments]")
  Registers<b32, 1> tcgen05_ld(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "tcgen05_st<shape, repeat>(address, registers): a U32 in the lanes of this warp's "
                            "quarter, as "
                            "g.quarter(sums.address()) [dsl-arguments]")
  void tcgen05_st(KILN_WHATEVER);

  /// Until this thread's loads have filled their registers, and until its stores are done. PTX ISA "tcgen05.wait".
  void tcgen05_wait_ld(Here at = {});
  void tcgen05_wait_st(Here at = {});

  /// Arrives once for each warp of the role, for tensor memory alone, whose loads and stores are those of whole warps:
  /// what single lanes did to other memory is not released. The release of an accumulator.
  void arrive_after_loads(const AnyMbarrier& b, Here at = {});

  using Scope::wait;
  /// tcgen05.wait::ld: the loaded registers may be read.
  template <class T, int N, LdState s>
  Registers<T, N, rules::step(s, LdEvent::wait).next> wait(const Registers<T, N, s>& loaded, Here at = {}) {
    tcgen05_wait_ld(at);
    return {*rec_, loaded.operands(at)};
  }
  template <class T, int N, LdState s>
  Reduced<T, N, rules::step(s, LdEvent::wait).next> wait(const Reduced<T, N, s>& loaded, Here at = {}) {
    tcgen05_wait_ld(at);
    return {{*rec_, loaded.values.operands(at)}, {*rec_, loaded.reduced.operands(at)}};
  }
  AnyRegisters wait(const AnyRegisters& loaded, Here at = {});
  AnyReduced wait(const AnyReduced& loaded, Here at = {});

  /// Gives registers back, or takes more: `registers` a thread from here on, once all four warps of the warpgroup say
  /// so. PTX ISA "setmaxnreg".
  template <int registers>
  void setmaxnreg_inc(Here at = {}) {
    rules::require<rules::setmaxnreg_count(registers)>();
    setmaxnreg("inc", registers, at);
  }
  template <int registers>
  void setmaxnreg_dec(Here at = {}) {
    rules::require<rules::setmaxnreg_count(registers)>();
    setmaxnreg("dec", registers, at);
  }

  /// Holds in one lane of each warp. PTX ISA "elect.sync".
  Pred elect_sync(Here at = {}) { return {*rec_, elect_leader(*rec_, at)}; }

  /// The cluster's barrier, also .aligned. PTX ISA "barrier.cluster".
  void barrier_cluster_arrive(const Extras<ClusterArriveOrder, Aligned>& extras = {}, Here at = {}) {
    cluster_arrive(extras, at);
  }
  void barrier_cluster_wait(const Extras<ClusterWaitOrder, Aligned>& extras = {}, Here at = {}) {
    cluster_wait(extras, at);
  }
  /// Copies a tensor map from shared to global memory and releases it to the tensormap proxy.
  /// PTX ISA "tensormap.cp_fenceproxy".
  template <isa::Scope scope>
  void tensormap_cp_fenceproxy(const U64& to, const U32& from, Order<isa::Semantics::release, scope>, Here at = {}) {
    copy_tensor_map(to, from, scope, at);
  }

  // Here only to say what issues them: one thread, inside elect(...).
#define KILN_OF_THREAD(rule, name, slug)                                                                    \
  template <auto..., class... Args>                                                                         \
    requires(true)                                                                                          \
  KILN_REFUSED(rule, "one thread issues this: inside elect([&](Thread t) { ... }), or in a role of "        \
                     "warp<i>.elect() [" slug "]")                                                          \
  void name(const Args&...);
  KILN_OF_THREAD(mma_issuer, mma, "tcgen05-mma-issuer")
  KILN_OF_THREAD(mma_issuer, mma_tiles, "tcgen05-mma-issuer")
  KILN_OF_THREAD(mma_issuer, commit, "tcgen05-mma-issuer")
  KILN_OF_THREAD(tma_issuer, tma_load, "tma-issuer")
  KILN_OF_THREAD(tma_issuer, tma_store, "tma-issuer")
  KILN_OF_THREAD(tma_issuer, cp_async_bulk, "tma-issuer")
  KILN_OF_THREAD(tma_issuer, cp_async_bulk_tensor, "tma-issuer")
#undef KILN_OF_THREAD

 protected:
  std::vector<ir::Operand> load_tmem(const TmemAccess& access, const U32& address, Here at);
  void store_tmem(const TmemAccess& access, const U32& address, const std::vector<ir::Operand>& values, Here at);
  std::vector<ir::Operand> load_reduced(const TmemReduction& access, RedOp op, ScalarType type, const U32& address,
                                        Here at);
  static constexpr rules::Verdict reducible(const TmemReduction& a, ScalarType type) {
    return rules::ld_reduction(a.shape, a.repeat, type, compares_magnitudes(a.comparison), keeps_nan(a.comparison));
  }

 private:
  // The last register is the reduced value.
  template <class T, int N>
  Reduced<T, N, LdState::pending> reduced(std::vector<ir::Operand> regs) const {
    const ir::Operand last = std::move(regs.back());
    regs.pop_back();
    return {{*rec_, std::move(regs)}, {*rec_, {last}}};
  }
  void setmaxnreg(std::string_view direction, int registers, Here at);
  void copy_tensor_map(const U64& to, const U32& from, isa::Scope scope, Here at);
};

/// The 32 lanes of one warp, converged.
class Warp : public WholeWarps {
 public:
  using WholeWarps::WholeWarps;

  /// Waits for all lanes, and hands on what each has done. PTX ISA "bar.warp.sync".
  void sync(Here at = {});

  /// Executes the body in one lane; the others wait for it.
  template <class Body>
    requires(std::is_invocable_v<Body&, Thread>)
  void elect(Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body(std::declval<Thread>()))>>();
    elect_one([&](Thread t) { body(t); }, at);
  }
  // Here only to explain.
  KILN_OTHERWISE(scope, "elect([&](Thread t) { ... }): the body takes one thread [dsl-scope]")
  void elect(KILN_WHATEVER);
  KILN_OTHERWISE(scope, "a warpgroup reduces so: a role of warpgroup<i>; a warp has warp_reduce<op>(value) [dsl-scope]")
  rules::Refused warpgroup_reduce(KILN_WHATEVER);

  // Tensor memory, bare. PTX ISA "tcgen05.alloc", "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit"
  /// Writes the address of `columns` new columns to shared memory at `slot`.
  template <int columns>
  void tcgen05_alloc(const U32& slot, Here at = {}) {
    rules::require<rules::alloc_columns(columns)>();
    alloc(slot, columns, at);
  }
  template <int columns>
  void tcgen05_dealloc(const U32& address, Here at = {}) {
    rules::require<rules::alloc_columns(columns)>();
    dealloc(address, columns, at);
  }
  void tcgen05_relinquish_alloc_permit(Here at = {});
  /// The same with .exclusive: no other CTA has columns of the SM before the matching dealloc. Any multiple of 32; on
  /// sm_107 up to 576.
  template <int columns>
  void tcgen05_alloc_exclusive(const U32& slot, Here at = {}) {
    rules::require<rules::alloc_columns(columns, true, isa::sm_107a)>();
    alloc(slot, columns, at, true);
  }
  template <int columns>
  void tcgen05_dealloc_exclusive(const U32& address, Here at = {}) {
    rules::require<rules::alloc_columns(columns, true, isa::sm_107a)>();
    dealloc(address, columns, at, true);
  }

  // Here only to explain: a warp reaches a quarter of the lanes.
  template <auto..., class X, class... Args>
    requires(true)
  KILN_REFUSED(ld_issuer, "a warpgroup loads: a role of warpgroup<i>; a warp alone has tcgen05_ld [tcgen05-ld-issuer]")
  X load(const X&, const Args&...);
  template <auto..., class X, class... Args>
    requires(true)
  KILN_REFUSED(ld_issuer, "a warpgroup stores: a role of warpgroup<i>; a warp alone has tcgen05_st [tcgen05-ld-issuer]")
  void store(const X&, const Args&...);

 private:
  void elect_one(const std::function<void(Thread)>& body, Here at);
  void alloc(const U32& slot, int columns, Here at, bool exclusive = false);
  void dealloc(const U32& address, int columns, Here at, bool exclusive = false);
  std::string allocation(const char* opcode, int columns, bool exclusive, Here at);
};

/// How the lanes of a warp hold 16 rows by Cols columns of 32-bit sums, as tcgen05.ld.16x256b delivers them: two
/// neighbours of a row in two registers that follow one another. Rounded to 16 bits they are a Fragment<T, 16, Cols>,
/// which stmatrix writes. PTX ISA "tcgen05 Matrix Fragments".
template <int Cols>
struct SumsFragment {
  static constexpr int rows = 16, cols = Cols, elements = rows * Cols / isa::threads_per_warp;
  static_assert(Cols % 8 == 0, "a lane holds two of every 8 columns [dsl-tile-type]");

  /// Element `i` of a lane: its place in the block.
  static constexpr TilePosition at(int lane, int i) {
    const isa::TmemAddress cell = isa::fragment_cell(isa::DataShape::s16x256b, lane, i);
    return {cell.lane, cell.column};
  }
  /// The same on the device, for the lane of this thread: g.lane().
  static U32 row(const U32& lane, int i, Here here = {}) {
    return apply("add", apply("shr", lane, 2, here), at(0, i).row, here);
  }
  static U32 column(const U32& lane, int i, Here here = {}) {
    return apply("add", apply("mul.lo", apply("and", lane, 3, here), 2, here), at(0, i).column, here);
  }
};

/// Shared memory through which the warps of a role reduce: KernelBuilder::warpgroup_scratch().
struct WarpgroupScratch {
  static constexpr int bytes = 128;  // a word for each warp of a CTA
  U32 address;
};

namespace detail {

template <class X>
inline constexpr bool are_registers = std::is_same_v<X, AnyRegisters>;
template <class T, int N, LdState s>
inline constexpr bool are_registers<Registers<T, N, s>> = true;
/// Whether the 16 or 32 lanes of a warp that hold something are rows of sums.
template <SumsLayout layout>
inline constexpr bool are_rows = layout == SumsLayout::rows || layout == SumsLayout::half_of_lanes;
/// Whether a warpgroup's threads have a row of the tile each.
template <class Tile>
inline constexpr bool of_a_warpgroup = Tile::rows == 128 && Tile::order == Major::K;

}  // namespace detail

/// The shape by which a warpgroup loads and stores sums of a layout, and whether that has so many registers.
constexpr isa::DataShape access_shape(SumsLayout layout) {
  return layout == SumsLayout::half_of_lanes ? isa::DataShape::s16x32bx2 : isa::DataShape::s32x32b;
}
constexpr rules::Verdict repeats(isa::DataShape shape, int registers) { return rules::ld_repeat(shape, registers); }

/// Four warps whose first index is a multiple of four: the readers of tensor memory, one lane quarter each.
class Warpgroup : public WholeWarps {
 public:
  using WholeWarps::WholeWarps;

  using WholeWarps::loop;
  /// Once for the own tile and for every one that this CTA or pair is given, in the same order in every role.
  template <class Body>
    requires(std::is_invocable_v<Body&, TilePlace>)
  void loop(const LaunchControlTiles& tiles, Body body, Here at = {}) {
    loop_answered(*this, tiles, body, at);
  }

  /// What this thread holds of an accumulator: all columns of its row; where M is 64, half of them, as row_of() and
  /// column_of() say. Readable after wait(...). PTX ISA "tcgen05.ld", 32x32b and 16x32bx2.
  template <class T, int M, int N, SumsLayout layout>
    requires(repeats(access_shape(layout), Tmem<T, M, N, layout>::thread_columns * T::bits / 32).ok())
  Registers<T, Tmem<T, M, N, layout>::thread_columns, LdState::pending> load(const Tmem<T, M, N, layout>& from,
                                                                             Here at = {}) {
    if constexpr (layout == SumsLayout::half_of_lanes) {
      return load<Tmem<T, M, N, layout>::thread_columns>(from, 0, at);
    } else {
      constexpr int repeat = N * T::bits / 32;  // 16-bit sums take a column each and share a register
      return {*rec_, load_sums({from.base, from.first}, repeat, T::bits == 16, at)};
    }
  }
  /// `count` of those columns, from the thread's `first` on.
  template <int count, class T, int M, int N, SumsLayout layout>
    requires(repeats(access_shape(layout), count).ok())
  Registers<T, count, LdState::pending> load(const Tmem<T, M, N, layout>& from, int first, Here at = {}) {
    static_assert(T::bits == 32, "16-bit sums share registers: load all of them, or a block of columns()");
    constexpr isa::DataShape shape = access_shape(layout);
    rec_->require(rules::tmem_range(first, count, Tmem<T, M, N, layout>::thread_columns), at);
    TmemLoad access{{shape, count}};
    if (shape == isa::DataShape::s16x32bx2) access.split = N / 2;
    return {*rec_, load_tmem(access, quarter(from.address_of(first, at), at), at)};
  }
  // Here only to explain: columns that no load has.
#define KILN_COLUMNS_OF_LOAD                                                                                        \
  "the repeat count must be one that the shape has: 1, 2, 4, 8, 16, 32, 64 or 128 columns of a row; sums.columns<N>" \
  "(first) is a block of them [tcgen05-ld-repeat]"
  template <class T, int M, int N, SumsLayout layout>
    requires(!repeats(access_shape(layout), Tmem<T, M, N, layout>::thread_columns * T::bits / 32).ok())
  KILN_REFUSED(ld_repeat, KILN_COLUMNS_OF_LOAD)
  Registers<T, N, LdState::pending> load(const Tmem<T, M, N, layout>&, Here at = {});
  template <int count, class T, int M, int N, SumsLayout layout>
    requires(!repeats(access_shape(layout), count).ok())
  KILN_REFUSED(ld_repeat, KILN_COLUMNS_OF_LOAD)
  Registers<T, count, LdState::pending> load(const Tmem<T, M, N, layout>&, int first, Here at = {});
#undef KILN_COLUMNS_OF_LOAD
  template <int count, class X, class First>
    requires(true)
  KILN_REFUSED(arguments, "load<N>(sums, first): an accumulator (of a slot: slot.sums), `first` a host integer; at a "
                          "U32, "
                          "load(sums.columns<N>(first)) [dsl-arguments]")
  Registers<f32, count, LdState::pending> load(const X&, const First&, Here at = {});
  /// The same where element type and columns are values: what they break, build() reports. Readable after wait(...).
  AnyRegisters load(const AnyTmem& from, Here at = {});

  /// 16 rows by `count` columns of an accumulator, from column `first` on, as SumsFragment<count> lays them over the
  /// lanes of each warp: the first or (`half` 1) the second 16 of its 32 rows; where M is 64 it has 16. The fragment's
  /// row 0 is row_of_fragment(from, half). Readable after wait(...). PTX ISA "tcgen05.ld", 16x256b.
  template <int count, class T, int M, int N, SumsLayout layout>
    requires(detail::are_rows<layout>)
  Registers<T, SumsFragment<count>::elements, LdState::pending> load_fragment(const Tmem<T, M, N, layout>& from,
                                                                              int half = 0, int first = 0,
                                                                              Here at = {}) {
    static_assert(T::bits == 32, "a fragment of sums has 32-bit elements");
    constexpr isa::DataShape shape = isa::DataShape::s16x256b;
    rules::require<repeats(shape, count / 8)>();
    rec_->require(rules::tmem_range(first, count, N), at);
    rec_->require(rules::tmem_range(half, 1, layout == SumsLayout::rows ? 2 : 1), at);
    const U32 lanes = apply("add", quarter(from.address_of(first, at), at),
                            isa::pack(isa::TmemAddress{16 * half, 0}), at);
    return {*rec_, load_tmem(TmemLoad{{shape, count / 8}}, lanes, at)};
  }
  template <class T, int M, int N, SumsLayout layout>
    requires(detail::are_rows<layout>)
  U32 row_of_fragment(const Tmem<T, M, N, layout>&, int half = 0, Here at = {}) const {
    const U32 warp = apply("shr", row(at), 5, at);
    return apply("add", apply("mul.lo", warp, layout == SumsLayout::rows ? 32 : 16, at), 16 * half, at);
  }
  // Here only to explain: nothing that has rows.
  template <int count, class X, class... Rest>
    requires(true)
  KILN_REFUSED(arguments, "load_fragment<columns>(sums, half, first): an accumulator with M = 64, 128 or 256 whose "
                          "lanes are rows (of a slot: slot.sums) [dsl-arguments]")
  U32 load_fragment(const X&, const Rest&...);

  /// What load(from) gives, and the least or greatest of it: of the columns that this thread holds. `how`: a
  /// Comparison. PTX ISA "tcgen05.ld.red", 32x32b and 16x32bx2.
  template <RedOp op, auto... how, class T, int M, int N, SumsLayout layout>
  Reduced<T, Tmem<T, M, N, layout>::thread_columns, LdState::pending> load_reduced(
      const Tmem<T, M, N, layout>& from, Here at = {}) {
    static_assert(T::bits == 32, "16-bit sums share registers");
    constexpr int columns = Tmem<T, M, N, layout>::thread_columns;
    constexpr isa::DataShape shape = access_shape(layout);
    const U32 address = quarter(from.address(at), at);
    if constexpr (shape == isa::DataShape::s16x32bx2)
      return tcgen05_ld_red<shape, columns, op, T, N / 2, how...>(address, at);
    else
      return tcgen05_ld_red<shape, columns, op, T, how...>(address, at);
  }

  // Here only to explain: no rows of sums.
  KILN_OTHERWISE(arguments, "load_reduced<op>(sums): an accumulator with M = 128 or 256 of a pair, whose lanes are "
                            "rows "
                            "(of a slot: slot.sums) [dsl-arguments]")
  Reduced<f32, 1, LdState::pending> load_reduced(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "row_of_fragment(sums, half): an accumulator with M = 64, 128 or 256 whose lanes are rows "
                            "(of a "
                            "slot: slot.sums) [dsl-arguments]")
  U32 row_of_fragment(KILN_WHATEVER) const;

  /// The same where element type and columns are values.
  AnyReduced load_reduced(RedOp op, Comparison how, const AnyTmem& from, Here at = {});

  /// The row of the CTA's sums that this thread holds, and the first of its columns: of a whole accumulator or, where
  /// M is 64, of any block of its columns, counted from the block's first.
  template <class T, int M, int N, SumsLayout layout>
  U32 row_of(const Tmem<T, M, N, layout>&, Here at = {}) const {
    return row_in(layout, at);
  }
  template <class T, int M, int N, SumsLayout layout>
  U32 column_of(const Tmem<T, M, N, layout>&, Here at = {}) const {
    return column_in(layout, N, at);
  }
  /// The same of an A in tensor memory: the row and the first element of K that this thread stores. All threads hold a
  /// whole row but where the sums fill half of the lanes.
  template <class T, int M, int K, SumsLayout layout>
  U32 row_of(const TmemA<T, M, K, layout>&, Here at = {}) const {
    return row_in(layout, at);
  }
  template <class T, int M, int K, SumsLayout layout>
  U32 column_of(const TmemA<T, M, K, layout>&, Here at = {}) const {
    return column_in(layout == SumsLayout::half_of_lanes ? layout : SumsLayout::rows, K, at);
  }
  // Here only to explain: neither sums nor an A in tensor memory.
#define KILN_PLACE_OF(name)                                                                                          \
  KILN_OTHERWISE(arguments, #name "(sums): an accumulator (of a slot: slot.sums) or A in tensor memory; g.row() "    \
                                  "is the "                                                                          \
                            "thread's row of a tile [dsl-arguments]")                                                \
  U32 name(KILN_WHATEVER) const;
  KILN_PLACE_OF(row_of)
  KILN_PLACE_OF(column_of)
#undef KILN_PLACE_OF
  /// Writes what this thread holds of an accumulator, or `count` columns of it from its `first` on. It may be read
  /// after tcgen05_wait_st(). PTX ISA "tcgen05.st".
  template <class T, int M, int N, SumsLayout layout, int count, LdState s>
  void store(const Tmem<T, M, N, layout>& to, const Registers<T, count, s>& values, int first = 0, Here at = {}) {
    static_assert(T::bits == 32, "16-bit sums take a column each: write them with tcgen05_st");
    rec_->require(rules::tmem_range(first, count, Tmem<T, M, N, layout>::thread_columns), at);
    store_part<Registers<T, count, s>::count, layout, s>(to.address_of(first, at), N / 2, values.operands(at), at);
  }
  /// The same of an A that an MMA then takes from tensor memory, in the lanes of its sums: from the thread's element
  /// `k` on, of all K, or of the K / 2 that it holds where the sums fill half of the lanes. row_of() and column_of()
  /// say which; threads with the same row store the same, so that each part of the lanes has all of A.
  template <class T, int M, int K, SumsLayout layout, int N, LdState s>
  void store(const TmemA<T, M, K, layout>& to, const Registers<T, N, s>& values, int k = 0, Here at = {}) {
    rec_->require(rules::tile_slice(layout == SumsLayout::half_of_lanes ? K / 2 : K, k, N), at);
    store_part<Registers<T, N, s>::count, layout, s>(to.address_of(k * T::bits / 32, at),
                                                     TmemA<T, M, K, layout>::columns_held / 2, values.operands(at), at);
  }
  /// Reads this thread's row of a K-major tile, wherever its swizzle put it: row = thread index in the warpgroup.
  template <class Tile>
  Registers<typename Tile::element, Tile::cols> load(const Shared<Tile>& from, Here at = {}) {
    return load_row(from, row(at), at);
  }
  // Here only to explain.
  template <class Tile>
    requires(!detail::of_a_warpgroup<Tile>)
  KILN_REFUSED(tile_type, "a warpgroup loads 128 rows of a K-major tile, one a thread; load_row(tile, row) reads any "
                          "row [dsl-tile-type]")
  Registers<typename Tile::element, Tile::cols> load(const Shared<Tile>& from, Here at = {});
  template <class X>
    requires(true)
  KILN_REFUSED(arguments, "load(sums) reads an accumulator (of a slot: slot.sums), load(tile) a row of a shared tile "
                          "(of a slot: slot.get<Tile>()) [dsl-arguments]")
  U32 load(const X&, Here at = {});
  KILN_OTHERWISE(arguments, "load(sums) reads an accumulator, load(sums.columns<32>(c)) some columns, load(tile) a row "
                            "of a shared tile [dsl-arguments]")
  rules::Refused load(KILN_WHATEVER);
  /// Writes this thread's row in the same way.
  template <class Tile, class T, int N, LdState s>
  void store(const Shared<Tile>& to, const Registers<T, N, s>& values, Here at = {}) {
    store_row(to, row(at), values, at);
  }
  // Here only to explain.
  template <class Tile, class T, int N, LdState s>
    requires(detail::of_a_warpgroup<Tile> && !readable<s>)
  KILN_REFUSED(ld_wait, KILN_NOT_READABLE)
  void store(const Shared<Tile>& to, const Registers<T, N, s>& values, Here at = {});
  template <class Tile, class T, int N, LdState s>
    requires(detail::of_a_warpgroup<Tile> && readable<s> &&
             (N != Tile::cols || !std::is_same_v<T, typename Tile::element>))
  KILN_REFUSED(tile_type, "a row of the tile is of other elements, or of more or fewer, than the registers "
                          "[dsl-tile-type]")
  void store(const Shared<Tile>& to, const Registers<T, N, s>& values, Here at = {});
  template <class Tile, class T, int N, LdState s>
    requires(!detail::of_a_warpgroup<Tile>)
  KILN_REFUSED(tile_type, "a warpgroup stores 128 rows of a K-major tile, one a thread; store_row(tile, row, values) "
                          "writes any row [dsl-tile-type]")
  void store(const Shared<Tile>& to, const Registers<T, N, s>& values, Here at = {});
  template <class T, int M, int N, SumsLayout layout, class U, int count, LdState s>
    requires(!std::is_same_v<T, U>)
  KILN_REFUSED(register_type, "the accumulator holds other elements than the registers [dsl-register-type]")
  void store(const Tmem<T, M, N, layout>& to, const Registers<U, count, s>& values, int first = 0, Here at = {});
  template <class T, int M, int K, SumsLayout layout, class U, int N, LdState s>
    requires(!std::is_same_v<T, U>)
  KILN_REFUSED(register_type, "A in tensor memory holds other elements than the registers; cvt<To>(x) rounds f32 "
                              "[dsl-register-type]")
  void store(const TmemA<T, M, K, layout>& to, const Registers<U, N, s>& values, int k = 0, Here at = {});
  template <class To, class Values, class... Rest>
    requires(!detail::are_registers<Values>)
  KILN_REFUSED(arguments, "store(to, registers): an accumulator, A in tensor memory or a shared tile, then this "
                          "thread's registers [dsl-arguments]")
  void store(const To&, const Values&, const Rest&...);
  KILN_OTHERWISE(arguments, "store(to, registers, first): an accumulator (of a slot: slot.sums), A in tensor memory "
                            "or a "
                            "shared tile (of a slot: slot.get<Tile>()), `first` a host integer [dsl-arguments]")
  void store(KILN_WHATEVER);
  /// Writes this thread's values to consecutive global addresses, 16 bytes at a time: elements `first` and on of what
  /// begins at `address` and has `elements`.
  template <class T, int N, LdState s>
  void store_global(const U64& address, const Registers<T, N, s>& values, const U32& elements, int first = 0,
                    Here at = {}) {
    store_vectors({address, elements, first, 128 / T::bits}, values.operands(at), at);
  }
  /// The same where the predicate holds: store_global(address, values, elements, row < m).
  template <class T, int N, LdState s>
    requires(N > 1)
  void store_global(const U64& address, const Registers<T, N, s>& values, const U32& elements, const Pred& there,
                    Here at = {}) {
    store_global(address, values, select(there, elements, 0u, at), 0, at);
  }
  // Here only to explain: arguments that are missing, or others, or in another order.
  template <class Address, class Values, class... Rest>
    requires(!std::is_convertible_v<Address, U64> || !(detail::are_registers<Values> || ReadsAsValue<Values>) ||
             sizeof...(Rest) == 0)
  KILN_REFUSED(arguments, "store_global(address, registers, elements): where what is stored to begins "
                          "(pointer.at(index)), this thread's values, how many elements lie there [dsl-arguments]")
  void store_global(const Address&, const Values&, const Rest&...);
  template <class T, int N, LdState s>
    requires(!readable<s>)
  KILN_REFUSED(ld_wait, KILN_NOT_READABLE)
  void store_global(const U64& address, const Registers<T, N, s>& values, const U32& elements, int first = 0,
                    Here at = {});
  KILN_OTHERWISE(arguments, "store_global(address, registers, elements, first): the U64 where the row begins, this "
                            "thread's registers, how many elements lie there as a U32; or a predicate [dsl-arguments]")
  void store_global(KILN_WHATEVER);
  void store_global(const U64& address, const AnyRegisters& values, const U32& elements, int first = 0, Here at = {});
  /// Writes one value of 32 bits, where the predicate holds: element `index` of what begins at `address`.
  template <class T, LdState s>
  void store_global(const U64& address, const Registers<T, 1, s>& value, const Pred& there, int index = 0,
                    Here at = {}) {
    rules::require<rules::step(s, LdEvent::read).verdict>();
    static_assert(T::bits == 32, "one register holds one value");
    store_one(address, value.operands(at).front(), there, index, at);
  }
  void store_one(const U64& address, const AnyRegisters& value, const Pred& there, int index, Here at = {});
  /// The same of a value: store_global(sums.at(row), sum, row < m).
  template <class X>
    requires(ReadsAsValue<X>)
  void store_global(const U64& address, const X& value, const Pred& there, int index = 0, Here at = {}) {
    using V = read_as<X>;
    if constexpr (isa::bits(V::scalar) != 32) (void)rules::refuse<rules::Rule::value_kind, X>{};
    store_one(address, use(*rec_, OperandOf<V>(value, at).input()), there, index, at);
  }
  /// Reads N elements from consecutive global addresses in the same way; what lies outside is zero.
  template <class T, int N>
    requires(N * T::bits % 128 == 0)
  Registers<T, N> load_global(const U64& address, const U32& elements, int first = 0, Here at = {}) {
    return {*rec_, load_vectors({address, elements, first, 128 / T::bits}, N * T::bits / 32, at)};
  }
  /// The same where the predicate holds; elsewhere nothing is read, and all elements are zero:
  /// load_global<bf16, 8>(address, elements, row < m).
  template <class T, int N>
  Registers<T, N> load_global(const U64& address, const U32& elements, const Pred& there, Here at = {}) {
    return load_global<T, N>(address, select(there, elements, 0u, at), 0, at);
  }

  // Here only to explain: no multiple of 16 bytes, or other arguments.
  template <class T, int N>
    requires(N * T::bits % 128 != 0)
  KILN_REFUSED(register_type, "load_global<T, N>(address, elements) reads 16 bytes at a time: N is a multiple of 4 "
                              "f32 or 8 "
                              "elements of 16 bits [dsl-register-type]")
  Registers<T, N> load_global(KILN_WHATEVER);
  template <class T, int N>
    requires(N * T::bits % 128 == 0)
  KILN_REFUSED(arguments, "load_global<T, N>(address, elements, first): the U64 where the row begins "
                          "(pointer.at(index)), "
                          "how many elements lie there as a U32, `first` a host integer [dsl-arguments]")
  Registers<T, N> load_global(KILN_WHATEVER);
  /// The same of `count` elements of a type that is a value.
  AnyRegisters load_global(ElementType element, int count, const U64& address, const U32& elements, int first = 0,
                           Here at = {});

  /// Waits for all threads of the warpgroup.
  void sync(Here at = {});
  /// The same, and whether it holds in all threads, in one at least; in how many. PTX ISA "bar.red".
  Pred bar_red_and(const Pred& p, Here at = {}) { return bar_red("and", p, at); }
  Pred bar_red_or(const Pred& p, Here at = {}) { return bar_red("or", p, at); }
  U32 bar_red_popc(const Pred& p, Here at = {});
  // Here only to explain: no predicate.
#define KILN_BAR_RED(Result, name)                                                                                   \
  KILN_OTHERWISE(value_kind, #name "(predicate): compare a value, as in x != 0, to make one [dsl-value-kind]")       \
  Result name(KILN_WHATEVER);
  KILN_BAR_RED(Pred, bar_red_and)
  KILN_BAR_RED(Pred, bar_red_or)
  KILN_BAR_RED(U32, bar_red_popc)
#undef KILN_BAR_RED
  /// All values of the role's threads combined, in every thread: within each warp as warp_reduce does, then, through
  /// the scratch memory, warps 0 and 1, 2 and 3, and both; then the warpgroups one after the other.
  template <RedOp op, class X>
    requires(is_reduced<op, X>)
  kind_of<X> warpgroup_reduce(const X& value, const WarpgroupScratch& scratch, Here at = {}) {
    using V = kind_of<X>;
    return {*rec_, reduce_through(op, V::scalar, OperandOf<V>(value, at).input(), scratch.address, at)};
  }
  /// Executes the body in each warp by itself: what one waits for, and what it reads, the others need not have reached.
  template <class Body>
    requires(std::is_invocable_v<Body&, Warp>)
  void each_warp(Body body) {
    rules::require<body_verdict<decltype(body(std::declval<Warp>()))>>();
    body(Warp(*rec_, *role_));
  }
  // Here only to explain: no value that is combined so, or nothing to reduce through.
  KILN_OTHERWISE(arguments, "warpgroup_reduce<op>(value, scratch): a number as warp_reduce takes it, and auto scratch "
                            "= "
                            "kernel.warpgroup_scratch() [dsl-arguments]")
  rules::Refused warpgroup_reduce(KILN_WHATEVER);
  /// Arrives once for the whole warpgroup, after all its threads have come here; in another CTA with release.cluster.
  void arrive(const AnyMbarrier& b, Here at = {});
  /// Arrives once for each of its warps, without waiting for the others; in another CTA with release.cluster. One lane
  /// of a warp arrives, after all its lanes have come here: what it releases is what the warp has done.
  void arrive_by_warp(const AnyMbarrier& b, Here at = {});
  /// Executes the body in one thread of the warpgroup, always the same.
  template <class Body>
    requires(std::is_invocable_v<Body&, Thread>)
  void elect(Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body(std::declval<Thread>()))>>();
    elect_one([&](Thread t) { body(t); }, at);
  }
  // Here only to explain: another body, or no mbarrier.
  KILN_OTHERWISE(scope, "elect([&](Thread t) { ... }): the body takes one thread [dsl-scope]")
  void elect(KILN_WHATEVER);
  KILN_OTHERWISE(scope, "each_warp([&](Warp w) { ... }): the body takes a warp [dsl-scope]")
  void each_warp(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "arrive(mbarrier): slot.full is a slot's mbarrier; ring.publish(g, slot) and "
                            "ring.release(g, slot) hand a slot on [dsl-arguments]")
  void arrive(KILN_WHATEVER);
  /// Index of this thread in the warpgroup: its row.
  U32 row(Here at = {}) const;
  KILN_OTHERWISE(arguments, "row() is the thread's number; row_of(sums) the row of an accumulator that it holds "
                            "[dsl-arguments]")
  U32 row(KILN_WHATEVER) const;

 protected:
  // This thread's row, by tcgen05.ld.
  std::vector<ir::Operand> load_rows(const U32& address, const TmemLoad& access, Here at);

 private:
  Pred bar_red(std::string_view op, const Pred& p, Here at);
  ir::Operand reduce_through(RedOp op, ScalarType type, const Input& value, const U32& scratch, Here at);
  ir::Operand bar_red(ScalarType type, std::string_view name, const Pred& p, Here at);
  // `split`: columns to the second half of a row.
  template <int registers, SumsLayout layout, LdState s>
  void store_part(const U32& address, int split, const std::vector<ir::Operand>& values, Here at) {
    constexpr isa::DataShape shape = access_shape(layout);
    rules::require<rules::first(rules::step(s, LdEvent::read).verdict, rules::ld_repeat(shape, registers))>();
    TmemAccess access{shape, registers};
    if (shape == isa::DataShape::s16x32bx2) access.split = split;
    store_tmem(access, quarter(address, at), values, at);
  }
  U32 row_in(SumsLayout layout, Here at) const;
  U32 column_in(SumsLayout layout, int columns, Here at) const;
  // By the kernel's tensor core; `packed`: two 16-bit sums share a register.
  std::vector<ir::Operand> load_sums(const SumsPlace& from, int registers, bool packed, Here at);
  struct GlobalRow {
    const U64& address;
    const U32& elements;
    int first, per_vector;  // elements
  };
  template <class Move>
  void each_vector(const GlobalRow& row, const std::vector<ir::Operand>& regs, Move move, Here at);
  void store_one(const U64& address, const ir::Operand& value, const Pred& there, int index, Here at);
  void store_vectors(const GlobalRow& to, const std::vector<ir::Operand>& regs, Here at);
  std::vector<ir::Operand> load_vectors(const GlobalRow& from, int registers, Here at);
  const ir::Operand& chosen_thread(Here at);
  void elect_one(const std::function<void(Thread)>& body, Here at);
};

}  // namespace kiln::dsl
