#include "sim/views/words.hpp"

#include <fmt/format.h>

#include "ptx/isa/mbarrier.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;
using isa::Unit;

std::string_view tensor_activity(Opcode op) {
  switch (op) {
    case Opcode::tcgen05_mma:
    case Opcode::tcgen05_mma_sp:
    case Opcode::tcgen05_mma_ws:
    case Opcode::tcgen05_mma_ws_sp: return "mma";
    case Opcode::tcgen05_cp: return "cp";
    case Opcode::tcgen05_shift: return "shift";
    case Opcode::tcgen05_commit: return "commit";
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_ld_red: return "tensor memory ld";
    case Opcode::tcgen05_st: return "tensor memory st";
    case Opcode::tcgen05_alloc: return "alloc";
    case Opcode::tcgen05_dealloc: return "dealloc";
    default: return "compute";  // fences, waits that pass
  }
}

std::string_view copy_activity(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_async_bulk:
    case Opcode::cp_reduce_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk: return isa::is_shared(op.modifiers.spaces[0]) ? "load" : "store";
    case Opcode::cp_async: return "copy";
    default: return "compute";
  }
}

}  // namespace

std::string_view activity(const ir::Operation& op) {
  switch (isa::unit(op.opcode)) {
    case Unit::tcgen05: return tensor_activity(op.opcode);
    case Unit::async_copy: return copy_activity(op);
    case Unit::matrix: return "warp matrix";
    case Unit::mbarrier:
      return op.opcode == Opcode::mbarrier_arrive || op.opcode == Opcode::mbarrier_arrive_drop ? "arrive" : "compute";
    default: return "compute";
  }
}

std::string wait_name(const Cta& cta, const Wait& w) {
  switch (w.kind) {
    case WaitKind::mbarrier: {
      const std::string name = shared_name(cta.cluster->grid.program, std::uint32_t(w.address), isa::mbarrier_bytes);
      return w.cta_rank == cta.rank ? "wait " + name : fmt::format("wait {} of CTA {}", name, w.cta_rank);
    }
    case WaitKind::barrier: return fmt::format("wait barrier {}", w.address);
    case WaitKind::cluster_barrier: return "wait cluster barrier";
    case WaitKind::convergence:
    case WaitKind::warp_barrier: return "wait warp";
    case WaitKind::bulk_group: return "wait bulk copies";
    case WaitKind::tmem_columns: return "wait tensor memory";
    case WaitKind::tensor_ops: return "wait tcgen05";
    case WaitKind::wgmma_group: return "wait wgmma";
    case WaitKind::none: break;
  }
  return "wait";
}

std::string_view spelling(Operand o) {
  switch (o) {
    case Operand::accumulator: return "accumulator";
    case Operand::a: return "A";
    case Operand::b: return "B";
    case Operand::scales_a: return "scales of A";
    case Operand::scales_b: return "scales of B";
    case Operand::metadata: return "metadata";
    case Operand::copied: return "copied by cp";
    case Operand::none: break;
  }
  return "";
}

std::string buffer_name(const Grid& grid, std::uint64_t address) {
  const Region* region = address ? grid.memory.region(address) : nullptr;
  return region ? region->name : std::string();
}

}  // namespace kiln::sim
