// Execution scopes: who executes what follows. Which instructions a scope may issue is which members it has; the members
// that only refuse are there to say where the instruction lives.
#pragma once

#include <array>
#include <bit>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "dsl/memory.hpp"
#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/rules/dsl.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/tcgen05_mma.hpp"

namespace kiln::dsl {

/// What a role knows of itself while it is recorded. Owned by the builder; scopes point to it.
struct RoleContext {
  std::string name{};
  ir::Operand warp{};           // index of the warp in the CTA
  ir::Operand thread{};         // index of the thread in the CTA
  int named_barrier = 0;        // of a warpgroup
  int threads = 1;
  std::vector<std::function<void()>> at_exit{};
  std::optional<ir::Operand> chosen{};  // predicate of the warpgroup's elected thread
  bool waited = false;          // a wait happened after which no tcgen05 fence was written
  bool used_tcgen05 = false;
  bool target_has_tcgen05 = false;
};

template <class Result>
void require_void_body() {
  rules::require<rules::body_result(std::is_void_v<Result>)>();
}

/// enable-input-d: whether an MMA adds to D or overwrites it.
struct EnableInputD {
  ir::Operand operand;
};
inline EnableInputD accumulate(bool always) { return {ir::Operand::number(always)}; }
inline EnableInputD accumulate(const Pred& p) {
  p.recorder().check_use(&p.recorder(), p.scope(), Here::nowhere());
  return {p.operand()};
}

/// How TMA boxes make up a tile.
struct TilePieces {
  int blocks, row_pieces;       // boxes along and across the contiguous dimension
  int block_bytes, piece_bytes; // from one to the next in shared memory
  int box_inner, box_outer;     // and in the tensor, elements
};
template <class Tile>
inline constexpr TilePieces pieces_of{Tile::blocks,    Tile::box_rows_pieces, Tile::block_bytes, Tile::box_outer * Tile::row_pitch,
                                      Tile::box_inner, Tile::box_outer};

/// elect.sync in a converged warp: the predicate that holds in the elected lane.
ir::Operand elect_leader(Recorder& r, Here at);

/// What every scope can do: control flow, state, waiting, and bare PTX.
class Scope {
 public:
  /// `converged`: whole warps execute this, and must find together again after a branch.
  Scope(Recorder& r, RoleContext& role, bool converged) : rec_(&r), role_(&role), converged_(converged) {}

  /// Repeats the body for i = 0 ... trips - 1; zero trips are possible.
  template <class Body>
  void loop(OperandOf<U32> trips, Body body) {
    require_void_body<decltype(body(std::declval<U32>()))>();
    loop_over(trips, [&](const U32& i) { body(i); });
  }

  /// Executes the body where `p` holds.
  template <class Body>
  void when(const Pred& p, Body body, Here at = {}) {
    require_void_body<decltype(body())>();
    when_else(p, [&] { body(); }, nullptr, at);
  }
  template <class Body, class Otherwise>
    requires std::is_invocable_v<Otherwise>
  void when(const Pred& p, Body body, Otherwise otherwise, Here at = {}) {
    require_void_body<decltype(body())>();
    require_void_body<decltype(otherwise())>();
    when_else(p, [&] { body(); }, [&] { otherwise(); }, at);
  }

  /// State that may be assigned, with its first value.
  Var<U32> var(OperandOf<U32> first);

  /// Waits until the phase with this parity has completed (mbarrier.try_wait.parity in a loop).
  void wait(const Mbarrier& b, const Phase& phase, Here at = {});

  /// A bare PTX instruction, for what the typed members do not have: the mnemonic and its operands.
  void ptx(std::string_view mnemonic, std::vector<ir::Operand> operands, Here at = {});
  /// 16 bytes of shared memory, at a multiple of 16.
  std::array<U32, 4> ld_shared_v4(const U32& address, Here at = {});
  void st_shared_v4(const U32& address, const std::array<U32, 4>& values, Here at = {});
  /// 16 bytes of global memory, at a multiple of 16.
  void st_global_v4(const U64& address, const std::array<U32, 4>& values, Here at = {});
  /// The index of this warp in its CTA, and of this thread.
  U32 warp_index() const { return {*rec_, role_->warp}; }
  U32 thread_index() const { return {*rec_, role_->thread}; }
  Recorder& recorder() const { return *rec_; }

  // Fences, as PTX spells them
  void tcgen05_fence_before_thread_sync(Here at = {});
  void tcgen05_fence_after_thread_sync(Here at = {});
  /// Makes this thread's writes to shared memory visible to TMA and the tensor core.
  void fence_proxy_async(Here at = {});

  RoleContext& role() const { return *role_; }

 protected:
  void loop_over(OperandOf<U32> trips, const std::function<void(const U32&)>& body);
  void when_else(const Pred& p, const std::function<void()>& body, const std::function<void()>& otherwise, Here at);
  void before_tcgen05(Here at);
  /// What a member that exists only to explain does: fails with the rule's text.
  template <rules::Rule r, class... Args> static void refuse() { (void)rules::refuse<r, Args...>{}; }

