// The kernel builder: owns parameters, shared memory, barriers, tensor memory and roles, and turns them into one
// module.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <list>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "dsl/accumulator_ring.hpp"
#include "dsl/kernel.hpp"
#include "dsl/parameter_table.hpp"
#include "dsl/ring.hpp"
#include "dsl/schedule.hpp"
#include "dsl/storage.hpp"
#include "dsl/tensor_core_target.hpp"
#include "dsl/warp.hpp"
#include "dsl/warpgroups.hpp"

namespace kiln::dsl {

/// One thread of warp `index`.
struct ElectedWarp { int index; };
/// The 32 lanes of warp `index`.
struct WholeWarp {
  int index;
  constexpr ElectedWarp elect() const { return {index}; }
};
/// Warps 4 * index ... 4 * index + 3.
struct WholeWarpgroup { int index; };
/// `count` warpgroups from `index` on, as one role.
template <int count>
struct WholeWarpgroups { int index; };
/// How many warps a CTA has.
struct WarpCount { int count; };
/// Of a pair, the CTA with the even rank: the one that issues tcgen05.mma for both.
struct LeaderCta {};
inline constexpr LeaderCta leader_cta{};

template <int index> inline constexpr WholeWarp warp{index};
template <int index> inline constexpr WholeWarpgroup warpgroup{index};
template <int index, int count> inline constexpr WholeWarpgroups<count> warpgroups{index};
template <int count> inline constexpr WarpCount warps{count};

/// What the builder's parts write to and share; a base so that it is there before every member.
class Recording {
 protected:
  explicit Recording(KernelContext context);
  Recording(const Recording&) = delete;
  ~Recording();
  Recorder rec_;
  KernelContext context_;
  Storage storage_;
};

namespace detail {

/// Whether a parameter may have the type.
template <class T>
inline constexpr bool is_parameter = false;
template <class Tile>
inline constexpr bool is_parameter<TensorMap<Tile>> = true;
template <class Tile>
inline constexpr bool is_parameter<TensorMap3d<Tile>> = true;
template <class T, int rank>
inline constexpr bool is_parameter<TensorMapHandle<T, rank>> = true;
template <class T>
inline constexpr bool is_parameter<Pointer<T>> = true;
template <ScalarType type>
inline constexpr bool is_parameter<Element<type>> = isa::is_integer(type);
template <class T>
concept SlotContent = requires { T::part; };
template <class T>
concept LiesInSharedMemory = SlotContent<T> && requires { T::bytes; };
template <class T>
concept LiesInTensorMemory = std::is_base_of_v<TmemPlace, T> && requires { T::columns_held; };
template <class Mma>
concept HasAccumulator = requires { Mma::is_legal; } && Mma::is_legal;

}  // namespace detail

/// Writes one kernel. Everything it hands out is a name for something it owns; build() ends it.
class KernelBuilder : private Recording {
 public:
  /// With cta_group_2 the kernel runs in clusters of CTA pairs, and every tcgen05 instruction is issued for a pair.
  /// `pairs`: in a cluster; several are for sums in registers (RegisterSums), so that they can share an operand.
  KernelBuilder(std::string name, Target target, WarpCount warps, CtaGroup group = cta_group_1, int pairs = 1);
  KernelBuilder(const KernelBuilder&) = delete;
  ~KernelBuilder();

  /// Index of this CTA in the grid.
  struct Index { U32 x, y, z; };
  Index ctaid;
  /// Extents of the grid, in CTAs.
  Index nctaid;

  /// The next kernel parameter: a TensorMap<Tile>, a TensorMapHandle<T, rank>, a Pointer<T>, or an integer element type
  /// (u32, u64).
  template <class T>
  auto param(const std::string& name) { return declare(name, static_cast<T*>(nullptr)); }
  // Here only to explain: no type of a parameter.
  template <class T>
    requires(!detail::is_parameter<T>)
  KILN_REFUSED(arguments, "param<T>(name): T is u32, u64, Pointer<f32>, TensorMap<Tile> or TensorMapHandle<bf16, 2> "
                          "[dsl-arguments]")
  U32 param(const std::string& name);
  /// The same of a tensor map whose tile is a value.
  AnyTensorMap param(const std::string& name, const TileShape& tile);
  /// The generic address of a tensor map whose box is the launch's business, of elements whose type is a value.
  U64 bare_map(const std::string& name, ScalarType type, int rank);
  /// A pointer to elements whose type is a value.
  AnyPointer pointer(const std::string& name, ElementType element);
  /// Rows that a launch gives by value, in one launch::StructParam: so many of so many bytes each, a multiple of 64.
  /// Throws diag::InputError for none, for other rows, and for more bytes than parameters may have.
  ParameterTable table(const std::string& name, int rows, int row_bytes);

