#include "dsl/registers.hpp"

#include <string>

#include "ptx/diag/error.hpp"

namespace kiln::dsl {

using ir::Operand;

F32 as_f32(Recorder& r, const Operand& reg) {
  return {r, r.pure(ScalarType::f32, "mov.b32", {reg}, Here::nowhere())};
}

std::vector<Operand> convert_pairs(Recorder& r, ScalarType to, const std::vector<Operand>& from, Here at) {
  const std::string name = "cvt.rn." + std::string(isa::spelling(to)) + "x2.f32";
  std::vector<Operand> out;
  for (std::size_t i = 0; i + 1 < from.size(); i += 2)
    out.push_back(r.pure(ScalarType::b32, name, {from[i + 1], from[i]}, at));
  return out;
}

// A bf16 is the upper half of an f32.
std::vector<Operand> widen_pairs(Recorder& r, const std::vector<Operand>& from, Here at) {
  std::vector<Operand> out;
  for (const Operand& pair : from) {
    out.push_back(r.pure(ScalarType::b32, "shl.b32", {pair, Operand::number(16)}, at));
    out.push_back(r.pure(ScalarType::b32, "and.b32", {pair, Operand::bits(0xFFFF0000u)}, at));
  }
  return out;
}

const std::vector<Operand>& AnyRegisters::operands(Here at) const {
  rec_->require(rules::step(state_, LdEvent::read).verdict, at);
  rec_->check_use(rec_, scope_, at);
  return regs_;
}

F32 AnyRegisters::f32(int i, Here at) const { return as_f32(*rec_, operands(at)[std::size_t(i)]); }

AnyRegisters AnyRegisters::after(LdEvent event, Here at) const {
  const rules::LdStep step = rules::step(state_, event);
  rec_->require(step.verdict, at);
  rec_->check_use(rec_, scope_, at);
  return {*rec_, element_, regs_, step.next};
}

AnyRegisters converted(const AnyRegisters& from, ElementType to, Here at) {
  if (from.element() == to) return from;
  if (from.element() != element_type<f32> || to.bits != 16)
    throw diag::InternalError("sums become 16-bit floats or stay what they are");
  return {from.recorder(), to, convert_pairs(from.recorder(), to.scalar, from.operands(at), at), LdState::ready};
}

AnyRegisters widened(const AnyRegisters& from, Here at) {
  if (from.element() != element_type<bf16>) throw diag::InternalError("bf16 values are widened");
  return {from.recorder(), element_type<f32>, widen_pairs(from.recorder(), from.operands(at), at), LdState::ready};
}

}  // namespace kiln::dsl