  Recorder* rec_;
  RoleContext* role_;
  bool converged_;
};

/// One elected thread: the issuer of TMA, tcgen05.mma and tcgen05.commit.
class Thread : public Scope {
 public:
  Thread(Recorder& r, RoleContext& role) : Scope(r, role, false) {}

  /// Copies a tile from a global tensor; its bytes count on `full` when they have arrived.
  template <class Tile>
  void tma_load(const Shared<Tile>& to, const Box<Tile>& from, const Mbarrier& full, Here at = {}) {
    copy_boxes(pieces_of<Tile>, to.address, from.map, from.inner, from.outer, &full, at);
  }
  /// Copies a tile to a global tensor; part of the next commit_stores() group.
  template <class Tile>
  void tma_store(const Box<Tile>& to, const Shared<Tile>& from, Here at = {}) {
    copy_boxes(pieces_of<Tile>, from.address, to.map, to.inner, to.outer, nullptr, at);
  }
  void commit_stores(Here at = {});
  /// Until at most `pending` groups may still read their shared source.
  void wait_stores_read(int pending, Here at = {});

  /// Arrives on an mbarrier and announces `bytes` of copies for its phase.
  void expect_tx(const Mbarrier& b, std::int64_t bytes, Here at = {});
  void arrive(const Mbarrier& b, Here at = {});
  /// Arrives on `b` once every earlier MMA of this thread has completed.
  void commit(const Mbarrier& b, Here at = {});

  /// D = A * B, or D += A * B: kind::f16, one CTA.
  template <class D, int M, int N, class ATile, class BTile>
  void mma(const Tmem<D, M, N>& d, const KSlice<ATile>& a, const KSlice<BTile>& b, const EnableInputD& p, Here at = {}) {
    using namespace rules;
    using A = typename ATile::element;
    using B = typename BTile::element;
    constexpr auto kind = isa::MmaKind::f16;
    constexpr auto group = isa::CtaGroup::one;
    constexpr int k = isa::mma_k(kind);
    require<first(mma_types(kind, A::scalar, B::scalar), mma_accumulator(kind, A::scalar, D::scalar))>();
    require<first(mma_m(group, M), mma_n(kind, group, N))>();
    require<mma_operands(M, N, k, ATile::rows, ATile::cols, BTile::rows, BTile::cols)>();
    require<first(sdesc_atom32(kind, ATile::order, ATile::swizzle),
                        sdesc_atom32(kind, BTile::order, BTile::swizzle))>();
    isa::InstructionDescriptorFields f;
    f.d_type = isa::d_type_code(D::scalar).value_or(0);
    f.a_type = isa::operand_type_code(kind, A::scalar).value_or(0);
    f.b_type = isa::operand_type_code(kind, B::scalar).value_or(0);
    f.a_major = ATile::order;
    f.b_major = BTile::order;
    f.m = M;
    f.n = N;
    tcgen05_mma_f16(d.address(at), descriptor(a.address, ATile::descriptor(), a.offset, at),
                    descriptor(b.address, BTile::descriptor(), b.offset, at), isa::pack(f, kind), p, at);
  }

  /// tcgen05.mma.cta_group::1.kind::f16 with every operand given: the form without checks on shapes.
  void tcgen05_mma_f16(const U32& d_tmem, const U64& a_descriptor, const U64& b_descriptor, std::uint32_t idesc,
                       const EnableInputD& p, Here at = {});
  /// The matrix descriptor of a shared address: constant bits plus (address + offset) >> 4.
  U64 descriptor(const U32& address, std::uint64_t constant, int offset, Here at = {});

  // Here only to say who executes them.
  template <class... Args> void load(Args&&...) { refuse<rules::Rule::ld_issuer, Args...>(); }
  template <class... Args> void elect(Args&&...) { refuse<rules::Rule::warp_issuer, Args...>(); }
  template <class... Args> void tcgen05_alloc(Args&&...) { refuse<rules::Rule::warp_issuer, Args...>(); }
  template <class... Args> void tcgen05_dealloc(Args&&...) { refuse<rules::Rule::warp_issuer, Args...>(); }

 private:
  // One copy for each box: loads that complete on `full`, stores where it is null.
  void copy_boxes(const TilePieces& pieces, const U32& shared, const ir::Operand& map, const U32& inner,
                  const U32& outer, const Mbarrier* full, Here at);
};

/// What whole warps execute together: the bare forms of tcgen05.ld and its wait, and one thread out of them.
class WholeWarps : public Scope {
 public:
  WholeWarps(Recorder& r, RoleContext& role) : Scope(r, role, true) {}