  /// A tile of its own in shared memory.
  template <class Tile>
    requires(detail::LiesInSharedMemory<Tile>)
  Shared<Tile> shared(Here at = {}) { return {storage_.shared_bytes(Tile::bytes, "a tile", at)}; }
  // Here only to explain: no tile.
  template <class Tile>
    requires(!detail::LiesInSharedMemory<Tile>)
  KILN_REFUSED(arguments, "shared<Tile>(): SharedTile, ScaleTile, MetadataTile; a parameter is "
                          "param<TensorMap<Tile>>(name) "
                          "[dsl-arguments]")
  Shared<Tile> shared(Here at = {});
#define KILN_SHARED_TEXT                                                                                          \
  "shared<Tile>(), which has no name: Tile is a SharedTile<bf16, 128, 64, K_major, swizzle_128B>, a ScaleTile or a " \
  "MetadataTile [dsl-arguments]"
  KILN_OTHERWISE(arguments, KILN_SHARED_TEXT)
  rules::Refused shared(KILN_WHATEVER);
  KILN_OTHERWISE_OF(arguments, KILN_SHARED_TEXT, class)
  rules::Refused shared(const std::string& name);
  KILN_OTHERWISE_OF(arguments, KILN_SHARED_TEXT, class, auto, auto...)
  rules::Refused shared(KILN_WHATEVER);
#undef KILN_SHARED_TEXT
  /// Shared memory for Warpgroup::warpgroup_reduce of one role.
  WarpgroupScratch warpgroup_scratch(Here at = {}) {
    return {storage_.shared_bytes(WarpgroupScratch::bytes, "scratch", at)};
  }
  /// `stages` slots, each with these tiles and two mbarriers: NAME_full and NAME_empty.
  template <int stages, class... Tiles>
  Ring<stages, Tiles...> ring(const std::string& name = "ring", Here at = {}) {
    return Ring<stages, Tiles...>(add_ring(name, stages, TilePack<Tiles...>::parts(), at));
  }
  // Here only to explain: no slots, or something else in them.
  template <int stages, class... Tiles>
    requires(stages < 1 || sizeof...(Tiles) == 0 || !(... && detail::SlotContent<Tiles>))
  KILN_REFUSED(arguments, "ring<stages, Tiles...>(name): one slot at least, each with tiles: SharedTile, ScaleTile, "
                          "MetadataTile [dsl-arguments]")
  AnyRing ring(const std::string& name = "ring", Here at = {});
  KILN_OTHERWISE_OF(arguments, "ring<stages, Tiles...>(name): how many slots, then what is in each [dsl-arguments]",
                    class, class...)
  rules::Refused ring(KILN_WHATEVER);
  /// The same with a ring for each CTA of a pair: what its own copies bring, for its own roles.
  template <int stages, class... Tiles>
  Ring<stages, Tiles...> cta_ring(const std::string& name, Here at = {}) {
    return Ring<stages, Tiles...>(add_ring(name, stages, TilePack<Tiles...>::parts(), at, true));
  }
  /// As ring, where slots are values.
  AnyRing ring(const std::string& name, int stages, const std::vector<SlotPart>& parts, Here at = {}) {
    return AnyRing(add_ring(name, stages, parts, at));
  }
  template <int stages, class Tile>
    requires(stages < 1 || !detail::LiesInSharedMemory<Tile>)
  KILN_REFUSED(arguments, "store_ring<stages, Tile>(name): one slot at least, each a SharedTile [dsl-arguments]")
  U32 store_ring(const std::string& name = "store", Here at = {});
#define KILN_STORE_RING_TEXT "store_ring<stages, Tile>(name): how many slots, and the one tile of each [dsl-arguments]"
  KILN_OTHERWISE_OF(arguments, KILN_STORE_RING_TEXT, class, auto...)
  rules::Refused store_ring(KILN_WHATEVER);
  KILN_OTHERWISE_OF(arguments, KILN_STORE_RING_TEXT, auto, class, class, class...)
  rules::Refused store_ring(KILN_WHATEVER);
#undef KILN_STORE_RING_TEXT
  /// As ring, for tiles on their way out: each slot is one.
  template <int stages, class Tile>
    requires(stages >= 1 && detail::LiesInSharedMemory<Tile>)
  StoreRing<stages, Tile> store_ring(const std::string& name = "store", Here at = {}) {
    return StoreRing<stages, Tile>(add_store_ring(name, stages, placed_bytes(Tile::bytes), at));
  }
  /// An mbarrier whose phase completes after `arrivals` arrivals.
  template <int arrivals = 1>
    requires(rules::mbarrier_count(arrivals).ok())
  Mbarrier mbarrier(const std::string& name) {
    return {storage_.barriers(name, 1, arrivals), name, nullptr};
  }
  template <int arrivals>
    requires(!rules::mbarrier_count(arrivals).ok())
  KILN_REFUSED(mbarrier_count, "the arrival count of an mbarrier must be in [1, 1048575], with "
                               ".layout::v1 in [1, 511] [mbarrier-count]")
  Mbarrier mbarrier(const std::string& name);
  KILN_OTHERWISE(arguments, "mbarrier(name), or mbarrier<arrivals>(name) for more than one arrival [dsl-arguments]")
  Mbarrier mbarrier(KILN_NO_NAME);
  /// An M x N block of tensor memory: N columns, freed after every role has ended.
  template <class T, int M, int N>
  Tmem<T, M, N> tmem(const std::string& name, Here at = {}) {
    const SumsPlace place = tensor_core_->place_sums(storage_, M, N, name, at);
    return {{&rec_, place.base, place.first}};
  }
  // Here only to explain: rows that no MMA writes, or that MMAs write in several ways.
  template <class T, int M, int N>
    requires(M != isa::tmem_lanes && M != isa::tmem_lanes / 2)
  KILN_REFUSED(arguments, "tmem<T, M, N>(name) has 128 rows, or 64 in half of the lanes; accumulator<Mma>(name) makes "
                          "the sums of any MMA [dsl-arguments]")
  Tmem<T, M, N> tmem(const std::string& name, Here at = {});
  template <class T, int M, int N>
    requires((M == isa::tmem_lanes || M == isa::tmem_lanes / 2) && !rules::tmem_range(0, N, isa::tmem_columns).ok())
  KILN_REFUSED(tmem_range, "the columns used must lie inside the allocation [tcgen05-tmem-range]")
  Tmem<T, M, N> tmem(const std::string& name, Here at = {});
#define KILN_TMEM_TEXT \
  "tmem<f32, rows, columns>(name); accumulator<Mma>(name) makes the sums of an MMA [dsl-arguments]"
  KILN_OTHERWISE(arguments, KILN_TMEM_TEXT)
  rules::Refused tmem(KILN_WHATEVER);
  KILN_OTHERWISE_OF(arguments, KILN_TMEM_TEXT, class)
  rules::Refused tmem(KILN_WHATEVER);
#undef KILN_TMEM_TEXT

