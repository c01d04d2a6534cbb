// The kernel builder: owns parameters, shared memory, barriers, tensor memory and roles, and turns them into one
// module.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <list>
#include <string>
#include <vector>

#include "dsl/accumulator_ring.hpp"
#include "dsl/kernel.hpp"
#include "dsl/ring.hpp"
#include "dsl/schedule.hpp"
#include "dsl/warp.hpp"

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
/// How many warps a CTA has.
struct WarpCount { int count; };
/// Of a pair, the CTA with the even rank: the one that issues tcgen05.mma for both.
struct LeaderCta {};
inline constexpr LeaderCta leader_cta{};

template <int index> inline constexpr WholeWarp warp{index};
template <int index> inline constexpr WholeWarpgroup warpgroup{index};
template <int count> inline constexpr WarpCount warps{count};

/// Where the builder's parts write; a base so that it is there before every member.
class Recording {
 protected:
  Recorder rec_;
};

/// Writes one kernel. Everything it hands out is a name for something it owns; build() ends it.
class KernelBuilder : private Recording {
 public:
  /// With cta_group_2 the kernel runs in clusters of CTA pairs, and every tcgen05 instruction of it speaks for a pair.
  KernelBuilder(std::string name, Target target, WarpCount warps, CtaGroup group = cta_group_1);
  KernelBuilder(const KernelBuilder&) = delete;

  /// Index of this CTA in the grid.
  struct Index { U32 x, y, z; };
  Index ctaid;
  /// Extents of the grid, in CTAs.
  Index nctaid;

  /// The next kernel parameter: a TensorMap<Tile>, a TensorMapHandle<T, rank>, a Pointer<T>, or an integer element type
  /// (u32, u64).
  template <class T>
  auto param(const std::string& name) { return declare(name, static_cast<T*>(nullptr)); }

  /// A tile of its own in shared memory.
  template <class Tile>
  Shared<Tile> shared(Here at = {}) { return {shared_bytes(Tile::bytes, at)}; }
  /// `stages` slots, each with these tiles and two mbarriers: NAME_full and NAME_empty.
  template <int stages, class... Tiles>
  Ring<stages, Tiles...> ring(const std::string& name = "ring", Here at = {}) {
    using Pack = TilePack<Tiles...>;
    return Ring<stages, Tiles...>(add_ring(name, stages, {Pack::slot_bytes, Pack::peer_bytes, Pack::peer_blocks}, at));
  }
  template <int stages, class Tile>
  StoreRing<stages, Tile> store_ring(const std::string& name = "store", Here at = {}) {
    return StoreRing<stages, Tile>(add_store_ring(name, stages, TilePack<Tile>::slot_bytes, at));
  }
  /// An mbarrier whose phase completes after `arrivals` arrivals.
  template <int arrivals = 1>
  Mbarrier mbarrier(const std::string& name, Here at = {}) {
    rules::require<rules::mbarrier_count(arrivals)>();
    return {barrier_array(name, 1, arrivals, at), name, nullptr};
  }
  /// An M x N block of tensor memory: N columns, freed after every role has ended.
  template <class T, int M, int N>
  Tmem<T, M, N> tmem(const std::string& name, Here at = {}) {
    rules::require<rules::tmem_range(0, N, isa::tmem_columns)>();
    if (context_.wgmma) return {&rec_, wgmma_sums(M, N, name, at), 0};
    return {&rec_, tmem_base(), tmem_columns(N, name, at)};
  }

  /// `stages` accumulators of an MMA, each with two mbarriers: NAME_full and NAME_empty. In a pair the leader's MMA
  /// role commits to both CTAs and hears from both.
  template <int stages, class Mma>
  AccumulatorRing<stages, Mma> accumulator_ring(const std::string& name, Here at = {}) {
    rules::require<rules::tmem_range(0, stages * Mma::Accumulator::columns_held, isa::tmem_columns)>();
    return AccumulatorRing<stages, Mma>(add_accumulator_ring(name, stages, Mma::Accumulator::columns_held, at));
  }

  /// A block of tensor memory for something else: TmemA, SFA, SFB, SparseMetadata.
  template <class Handle>
  Handle tensor_memory(const std::string& name, Here at = {}) {
    rules::require<rules::tmem_range(0, Handle::columns_held, isa::tmem_columns)>();
    return {&rec_, tmem_base(), tmem_columns(Handle::columns_held, name, at)};
  }

  /// The same `count` times.
  template <int count, class Handle>
  TmemArray<count, Handle> tensor_memory(const std::string& name, Here at = {}) {
    rules::require<rules::tmem_range(0, count * Handle::columns_held, isa::tmem_columns)>();
    return {&rec_, tmem_base(), tmem_columns(count * Handle::columns_held, name, at)};
  }

