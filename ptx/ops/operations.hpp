// Operations by role: what each operand of an instruction is. families.def is the table.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/ir/code.hpp"
#include "ptx/isa/mma_form.hpp"

namespace kiln::ops {

/// Instructions whose operands have the same roles in the same order.
enum class Family : std::uint8_t {
#define FAMILY(id, Type) id,
#define ROLE(member)
#define ROLE_IF(member, condition)
#define ROLES()
#define END()
#include "ptx/ops/families.def"
#undef FAMILY
#undef ROLE
#undef ROLE_IF
#undef ROLES
#undef END
};

Family family(isa::Opcode);

/// An operand of an operation, or none: false, and an argument of kind none.
class Operand {
 public:
  Operand() = default;
  explicit Operand(const ir::Argument& a) : at_(&a) {}

  explicit operator bool() const { return at_ != nullptr; }
  operator const ir::Argument&() const { return **this; }
  const ir::Argument& operator*() const {
    static const ir::Argument none;
    return at_ ? *at_ : none;
  }
  const ir::Argument* operator->() const { return &**this; }
  /// Null for none.
  const ir::Argument* pointer() const { return at_; }

 private:
  const ir::Argument* at_ = nullptr;
};

/// No operand has a role.
struct Unread {};

/// Arithmetic, comparisons, moves and conversions, as the PTX ISA names their operands. For bfi, c is the position and
/// e the length; for lop3, e is the table and q the predicate; for selp, slct, setp and set, c is what decides or
/// combines; for cvt with .rs, the last is the random bits.
struct Alu {
  Operand d, a, b, c, e, q;
};

struct Branch {
  Operand target;  // a label
};
struct BranchTable {
  Operand index, targets;
};
/// An indirect call has a table of its targets, or a prototype.
struct Call {
  Operand results, callee, arguments, targets;
};
/// One number: setmaxnreg, nanosleep, pmevent, and instructions that wait until at most `count` groups are pending.
struct Count {
  Operand count;
};
/// alloca, stacksave, stackrestore.
struct Stack {
  Operand d, bytes, alignment, pointer;
};

/// ld, ldu, st and multimem.ld_reduce, .st, .red. `value` is what is read or written: a register, a vector, a constant.
struct MemoryAccess {
  Operand value, address, cache_policy;
};
/// atom and red. `c` is the new value of cas, which compares with `b`. red has no `d`.
struct Atomic {
  Operand d, address, b, c, cache_policy;
};
/// st.async, red.async.
struct AsyncStore {
  Operand address, value, mbarrier;
};
/// st.bulk.
struct BulkStore {
  Operand address, bytes, value;
};
/// prefetch, prefetchu, discard, applypriority.
struct CacheLine {
  Operand address, bytes;
};
/// createpolicy.
struct CachePolicy {
  Operand policy;
};
/// fence, membar and their proxy forms. Only fence.proxy.tensormap with .acquire has an address.
struct Fence {
  Operand address, bytes;
};

/// Instructions between the lanes of a warp. `members`: the mask; forms without .sync have none.
struct WarpExchange {
  Operand d, a, lane, clamp, members;
};
/// bar and barrier. `d` and `predicate`: .red alone. Without `threads`, all of the CTA take part.
struct Barrier {
  Operand d, id, threads, predicate;
};
/// mbarrier.* and cp.async.mbarrier.arrive. `count`: arrivals, or the result of pending_count. `state`: what an arrival
/// gives and a wait takes. `done`: the result of a wait, alone or with the predicate of a report; `report`: a report's
/// value. `time_limit`: nanoseconds. `ctas`: the mask of a multicast.
struct Mbarrier {
  Operand object, count, bytes, state, parity, done, report, time_limit, ctas;
};

/// cp.async. `source`: bytes that are read, or a predicate that says to read none (ignore-src).
struct CpAsync {
  Operand to, from, bytes, source, cache_policy;
};
/// cp.async.bulk, cp.reduce.async.bulk, their multimem forms, cp.async.bulk.prefetch and tensormap.cp_fenceproxy.
struct BulkCopy {
  Operand to, from, bytes, ignored_before, ignored_after, mbarrier, ctas, cache_policy, byte_mask;
};
/// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, cp.async.bulk.prefetch.tensor. `tensor`: the map and the
/// coordinates. `offsets`: those of im2col. A load has an mbarrier.
struct TensorCopy {
  Operand shared, tensor, mbarrier, offsets, ctas, cache_policy;

  bool loads() const { return bool(mbarrier); }
};
/// tensormap.replace.
struct TensorMapEdit {
  Operand map, dimension, value;
};
/// clusterlaunchcontrol.try_cancel writes a response to shared memory, query_cancel takes one from a register.
struct LaunchControl {
  Operand to, mbarrier, d, response;
};

/// ldmatrix, stmatrix, wmma.load, wmma.store.
struct MatrixAccess {
  Operand registers, address, stride;
};
/// mma.sync, mma.sp and wmma.mma. `sfa_ids` and `sfb_ids`: {byte id, thread id}.
struct MmaSync {
  Operand d, a, b, c, metadata, selector, sfa, sfa_ids, sfb, sfb_ids;
};
/// wgmma.mma_async.
struct Wgmma {
  Operand d, a, b, metadata, selector, scale_d, scale_a, scale_b, transpose_a, transpose_b;
};

/// tcgen05.alloc writes an address to `slot`, dealloc takes it.
struct TmemAllocation {
  Operand slot, address, columns;
};
/// tcgen05.ld, .ld.red, .st. `split`: columns between the halves of .16x32bx2. `reduced`: the result of .red. `metadata`:
/// which values .spcompress kept.
struct TmemAccess {
  Operand registers, reduced, metadata, address, split;
};
/// tcgen05.cp: a TMEM address and a matrix descriptor.
struct TmemCopy {
  Operand to, from;
};
/// tcgen05.shift.
struct TmemShift {
  Operand address;
};
/// tcgen05.commit. `ctas`: the mask of a multicast.
struct Commit {
  Operand mbarrier, ctas;
};
/// tcgen05.mma of any form. `tables`: of .decompress::lut::b, in tensor memory. `second_predicate` is none of the PTX
/// ISA's; its meaning is not known.
struct Mma {
  Operand d, a, b, metadata, tables, idesc, sfa, sfb, lanes, enable_input_d, zero_mask, second_predicate, scale_input_d;
  isa::MmaForm form{};
};

/// The operands of an operation by role; nothing when its family is read into another type, and when it has fewer or
/// more operands than its family.
template <typename T>
std::optional<T> as(const ir::Operation&);

/// The same where operands that are missing are of no interest: they are none.
template <typename T>
T roles(const ir::Operation& op) {
  return as<T>(op).value_or(T{});
}

}  // namespace kiln::ops