  /// The sums of an MMA, in the lanes that it writes.
  template <class Mma>
    requires(detail::HasAccumulator<Mma>)
  typename Mma::Accumulator accumulator(const std::string& name, Here at = {}) {
    using D = typename Mma::Accumulator;
    const SumsPlace place = tensor_core_->place_sums(storage_, D::lanes, D::columns_held, name, at);
    return {{&rec_, place.base, place.first}};
  }

  // Here only to explain: an MMA that is not legal, or none.
#define KILN_NO_MMA(rule, condition, text)                                                     \
  template <class Mma>                                                                         \
    requires(!detail::HasAccumulator<Mma> && condition)                                        \
  KILN_REFUSED(rule, text)                                                                     \
  Tmem<f32, 128, 128> accumulator(const std::string& name, Here at = {});                      \
  template <int stages, class Mma>                                                             \
    requires(!detail::HasAccumulator<Mma> && condition)                                        \
  KILN_REFUSED(rule, text)                                                                     \
  U32 accumulator_ring(const std::string& name, Here at = {});
  KILN_NO_MMA(mma_m, (Mma::check().rule == rules::Rule::mma_m),
              "M must be 64 or 128 for cta_group::1, 128 or 256 for cta_group::2; "
              "block-scaled 128 for one CTA, 128 or 256 for two, 256 alone when "
              "sparse; .ws 32, 64 or 128 [tcgen05-mma-m]")
  KILN_NO_MMA(mma_n, (Mma::check().rule == rules::Rule::mma_n),
              "N must be a multiple of the step for this kind and cta_group, and at "
              "most 256 [tcgen05-mma-n]")
  KILN_NO_MMA(mma_types, (Mma::check().rule == rules::Rule::mma_types),
              "A and B must have element types of the kind; kind::f16 takes two f16 "
              "or two bf16 [tcgen05-mma-types]")
  KILN_NO_MMA(mma_accumulator, (Mma::check().rule == rules::Rule::mma_accumulator),
              "D must be f32; f16 operands of kind::f16 and kind::f8f6f4 also "
              "accumulate in f16, kind::i8 in s32 alone [tcgen05-mma-accumulator]")
  KILN_NO_MMA(arguments, (!requires { Mma::is_legal; }),
              "accumulator<Mma>(name), accumulator_ring<stages, Mma>(name): Mma is a tcgen05_mma<...> [dsl-arguments]")
#undef KILN_NO_MMA
#define KILN_ACCUMULATOR_TEXT \
  "accumulator<Mma>(name), accumulator_ring<stages, Mma>(name): Mma is a tcgen05_mma<...> [dsl-arguments]"
  KILN_OTHERWISE(arguments, KILN_ACCUMULATOR_TEXT)
  rules::Refused accumulator(KILN_WHATEVER);
  KILN_OTHERWISE_OF(arguments, KILN_ACCUMULATOR_TEXT, class, auto, auto...)
  rules::Refused accumulator(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, KILN_ACCUMULATOR_TEXT)
  rules::Refused accumulator_ring(KILN_WHATEVER);
  KILN_OTHERWISE_OF(arguments, KILN_ACCUMULATOR_TEXT, class, auto...)
  rules::Refused accumulator_ring(KILN_WHATEVER);
#undef KILN_ACCUMULATOR_TEXT
  template <int stages, class Mma>
    requires(stages < 1 && detail::HasAccumulator<Mma>)
  KILN_REFUSED(arguments, "accumulator_ring<stages, Mma>(name): one accumulator at least [dsl-arguments]")
  U32 accumulator_ring(const std::string& name, Here at = {});

