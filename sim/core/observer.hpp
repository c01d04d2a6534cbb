// The interface of a race detector, a tracer or a coverage tool. The simulator calls it at issue time, in program order
// per thread. Without an observer every call site is one null test. README.md maps the ordering model's agents to it.
#pragma once

#include <array>
#include <cstdint>

#include "ptx/ir/code.hpp"
#include "ptx/isa/spaces.hpp"
#include "ptx/isa/tma.hpp"
#include "ptx/order/access.hpp"

namespace kiln::sim {

struct Box;
struct Cluster;
struct MmaTask;
struct Wait;

/// One asynchronous operation: unique in a run, 0 is none.
using AsyncId = std::uint64_t;

/// The lanes of a warp that execute an operation.
struct Agent {
  std::uint32_t cta = 0;   // index in the grid
  std::uint32_t warp = 0;  // index in the CTA
  std::uint32_t lanes = 0;
};

using order::Proxy;
/// `rewrite` is a write by a thread that leaves every byte as it is; order::leave_the_same has its use. `rounded` is
/// one of f32 words that differ from what is there by rounding.
enum class AccessKind : std::uint8_t { read, write, atomic, rewrite, rounded };

/// What an operation of the tensor core uses bytes or cells as.
enum class Operand : std::uint8_t { none, accumulator, a, b, scales_a, scales_b, metadata, copied };

/// Bytes that an access touches. For tensor memory `address` is lane << 16 | column, `bytes` counts 4 per column, and
/// `rows` lanes follow each other; elsewhere `rows` is 1.
struct Range {
  isa::Space space = isa::Space::global;  // shared_cta, global; reg stands for tensor memory
  std::uint32_t cta = 0;                  // the CTA that owns shared or tensor memory
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t rows = 1;
  Operand operand = Operand::none;
};

/// Events that order others. `object` is a shared offset, a barrier number or a group index, as the kind has it.
enum class SyncKind : std::uint8_t {
  mbarrier_init,
  mbarrier_inval,
  mbarrier_arrive,
  mbarrier_expect,
  mbarrier_complete,
  mbarrier_observe,
  barrier_arrive,
  barrier_leave,
  warp_sync,
  cluster_arrive,
  cluster_leave,
  fence,
  fence_proxy,
  fence_mbarrier_init,
  bulk_commit,
  bulk_wait,
  bulk_wait_read,
  tcgen05_commit,
  tcgen05_wait_ld,
  tcgen05_wait_st,
  tcgen05_fence_before,
  tcgen05_fence_after,
  tmem_alloc,
  tmem_dealloc,
  tmem_relinquish,
  cta_start,
  cta_exit,
  mbarrier_phase,   // the phase `value` is complete
  mbarrier_use,     // an asynchronous operation that was issued will complete on the mbarrier
  mbarrier_lapped,  // `value` phases have passed since the thread began to wait
  cp_async_commit,
  cp_async_wait,    // all but the `object` latest groups are complete; value 1: what is not committed too
  cp_async_arrive,  // the arrival `by` on an mbarrier will follow the copies issued so far
  wgmma_fence,
  wgmma_commit,
  wgmma_wait,
  grid_wait,   // the grid before this one is over
  grid_begin,  // the next one may begin, as far as this CTA goes
  warp_wait,   // lanes have waited for those of the mask `object`, which orders no memory
  lanes_exit   // threads of a CTA are done
};

struct Sync {
  SyncKind kind = SyncKind::fence;
  std::uint32_t cta = 0;  // owner of the object
  std::uint64_t object = 0;
  std::uint64_t value = 0;  // phase, count or bytes
  AsyncId by = 0;           // the asynchronous operation that caused it, if one did
};

/// What a bulk copy moves. `at` are the coordinates of a tensor copy, innermost first, in elements; `rank` is 0 for a
/// plain one.
struct Transfer {
  std::uint64_t bytes = 0;   // what an mbarrier counts
  std::uint64_t global = 0;  // address of the tensor; of a plain copy's global end, 0 if it has none
  int rank = 0;
  std::array<std::int64_t, isa::tma_max_rank> at{};
  bool signals = false;  // completes on the mbarrier
  std::uint32_t mbarrier_cta = 0;
  std::uint64_t mbarrier = 0;
  const Box* box = nullptr;  // of a tensor copy, while it is issued
  std::uint32_t ctas = 1;    // that a multicast copies it to, each with a transfer of its own
};
using order::is_strong;

/// Receives everything; every default does nothing. `operation` is null for events that no instruction caused.
class Observer {
 public:
  virtual ~Observer() = default;
  /// A cluster of a launch begins; its CTAs are in place. `launch` numbers the launches of a run.
  /// Cluster::beside: others that started before it are not over.
  virtual void start(Cluster&, std::uint32_t /*launch*/) {}
  /// What follows is of this cluster, which has started before: clusters side by side take turns.
  virtual void enter(Cluster&) {}
  /// Lanes execute an operation while a tcgen05.ld of their warp has not been waited for.
  virtual void execute(const Agent&, const ir::Operation&) {}
  /// An asynchronous operation enters flight; its accesses follow with its id, all at issue.
  virtual void issue(AsyncId, const Agent&, const ir::Operation&) {}
  /// The asynchronous operation has done everything.
  virtual void complete(AsyncId) {}
  virtual void access(const Agent&, const ir::Operation&, const Range&, AccessKind, Proxy, AsyncId) {}
  virtual void sync(const Agent&, const ir::Operation*, const Sync&) {}
  /// Follows the issue of a bulk copy.
  virtual void transfer(AsyncId, const Transfer&) {}
  /// Follows the issue of a tcgen05.mma.
  virtual void multiply(AsyncId, const Agent&, const MmaTask&) {}
  /// Whether `step` is to be called; asked once a launch.
  virtual bool wants_steps() const { return false; }
  /// Lanes have executed an instruction, in the tick Cluster::tick. With a wait: they could not execute it, and wait.
  virtual void step(const Agent&, const ir::Operation&, const Wait*) {}
};

}  // namespace kiln::sim
