#include "ptx/flow/loaded.hpp"

#include "ptx/ops/operations.hpp"

#include <algorithm>

namespace kiln::flow {
namespace {

using ir::Argument;
using ir::Special;
using isa::Opcode;

// What is not followed decides for the whole, then what hangs on data.
Lanes join(Lanes a, Lanes b) { return std::max(a, b); }

// Operations whose result differs when an operand does; others may map different operands to one result.
bool keeps_difference(Opcode op) {
  switch (op) {
    case Opcode::mov:
    case Opcode::cvt:
    case Opcode::cvta:
    case Opcode::add:
    case Opcode::mul:
    case Opcode::mad:
    case Opcode::shl:
    case Opcode::or_:
    case Opcode::xor_:
    case Opcode::setp: return true;
    default: return false;
  }
}

bool may_differ_in_warp(Special s) {
  switch (s) {
    case Special::tid_x:
    case Special::tid_y:
    case Special::tid_z:
    case Special::laneid: return true;
    default: return tells_time(s) || (s >= Special::lanemask_eq && s <= Special::lanemask_gt);
  }
}

}  // namespace

Loaded::Loaded(const ir::Code& code, const Definitions& definitions, const Uniformity& uniformity)
    : code_(code), definitions_(definitions), uniformity_(uniformity) {}

// Every register that a register is made of, itself included.
std::vector<ir::RegisterId> Loaded::slice(ir::RegisterId r) const {
  std::vector<ir::RegisterId> out{r};
  std::vector<bool> seen(code_.registers.size());
  seen[r] = true;
  for (std::size_t k = 0; k < out.size(); ++k)
    for (const std::uint32_t w : definitions_.writers(out[k]))
      for (const ir::RegisterId from : definitions_.read(w))
        if (!seen[from] && !known_.contains(from)) seen[from] = true, out.push_back(from);
  return out;
}

Lanes Loaded::lanes(ir::RegisterId r) {
  if (const auto found = known_.find(r); found != known_.end()) return found->second;
  std::vector<ir::RegisterId> registers = slice(r);
  std::reverse(registers.begin(), registers.end());  // mostly, operands before results
  for (const ir::RegisterId each : registers)
    known_[each] = definitions_.writers(each).empty() ? Lanes::unclear : Lanes::same;
  for (bool changed = true; changed;) {
    changed = false;
    for (const ir::RegisterId each : registers) {
      Lanes now = known_[each];
      for (const std::uint32_t w : definitions_.writers(each)) now = join(now, written_by(code_.operations[w]));
      changed |= now != known_[each];
      known_[each] = now;
    }
  }
  return known_[r];
}

Lanes Loaded::of(const Argument& a) const {
  switch (a.kind) {
    case Argument::Kind::immediate:
    case Argument::Kind::real:
    case Argument::Kind::symbol: return Lanes::same;
    case Argument::Kind::reg:
    case Argument::Kind::special:
      if (const auto varies = uniformity_.varies_in_warp(a)) return *varies ? Lanes::differs : Lanes::same;
      if (a.kind == Argument::Kind::reg) return known_.at(a.id);
      return may_differ_in_warp(Special(a.id)) ? Lanes::unclear : Lanes::same;
    case Argument::Kind::vector:
    case Argument::Kind::address: return of_all(code_.components(a));
    default: return Lanes::unclear;
  }
}

Lanes Loaded::of_all(std::span<const Argument> arguments) const {
  Lanes out = Lanes::same;
  for (const Argument& a : arguments) out = join(out, of(a));
  return out;
}

Lanes Loaded::written_by(const ir::Operation& op) const {
  Lanes out = Lanes::unclear;
  if (op.opcode == Opcode::ld && op.modifiers.space() != isa::Space::local) {
    out = of(ops::roles<ops::MemoryAccess>(op).address);
    if (out == Lanes::differs) out = Lanes::own;
  } else if (isa::unit(op.opcode) == isa::Unit::alu) {
    out = computed(op);
  }
  // Lanes that a guard leaves out keep their old value, which says no more than the rest when the guard is unknown.
  return op.guard && known_.at(*op.guard) == Lanes::own ? join(out, Lanes::own) : out;
}

Lanes Loaded::computed(const ir::Operation& op) const {
  const Lanes out = of_all(std::span(op.arguments).subspan(1));
  return out == Lanes::differs && !keeps_difference(op.opcode) ? Lanes::unclear : out;
}

}  // namespace kiln::flow