  /// `stages` accumulators of an MMA, each with two mbarriers: NAME_full and NAME_empty. In a pair the leader's MMA
  /// role commits to both CTAs and hears from both.
  template <int stages, class Mma>
    requires(stages >= 1 && detail::HasAccumulator<Mma>)
  AccumulatorRing<stages, Mma> accumulator_ring(const std::string& name, Here at = {}) {
    rules::require<rules::tmem_range(0, stages * Mma::Accumulator::columns_held, isa::tmem_columns)>();
    return AccumulatorRing<stages, Mma>(
        accumulator_ring(name, stages, Mma::d_columns, element_type<typename Mma::D>, at));
  }
  /// The same where stages, columns of an accumulator and type of the sums are values.
  AnyAccumulatorRing accumulator_ring(const std::string& name, int stages, int columns, ElementType sums,
                                      Here at = {}) {
    return {tensor_core_->place_accumulators(storage_, stages, columns, name, at), sums, columns};
  }

  /// A block of tensor memory for something else: TmemA, SFA, SFB, SparseMetadata.
  template <class Handle>
    requires(detail::LiesInTensorMemory<Handle>)
  Handle tensor_memory(const std::string& name, Here at = {}) {
    rules::require<rules::tmem_range(0, Handle::columns_held, isa::tmem_columns)>();
    return {tmem_place(Handle::columns_held, name, at)};
  }

  // Here only to explain: what does not lie there.
  template <class Handle>
    requires(!detail::LiesInTensorMemory<Handle>)
  KILN_REFUSED(arguments, "tensor_memory<T>(name): TmemA, TmemAOf, SFA, SFB or SparseMetadata; accumulator<Mma>(name) "
                          "makes "
                          "sums, shared<Tile>() a tile [dsl-arguments]")
  U32 tensor_memory(const std::string& name, Here at = {});
  KILN_OTHERWISE(arguments, "tensor_memory<T>(name): T is TmemA, TmemAOf, SFA, SFB or SparseMetadata [dsl-arguments]")
  rules::Refused tensor_memory(KILN_WHATEVER);

  /// The same `count` times.
  template <int count, class Handle>
  TmemArray<count, Handle> tensor_memory(const std::string& name, Here at = {}) {
    rules::require<rules::tmem_range(0, count * Handle::columns_held, isa::tmem_columns)>();
    return {tmem_place(count * Handle::columns_held, name, at)};
  }
  /// `count` blocks for scales or metadata whose shape is a value.
  AnyTmemArray tensor_memory(const std::string& name, int count, int columns, Here at = {}) {
    return {tmem_place(count * columns, name, at), columns};
  }

