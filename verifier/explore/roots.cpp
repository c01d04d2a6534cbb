#include "verifier/explore/roots.hpp"

#include "ptx/ir/mma.hpp"

namespace kiln::verifier::protocol {
namespace {

using isa::Opcode;
using isa::Unit;

// Whether an operand may differ from thread to thread, when these registers do.
bool is_varied(const ir::Code& code, const ir::Argument& a, const std::vector<bool>& varies) {
  if (a.kind == ir::Argument::Kind::special) return true;
  if (a.kind == ir::Argument::Kind::address)
    for (const ir::Argument& part : code.components(a))
      if (is_varied(code, part, varies)) return true;
  return a.kind == ir::Argument::Kind::reg && varies[a.id];
}

// Registers whose words may differ from thread to thread, by what they are made of.
std::vector<bool> varying(const Facts& facts) {
  std::vector<bool> varies(facts.code.registers.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
      const ir::Operation& op = facts.code.operations[i];
      bool varied = isa::unit(op.opcode) != isa::Unit::alu && op.opcode != Opcode::mapa &&
                    !(op.opcode == Opcode::ld && op.modifiers.space() == isa::Space::param);
      for (std::size_t k = 1; k < op.arguments.size() && !varied; ++k)
        varied = is_varied(facts.code, op.arg(k), varies);
      for (const ir::RegisterId r : facts.definitions.written(i))
        if (varied && !varies[r]) changed = varies[r] = true;
    }
  }
  return varies;
}

// Operands that say which data: coordinates with their tensor map, hints, whether an accumulator is added to.
bool is_about_data(const ir::Operation& op, const ir::Argument& a) {
  const auto is = [&](std::size_t i) { return i < op.arguments.size() && &a == &op.arguments[i]; };
  switch (op.opcode) {
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk_tensor:
    case Opcode::cp_async_bulk: return is(isa::is_shared(op.modifiers.spaces[0]) ? 1 : 0);
    case Opcode::cp_async: return !is(0) && !is(2);
    case Opcode::cp_async_bulk_prefetch:
    case Opcode::cp_async_bulk_prefetch_tensor: return true;
    case Opcode::tensormap_replace: return !is(0) || !isa::is_shared(op.modifiers.space());
    case Opcode::tensormap_cp_fenceproxy: return is(0);
    case Opcode::fence_proxy: return true;
    default: break;
  }
  if (const auto mma = ir::mma_operands(op))
    return &a == mma->enable_input_d || &a == mma->scale_input_d || &a == &mma->idesc;
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
    case Opcode::exit:
    case Opcode::ret: return true;
    default: return is_shared_access(op);
  }
}

std::vector<bool> handing_on(const Facts& facts) {
  const std::vector<bool> varies = varying(facts);
  std::vector<bool> out(facts.code.operations.size());
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const ir::Operation& op = facts.code.operations[i];
    out[i] = op.opcode == Opcode::st && op.modifiers.vector == isa::Vector::none && is_shared_access(op) &&
             !isa::is_floating(op.modifiers.type()) && !is_varied(facts.code, op.arg(0), varies);
  }
  return out;
}

void add_roots(const ir::Operation& op, bool hands_on, flow::Demands::Wanted& out) {
  if (!is_protocol(op)) return;
  if (op.guard) out.registers.push_back(*op.guard);
  // Addresses count, and what else says how much and on whom; data does not, unless it may be a word of the protocol.
  const bool moves_data = is_shared_access(op) || op.opcode == Opcode::tcgen05_ld ||
                          op.opcode == Opcode::tcgen05_ld_red || op.opcode == Opcode::tcgen05_st;
  const bool has_result = isa::writes(op.opcode) != isa::Writes::none;
  const auto mma = ir::mma_operands(op);
  for (const ir::Argument& a : op.arguments) {
    const bool first = &a == &op.arguments[0], second = op.arguments.size() > 1 && &a == &op.arguments[1];
    const bool is_address = a.kind == ir::Argument::Kind::address;
    if (is_about_data(op, a)) continue;
    if (op.modifiers.parity && isa::unit(op.opcode) == Unit::mbarrier && &a == &op.arg(2)) {
      out.parities.push_back(&a);
      continue;
    }
    // Nobody writes scales but the queue that reads them: which of a few columns are read does not matter.
    if (mma && (&a == mma->sfa || &a == mma->sfb)) {
      out.rough.push_back(&a);
      continue;
    }
    if (is_address || (!moves_data && !(first && has_result)) || (second && hands_on)) out.arguments.push_back(&a);
  }
}

}  // namespace kiln::verifier::protocol
