#include "verifier/explore/roots.hpp"

#include "ptx/ops/operations.hpp"

namespace kiln::verifier::explore {
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

// Registers whose words may differ from thread to thread.
std::vector<bool> varying(const Facts& facts) {
  std::vector<bool> varies(facts.code.registers.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
      const ir::Operation& op = facts.code.operations[i];
      bool varied = isa::unit(op.opcode) != isa::Unit::alu && op.opcode != Opcode::mapa &&
                    !(op.opcode == Opcode::ld && op.modifiers.space() == isa::Space::param);
      if (!op.arguments.empty())
        for (const ir::Argument& a : std::span(op.arguments).subspan(1))
          varied = varied || is_varied(facts.code, a, varies);
      for (const ir::RegisterId r : facts.definitions.written(i))
        if (varied && !varies[r]) changed = varies[r] = true;
    }
  }
  return varies;
}

// Operands that say which data: coordinates with their tensor map, hints, whether an accumulator is added to.
bool is_about_data(const ir::Operation& op, const ir::Argument& a) {
  const auto is = [&](const ops::Operand& role) { return role.pointer() == &a; };
  switch (op.opcode) {
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk_tensor: return is(ops::roles<ops::TensorCopy>(op).tensor);
    case Opcode::cp_async_bulk: {
      const auto copy = ops::roles<ops::BulkCopy>(op);
      return is(isa::is_shared(op.modifiers.space()) ? copy.from : copy.to);
    }
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
    case Opcode::exit:
    case Opcode::ret: return true;
    default: return is_shared_access(op);
  }
}

std::vector<bool> stores_of_words(const Facts& facts) {
  const std::vector<bool> varies = varying(facts);
  std::vector<bool> out(facts.code.operations.size());
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    const ir::Operation& op = facts.code.operations[i];
    out[i] = op.opcode == Opcode::st && op.modifiers.vector == isa::Vector::none && is_shared_access(op) &&
             !isa::is_floating(op.modifiers.type()) &&
             !is_varied(facts.code, ops::roles<ops::MemoryAccess>(op).address, varies);
  }
  return out;
}

void add_roots(const ir::Operation& op, bool stores_word, flow::Demands::Wanted& out) {
  if (!is_protocol(op)) return;
  if (op.guard) out.registers.push_back(*op.guard);
  // Addresses matter, and operands that say how much and for which CTAs. Data does not, unless it may be a word of the
  // protocol.
  const bool moves_data = is_shared_access(op) || op.opcode == Opcode::tcgen05_ld ||
                          op.opcode == Opcode::tcgen05_ld_red || op.opcode == Opcode::tcgen05_st;
  const ir::Argument* result = isa::writes(op.opcode) != isa::Writes::none ? op.arguments.data() : nullptr;
  const ir::Argument* parity = ops::roles<ops::Mbarrier>(op).parity.pointer();
  const ir::Argument* stored = ops::roles<ops::MemoryAccess>(op).value.pointer();
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
    if (is_address || (!moves_data && &a != result) || (stores_word && &a == stored)) out.arguments.push_back(&a);
  }
}

}  // namespace kiln::verifier::explore