  /// What some of the CTA's threads do, all roles at the same time: one thread of a warp, `warp<4>.elect()`, a warp or
  /// a warpgroup. The body writes the role's instructions once, to the scope that it is given.
  template <class Body>
  void role(const std::string& name, ElectedWarp issuer, Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body(std::declval<Thread>()))>>();
    add_role(name, issuer.index, 1, true, [&](RoleContext& c) { body(Thread(rec_, c)); }, at);
  }
  /// The same in the leader of a pair alone; the peer's warp has nothing to do.
  template <class Body>
  void role(const std::string& name, LeaderCta, ElectedWarp issuer, Body body, Here at = {}) {
    role(name, issuer, std::move(body), at);
    roles_.back().leader_only = in_pairs();
  }
  template <class Body>
  void role(const std::string& name, WholeWarp issuer, Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body(std::declval<Warp>()))>>();
    add_role(name, issuer.index, 1, false, [&](RoleContext& c) { body(Warp(rec_, c)); }, at);
  }
  template <class Body>
  void role(const std::string& name, WholeWarpgroup issuer, Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body(std::declval<Warpgroup&>()))>>();
    add_role(name, 4 * issuer.index, 4, false, [&](RoleContext& c) { Warpgroup g(rec_, c); body(g); }, at);
  }
  /// A role of several warpgroups, which share what it reads and writes: Warpgroups::share.
  template <int count, class Body>
  void role(const std::string& name, WholeWarpgroups<count> issuer, Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body(std::declval<Warpgroups<count>&>()))>>();
    add_role(name, 4 * issuer.index, 4 * count, false, [&](RoleContext& c) { Warpgroups<count> g(rec_, c); body(g); },
             at);
  }

  // Here only to explain: a body that takes another scope than the role's.
#define KILN_ROLE(Threads, Scope, text)                                    \
  template <class Body>                                                    \
    requires(!std::is_invocable_v<Body&, Scope>)                           \
  KILN_REFUSED(scope, text " [dsl-scope]")                                 \
  void role(const std::string&, Threads, Body, Here = {}) {}
  KILN_ROLE(ElectedWarp, Thread, "the body of a role of warp<i>.elect() takes one thread: [&](Thread t) { ... }")
  KILN_ROLE(WholeWarp, Warp, "the body of a role of warp<i> takes a warp: [&](Warp w) { ... }")
  KILN_ROLE(WholeWarpgroup, Warpgroup&, "the body of a role of warpgroup<i> takes it: [&](Warpgroup& g) { ... }")
#undef KILN_ROLE
  template <int count, class Body>
    requires(!std::is_invocable_v<Body&, Warpgroups<count>&>)
  KILN_REFUSED(scope, "the body of a role of warpgroups<first, count> takes them: [&](auto& g) { ... } [dsl-scope]")
  void role(const std::string&, WholeWarpgroups<count>, Body, Here = {}) {}
#define KILN_ROLE(Threads, Scope)                                                                               \
  template <class Body>                                                                                         \
    requires(std::is_invocable_v<Body&, Scope> && !std::is_void_v<std::invoke_result_t<Body&, Scope>>)          \
  KILN_REFUSED(body_result, "the body of a role returns nothing; a host return would not leave a device loop "  \
                            "[dsl-body-result]")                                                                \
  void role(const std::string&, Threads, Body, Here = {}) {}
  KILN_ROLE(ElectedWarp, Thread)
  KILN_ROLE(WholeWarp, Warp)
  KILN_ROLE(WholeWarpgroup, Warpgroup&)
