// What an access is, as far as its order with others is concerned.
#pragma once

#include <cstdint>

#include "ptx/ir/code.hpp"

namespace kiln::order {

/// The way that an access takes to memory; an access by one way does not see one by another without a fence. PTX ISA
/// "Proxies". Tensor memory counts as a way of its own.
enum class Proxy : std::uint8_t { generic, async, tensor_memory, tensormap };

/// One access of a pair.
struct Access {
  const ir::Operation* operation = nullptr;
  Proxy proxy = Proxy::generic;
  bool writes = false;
  bool is_async = false;  // its completion has to be known, not its issue
};

/// An access that orders others or may be watched for: an atomic one, or one that says more than .weak. PTX ISA "Memory
/// Consistency Model".
inline bool is_strong(const ir::Operation& op) {
  const isa::Semantics s = op.modifiers.semantics;
  return op.opcode == isa::Opcode::atom || op.opcode == isa::Opcode::red ||
         (s != isa::Semantics::none && s != isa::Semantics::weak);
}

/// Whether an operation with these semantics hands over what its thread knows, and takes in what it reads.
constexpr bool releases(isa::Semantics s) {
  return s == isa::Semantics::release || s == isa::Semantics::acq_rel || s == isa::Semantics::sc;
}
constexpr bool acquires(isa::Semantics s) {
  return s == isa::Semantics::acquire || s == isa::Semantics::acq_rel || s == isa::Semantics::sc;
}

/// A fence between threads, which is one of a release, of an acquire, or of both, as membar and a fence that does not
/// say which are. PTX ISA "membar, fence".
inline bool is_fence(const ir::Operation& op) {
  return op.opcode == isa::Opcode::fence || op.opcode == isa::Opcode::membar;
}
inline bool fence_releases(const ir::Operation& op) {
  const isa::Semantics s = op.modifiers.semantics;
  return is_fence(op) && (s == isa::Semantics::none || releases(s));
}
inline bool fence_acquires(const ir::Operation& op) {
  const isa::Semantics s = op.modifiers.semantics;
  return is_fence(op) && (s == isa::Semantics::none || acquires(s));
}

/// An arrival at a barrier of the CTA by a thread that does not wait there.
constexpr bool arrives_alone(isa::Opcode op) {
  return op == isa::Opcode::bar_arrive || op == isa::Opcode::bar_cta_arrive || op == isa::Opcode::barrier_arrive ||
         op == isa::Opcode::barrier_cta_arrive;
}

/// Two writes of threads that one instruction makes, in one warp or several, are no race where the later one leaves
/// every byte as the earlier one left it (`rewrites`): compilers let several threads store the value that all of them
/// have. Where the values differ the pair conflicts, of one warp too: PTX does not say which lane's value stays (an
/// H100 keeps the lowest lane's of `st.b32` and another one's of `st.v4`; tests/gpu). Writes of two instructions
/// conflict whatever they store: that their values are equal may be chance.
inline bool leave_the_same(const ir::Operation& earlier, const ir::Operation& later, bool rewrites) {
  return rewrites && &earlier == &later;
}

/// An instruction that all lanes of a warp execute together: its accesses are the warp's.
inline bool is_of_warp(const ir::Operation& op) { return op.modifiers.aligned; }

/// The CTAs of a pair free their columns together: two deallocations do not conflict.
inline bool free_together(const ir::Operation& a, const ir::Operation& b) {
  return a.opcode == isa::Opcode::tcgen05_dealloc && b.opcode == isa::Opcode::tcgen05_dealloc;
}

}  // namespace kiln::order
