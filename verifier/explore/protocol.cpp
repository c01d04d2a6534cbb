#include "verifier/explore/protocol.hpp"

#include "ptx/isa/spaces.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/order/access.hpp"

namespace kiln::verifier::explore {

using isa::Opcode;
using isa::Unit;

namespace {

// Operands that say which data: coordinates with their tensor map, hints, whether an accumulator is added to; and
// registers that a tensor core reads and writes.
bool is_about_data(const ir::Operation& op, const ir::Argument& a) {
  using Kind = ir::Argument::Kind;
  const auto is = [&](const ops::Operand& role) { return role.pointer() == &a; };
  switch (op.opcode) {
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk_tensor: return is(ops::roles<ops::TensorCopy>(op).tensor);
    case Opcode::cp_async_bulk: {
      const auto copy = ops::roles<ops::BulkCopy>(op);
      return !isa::is_shared(op.modifiers.space()) ? is(copy.to)
                                                   : !isa::is_shared(op.modifiers.spaces[1]) && is(copy.from);
    }
    case Opcode::multimem_cp_async_bulk:
    case Opcode::multimem_cp_reduce_async_bulk: return is(ops::roles<ops::BulkCopy>(op).to);
    case Opcode::cp_async: {
      const auto copy = ops::roles<ops::CpAsync>(op);
      return !is(copy.to) && !is(copy.bytes);
    }
    case Opcode::cp_async_bulk_prefetch:
    case Opcode::cp_async_bulk_prefetch_tensor: return true;
    case Opcode::tensormap_replace:
      return !is(ops::roles<ops::TensorMapEdit>(op).map) || !isa::is_shared(op.modifiers.space());
    case Opcode::tensormap_cp_fenceproxy: return is(ops::roles<ops::BulkCopy>(op).to);
    case Opcode::fence_proxy: return true;
    default: break;
  }
  if (const auto mma = ops::as<ops::Wgmma>(op)) return !(is(mma->b) || (is(mma->a) && a.kind == Kind::reg));
  if (const auto mma = ops::as<ops::Mma>(op))
    return is(mma->enable_input_d) || is(mma->scale_input_d) || is(mma->idesc);
  return false;
}

}  // namespace

bool is_shared_access(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::ld:
    case Opcode::st:
    case Opcode::atom:
    case Opcode::red: return isa::is_shared(op.modifiers.space()) || op.modifiers.space() == isa::Space::generic;
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
    case Opcode::st_async:
    case Opcode::red_async: return true;
    default: return false;
  }
}

bool is_protocol(const ir::Operation& op) {
  if (op.opcode == Opcode::clusterlaunchcontrol_query_cancel) return false;  // makes words of an answer
  switch (isa::unit(op.opcode)) {
    case Unit::barrier:
    case Unit::mbarrier:
    case Unit::async_copy:
    case Unit::tcgen05: return true;
    default: break;
  }
  switch (op.opcode) {
    case Opcode::bar_warp_sync:
    case Opcode::fence:
    case Opcode::membar:
    case Opcode::fence_proxy:
    case Opcode::fence_mbarrier_init:
    case Opcode::membar_proxy:
    case Opcode::multimem_cp_async_bulk:
    case Opcode::multimem_cp_reduce_async_bulk:
    case Opcode::exit:
    case Opcode::ret:
    case Opcode::wgmma_mma_async:
    case Opcode::wgmma_mma_async_sp:
    case Opcode::wgmma_commit_group:
    case Opcode::wgmma_wait_group: return true;
    default: return is_shared_access(op);
  }
}

bool is_local(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::ld:
    case Opcode::st:
    case Opcode::atom:
    case Opcode::red: return !is_protocol(op) || !order::is_strong(op);  // else it may be one of a flag
    case Opcode::bra:
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_ld_red:
    case Opcode::tcgen05_st:
    case Opcode::tcgen05_wait_ld:
    case Opcode::tcgen05_wait_st:
    case Opcode::tcgen05_fence_before:
    case Opcode::tcgen05_fence_after:
    case Opcode::bar_warp_sync: return true;
    case Opcode::fence_proxy:
    case Opcode::membar_proxy: return op.modifiers.proxy != isa::Proxy::tensormap_generic;
    default: return !is_protocol(op) && !leads_elsewhere(op.opcode);
  }
}

bool is_of_warp(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::bar_warp_sync:
    case Opcode::elect_sync:
    case Opcode::shfl:
    case Opcode::vote:
    case Opcode::activemask:
    case Opcode::ldmatrix:
    case Opcode::stmatrix: return true;
    default: return isa::unit(op.opcode) == Unit::tcgen05;
  }
}

bool leads_elsewhere(Opcode op) {
  return op == Opcode::bra || op == Opcode::brx_idx || op == Opcode::call || op == Opcode::exit || op == Opcode::ret ||
         op == Opcode::trap;
}

void add_roots(const ir::Operation& op, std::span<const ir::Argument* const> words, flow::Demands::Wanted& out) {
  if (!is_protocol(op)) return;
  if (op.guard) out.registers.push_back(*op.guard);
  // Addresses matter, and operands that say how much and for which CTAs. Data does not, unless it may be a word of the
  // protocol.
  const bool moves_data = is_shared_access(op) || op.opcode == Opcode::tcgen05_ld ||
                          op.opcode == Opcode::tcgen05_ld_red || op.opcode == Opcode::tcgen05_st;
  const ir::Argument* result = isa::writes(op.opcode) != isa::Writes::none ? op.arguments.data() : nullptr;
  const ir::Argument* parity = ops::roles<ops::Mbarrier>(op).parity.pointer();
  const auto mma = ops::as<ops::Mma>(op);
  for (const ir::Argument& a : op.arguments) {
    const bool is_address = a.kind == ir::Argument::Kind::address;
    if (is_about_data(op, a)) continue;
    if (&a == parity) {
      out.parities.push_back(&a);
      continue;
    }
    // Only the queue that reads scales writes them: which of a few columns are read does not matter.
    if (mma && (&a == mma->sfa.pointer() || &a == mma->sfb.pointer())) {
      out.rough.push_back(&a);
      continue;
    }
    if (is_address || (!moves_data && &a != result)) out.arguments.push_back(&a);
  }
  out.arguments.insert(out.arguments.end(), words.begin(), words.end());
}

}  // namespace kiln::verifier::explore