#undef KILN_ROLE
  KILN_OTHERWISE(arguments, "role(name, threads, body): warp<i>.elect(), warp<i>, warpgroup<i> or warpgroups<first, "
                            "count> "
                            "and what they do [dsl-arguments]")
  void role(KILN_WHATEVER);

  /// A constant as a device value.
  U32 constant(std::uint32_t value) { return {rec_, ir::Operand::number(value)}; }
  /// ceil(a / b), for b a constant.
  U32 ceil_div(const U32& a, std::uint32_t b, Here at = {}) {
    return apply("div", apply("add", a, b - 1, at), b, at);
  }

  /// How many CTAs ptxas is to leave room for on an SM. With 1 it may give a thread more registers than the few that it
  /// otherwise stops at, and spills for. PTX ISA ".minnctapersm".
  void minnctapersm(int ctas) { ctas_per_sm_ = ctas; }

  /// The rank of this CTA in its pair: 0 in the leader, 1 in its peer; 0 without pairs.
  U32 pair_rank() { return storage_.pair_rank(); }
  /// The number of this CTA's pair in its cluster; 0 where a cluster is one pair, or there is none.
  U32 pair() { return storage_.pair(); }
  /// The tiles of a problem of `rows` by `columns` tiles, dealt out among the CTAs, or the pairs, of the launch.
  StaticTiles tiles(StaticSchedule schedule, const U32& rows, const U32& columns, Here at = {});

  /// The same, handed out while the kernel runs: launched with a CTA, or a pair, for every tile along x.
  LaunchControlTiles tiles(LaunchControl schedule, const U32& rows, const U32& columns, Here at = {});
  // Here only to explain: other numbers.
  KILN_OTHERWISE(arguments, "tiles(schedule, rows, columns): static_schedule or launch_control, and how many tiles as "
                            "U32 "
                            "[dsl-arguments]")
  StaticTiles tiles(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "ceil_div(a, b): a U32 and a host integer [dsl-arguments]")
  U32 ceil_div(KILN_WHATEVER);

  /// Frees tensor memory after every role, checks rings and budgets, and returns the kernel. Throws diag::Rejected with
  /// all findings when the kernel breaks a rule.
  Kernel build();

 private:
  struct Role {
    RoleContext context{};
    int first_warp = 0, warps = 1;
    bool elected = false;
    bool leader_only = false;
    Statements entry{}, body{};
  };
  template <class Tile>
  TensorMap<Tile> declare(const std::string& name, TensorMap<Tile>*) {
    return {rec_, tensor_map_parameter(name, Tile::shape, 2)};
  }
  template <class Tile>
  TensorMap3d<Tile> declare(const std::string& name, TensorMap3d<Tile>*) {
    return {rec_, tensor_map_parameter(name, Tile::shape, 3)};
  }
  // The box of a bare map is the launch's business.
  template <class T, int rank>
  TensorMapHandle<T, rank> declare(const std::string& name, TensorMapHandle<T, rank>*) {
    return TensorMapHandle<T, rank>(U64(rec_, bare_map_parameter(name, T::scalar, rank)));
  }
  template <class T>
  Pointer<T> declare(const std::string& name, Pointer<T>*) {
    return {rec_, pointer(name, element_type<T>).address().operand()};
  }
  template <ScalarType type>
  Integer<type> declare(const std::string& name, Element<type>*) {
    ParameterInfo p;
    p.name = name;
    p.type = type;
    return {rec_, scalar_parameter(std::move(p))};
  }

  ir::Operand tensor_map_parameter(const std::string& name, const TileShape& tile, int rank);
  ir::Operand bare_map_parameter(const std::string& name, ScalarType type, int rank);
  ir::Operand map_parameter(ParameterInfo p);
  ir::Operand scalar_parameter(ParameterInfo p);
  RingState& add_ring(const std::string& name, int stages, const std::vector<SlotPart>& parts, Here at,
                      bool each_cta = false);
  RingState& add_store_ring(const std::string& name, int stages, int slot_bytes, Here at);
  void add_role(const std::string& name, int first_warp, int warps, bool elected,
                const std::function<void(RoleContext&)>& record, Here at);

  TmemPlace tmem_place(int columns, const std::string& name, Here at) {
    return {&rec_, storage_.tmem_base(), storage_.tmem_columns(columns, name, at)};
  }
  U32 special(const char* name) { return storage_.special(name); }
  std::string parameter_symbol(const std::string& name) const { return name_ + "_" + name; }
  void check();
  std::set<const void*> leader_roles() const;
  void count_arrivals();
  int warps() const { return tensor_core_->warps(warps_); }
  Statements setup();
  void initialise_barriers();
  static Statements recorded(Role& role);
  Statements role_code(Role& role);
  Statements cleanup();
  void synchronise_ctas();
  void check_registers();
  int ctas_per_sm() const;  // that ptxas leaves room for; 0: not given
  bool in_pairs() const { return storage_.in_pairs(); }
  ir::Function function();

  static constexpr const char* answers_symbol = "kiln_answers";

  std::string name_;
  int warps_;
  std::unique_ptr<TensorCoreTarget> tensor_core_;
  int ctas_per_sm_ = 0;  // 0: not given
  ir::Operand thread_{}, warp_{}, is_allocator_{};
  std::vector<ParameterInfo> parameters_;
  std::list<Role> roles_;
};

}  // namespace kiln::dsl