  template <class Body>
  void role(const std::string& name, ElectedWarp who, Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body(std::declval<Thread>()))>>();
    add_role(name, who.index, 1, true, [&](RoleContext& c) { body(Thread(rec_, c)); }, at);
  }
  /// A role of the leader's warp alone; the peer's same warp has nothing to do.
  template <class Body>
  void role(const std::string& name, LeaderCta, ElectedWarp who, Body body, Here at = {}) {
    role(name, who, std::move(body), at);
    roles_.back().leader_only = in_pairs();
  }
  template <class Body>
  void role(const std::string& name, WholeWarp who, Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body(std::declval<Warp>()))>>();
    add_role(name, who.index, 1, false, [&](RoleContext& c) { body(Warp(rec_, c)); }, at);
  }
  template <class Body>
  void role(const std::string& name, WholeWarpgroup who, Body body, Here at = {}) {
    rules::require<body_verdict<decltype(body(std::declval<Warpgroup&>()))>>();
    add_role(name, 4 * who.index, 4, false, [&](RoleContext& c) { Warpgroup g(rec_, c); body(g); }, at);
  }

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
  U32 pair_rank();
  /// The tiles of a problem of `rows` by `columns` tiles, dealt out among the CTAs, or the pairs, of the launch.
  StaticTiles tiles(StaticSchedule schedule, const U32& rows, const U32& columns, Here at = {});

  /// The same, handed out while the kernel runs: launched with a CTA, or a pair, for every tile along x.
  LaunchControlTiles tiles(LaunchControl schedule, const U32& rows, const U32& columns, Here at = {});

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
  struct Barriers {
    std::string name;
    int count = 1, arrivals = 1;
    ir::Operand address{};
  };

  template <class Tile>
  TensorMap<Tile> declare(const std::string& name, TensorMap<Tile>*) {
    return {rec_,
            tensor_map_parameter(name, Tile::element::scalar, 2, Tile::box_inner, Tile::box_outer, Tile::swizzle)};
  }
  template <class Tile>
  TensorMap3d<Tile> declare(const std::string& name, TensorMap3d<Tile>*) {
    return {rec_,
            tensor_map_parameter(name, Tile::element::scalar, 3, Tile::box_inner, Tile::box_outer, Tile::swizzle)};
  }
  // The box of a bare map is the launch's business.
  template <class T, int rank>
  TensorMapHandle<T, rank> declare(const std::string& name, TensorMapHandle<T, rank>*) {
    return TensorMapHandle<T, rank>(U64(rec_, tensor_map_parameter(name, T::scalar, rank, 1, 1, isa::Swizzle::none)));
  }
  template <class T>
  Pointer<T> declare(const std::string& name, Pointer<T>*) {
    ParameterInfo p;
    p.name = name;
    p.type = T::scalar;
    p.is_pointer = true;
    return {rec_, scalar_parameter(std::move(p))};
  }
  template <ScalarType type>
  Integer<type> declare(const std::string& name, Element<type>*) {
    ParameterInfo p;
    p.name = name;
    p.type = type;
    return {rec_, scalar_parameter(std::move(p))};
  }

  ir::Operand tensor_map_parameter(const std::string& name, ScalarType type, int rank, int box_inner, int box_outer,
                                   isa::Swizzle swizzle);
  ir::Operand scalar_parameter(ParameterInfo p);
  U32 shared_bytes(int bytes, Here at);
  U32 barrier_array(const std::string& name, int count, int arrivals, Here at);
  RingState& start_ring(std::list<RingState>& rings, const std::string& name, int stages, int slot_bytes, Here at);
  void add_barriers(RingState& ring, int releases, int arrivals = 1);
  Barriers& barriers_of(const RingState& ring, RingSide waits);
  struct SlotSize {
    int bytes, peer_bytes, peer_blocks;  // of the halves that both CTAs of a pair hold
  };
  RingState& add_ring(const std::string& name, int stages, const SlotSize& slot, Here at);
  RingState& add_store_ring(const std::string& name, int stages, int slot_bytes, Here at);
  RingState& add_accumulator_ring(const std::string& name, int stages, int columns, Here at);
  ir::Operand leader_predicate();
  ir::Operand in_leader(const ir::Operand& shared);
  const ir::Operand& tmem_base();
  int tmem_columns(int columns, const std::string& name, Here at);
  ir::Operand allocation() const;
  void add_role(const std::string& name, int first_warp, int warps, bool elected,
                const std::function<void(RoleContext&)>& record, Here at);

  U32 special(const char* name);
  std::string parameter_symbol(const std::string& name) const { return name_ + "_" + name; }
  void check();
  void check(const RingState& ring);
  void count_readers();
  // Where the target multiplies with wgmma: dsl/builder_wgmma.cpp.
  ir::Operand wgmma_sums(int rows, int columns, const std::string& name, Here at);
  void place_later(RingState& ring, const SlotSize& slot);
  void place_rings();
  void count_wgmma_releases();
  Statements wgmma_role_code();
  bool multiplies() const { return context_.wgmma && context_.wgmma->multiplier; }
  int warps() const { return multiplies() ? context_.wgmma->first_warp + WgmmaContext::warps : warps_; }
  Statements setup();
  void initialise_barriers();
  Statements role_code(Role& role);
  Statements cleanup();
  void synchronise_ctas();
  bool in_pairs() const { return context_.group == CtaGroup::two; }
  ir::Function function();

  static constexpr const char* answers_symbol = "kiln_answers";

  std::string name_;
  KernelContext context_;
  int warps_;
  int ctas_per_sm_ = 0;  // 0: nothing is said
  ir::Operand thread_{}, warp_{}, is_allocator_{};
  std::vector<ParameterInfo> parameters_;
  std::vector<Barriers> barriers_;
  std::list<RingState> rings_;
  std::list<RingState> answers_;  // of launch control
  std::vector<RingState*> unplaced_;  // rings that take as many slots as there is room for
  std::list<Role> roles_;
  ir::Operand tmem_base_{};
  int tmem_columns_ = 0;
  Here tmem_at_{};
  int dynamic_bytes_ = 0;
};

}  // namespace kiln::dsl