  /// tcgen05.ld of a shape with .xN: the registers that this thread receives, in the order of the ISA's fragment pictures.
  /// `address` carries the lane in its upper half. Not readable before tcgen05_wait_ld().
  template <isa::DataShape shape, int repeat>
  std::vector<U32> tcgen05_ld(const U32& address, Here at = {}) {
    rules::require<rules::ld_repeat(shape, repeat)>();
    return load_registers(shape, repeat, address, at);
  }
  void tcgen05_wait_ld(Here at = {});

  // Here only to say who issues them: one thread, inside elect(...).
  template <class... Args> void mma(Args&&...) { refuse<rules::Rule::mma_issuer, Args...>(); }
  template <class... Args> void commit(Args&&...) { refuse<rules::Rule::mma_issuer, Args...>(); }
  template <class... Args> void tma_load(Args&&...) { refuse<rules::Rule::tma_issuer, Args...>(); }
  template <class... Args> void tma_store(Args&&...) { refuse<rules::Rule::tma_issuer, Args...>(); }

 protected:
  std::vector<U32> load_registers(isa::DataShape shape, int repeat, const U32& address, Here at);
};

/// The 32 lanes of one warp, converged.
class Warp : public WholeWarps {
 public:
  using WholeWarps::WholeWarps;

  /// Executes the body in one lane; the others wait for it.
  template <class Body>
  void elect(Body body, Here at = {}) {
    require_void_body<decltype(body(std::declval<Thread>()))>();
    elect_one([&](Thread t) { body(t); }, at);
  }

  // Tensor memory, bare
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

 private:
  void elect_one(const std::function<void(Thread)>& body, Here at);
  void alloc(const U32& slot, int columns, Here at);
  void dealloc(const U32& address, int columns, Here at);
};

/// Four warps whose first index is a multiple of four: the readers of tensor memory, one lane quarter each.
class Warpgroup : public WholeWarps {
 public:
  using WholeWarps::WholeWarps;
  using Scope::wait;

  /// This thread's row of an accumulator: lane 32 * (warp % 4) + lane of the warp, all columns.
  template <class T, int M, int N>
  Registers<T, N, LdState::pending> load(const Tmem<T, M, N>& from, Here at = {}) {
    static_assert(M == 128, "a thread holds a row when M is 128; read other accumulators with tcgen05_ld");
    rules::require<rules::ld_repeat(isa::DataShape::s32x32b, std::has_single_bit(unsigned(N)) ? N : 0)>();
    return {*rec_, load_rows(from.address(at), N, at)};
  }
  /// tcgen05.wait::ld: the loaded registers may be read.
  template <class T, int N, LdState s>
  Registers<T, N, rules::step(s, LdEvent::wait).next> wait(const Registers<T, N, s>& loaded, Here at = {}) {
    tcgen05_wait_ld(at);
    return {*rec_, loaded.operands()};
  }

  /// Writes this thread's row of a K-major tile: row = thread index in the warpgroup.
  template <class Tile, class T, int N, LdState s>
  void store(const Shared<Tile>& to, const Registers<T, N, s>& row, Here at = {}) {
    rules::require<rules::step(s, LdEvent::read).verdict>();
    static_assert(std::is_same_v<T, typename Tile::element> && N == Tile::cols && Tile::order == Major::K,
                  "a row of the tile is stored by one thread: same type, same columns, K-major");
    static_assert(Tile::rows == 128, "a warpgroup stores 128 rows");
    store_row(to.address, Tile::swizzle, Tile::row_pitch, Tile::block_bytes, row.operands(), at);
  }
  /// Writes this thread's values to consecutive global addresses, 16 bytes at a time, as far as `elements` reaches.
  template <class T, int N, LdState s>
  void store_global(const U64& address, const Registers<T, N, s>& values, const U32& elements, Here at = {}) {
    rules::require<rules::step(s, LdEvent::read).verdict>();
    store_vectors(address, values.operands(), elements, 128 / T::bits, at);
  }

  /// Waits for all threads of the warpgroup.
  void sync(Here at = {});
  /// Arrives once for the whole warpgroup, after all its threads have come here.
  void arrive(const Mbarrier& b, Here at = {});
  /// Executes the body in one thread of the warpgroup, always the same.
  template <class Body>
  void elect(Body body, Here at = {}) {
    require_void_body<decltype(body(std::declval<Thread>()))>();
    elect_one([&](Thread t) { body(t); }, at);
  }
  /// Index of this thread in the warpgroup: its row.
  U32 row(Here at = {}) const;

 private:
  std::vector<ir::Operand> load_rows(const U32& address, int columns, Here at);
  U32 row_key(isa::Swizzle s, int row_pitch, Here at) const;
  void store_row(const U32& tile, isa::Swizzle s, int row_pitch, int block_bytes, const std::vector<ir::Operand>& regs,
                 Here at);
  void store_vectors(const U64& address, const std::vector<ir::Operand>& regs, const U32& elements, int per_vector,
                     Here at);
  const ir::Operand& chosen_thread(Here at);
  void elect_one(const std::function<void(Thread)>& body, Here at);
};

}  // namespace kiln::dsl
