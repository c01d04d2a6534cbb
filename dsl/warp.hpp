// Whole warps: the readers of tensor memory, its allocators, and the electors of one thread.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include <bit>

#include "dsl/thread.hpp"

namespace kiln::dsl {

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
    rules::require<body_verdict<decltype(body(std::declval<Thread>()))>>();
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
    rules::require<body_verdict<decltype(body(std::declval<Thread>()))>>();
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
