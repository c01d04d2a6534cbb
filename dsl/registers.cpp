#include "dsl/registers.hpp"

#include <string>

#include "ptx/diag/error.hpp"

namespace kiln::dsl {

using ir::Operand;

F32 as_f32(Recorder& r, const Operand& reg) {
  return {r, r.pure(ScalarType::f32, "mov.b32", {reg}, Here::nowhere())};
}

namespace {

// Two narrow floats of one conversion: their type in PTX, and the register that takes them.
struct NarrowPair {
  std::string spelling;
  ScalarType reg;
};
NarrowPair narrow_pair(ScalarType element) {
  const bool in_byte = element == ScalarType::e2m1, in_word = isa::bits(element) == 16;
  return {std::string(isa::spelling(element)) + "x2",
          in_byte ? ScalarType::b8 : in_word ? ScalarType::b32 : ScalarType::b16};
}

// The equal parts of a register.
std::vector<Operand> parts_of(Recorder& r, const Operand& reg, ScalarType part, Here at) {
  std::vector<Operand> parts;
  for (int i = 0; i < 32 / isa::bits(part); ++i) parts.push_back(r.fresh(part));
  r.emit("mov.b32", {Operand::vector(parts), reg}, at);
  return parts;
}

}  // namespace

std::vector<Operand> convert_pairs(Recorder& r, ScalarType to, isa::Rounding rounding,
                                   const std::vector<Operand>& from, Here at) {
  const auto [type, reg] = narrow_pair(to);
  const std::string name = "cvt." + std::string(isa::spelling(rounding)) +
                           (reg == ScalarType::b32 ? "." : ".satfinite.") + type + ".f32";
  std::vector<Operand> pairs, out;
  for (std::size_t i = 0; i + 1 < from.size(); i += 2)
    pairs.push_back(r.pure(reg, name, {from[i + 1], from[i]}, at));
  if (reg == ScalarType::b32) return pairs;
  const auto count = 32 / isa::bits(reg);
  for (auto i = pairs.begin(); pairs.end() - i >= count; i += count)
    out.push_back(r.pure(ScalarType::b32, "mov.b32", {Operand::vector({i, i + count})}, at));
  return out;
}

// A bf16 is the upper half of an f32, an f16 is converted; narrower ones are pairs of those first.
std::vector<Operand> widen_pairs(Recorder& r, ScalarType of, const std::vector<Operand>& from, Here at) {
  std::vector<Operand> out;
  for (const Operand& reg : from) {
    if (of == ScalarType::bf16) {
      out.push_back(r.pure(ScalarType::b32, "shl.b32", {reg, Operand::number(16)}, at));
      out.push_back(r.pure(ScalarType::b32, "and.b32", {reg, Operand::bits(0xFFFF0000u)}, at));
    } else if (of == ScalarType::f16) {
      for (const Operand& half : parts_of(r, reg, ScalarType::b16, at))
        out.push_back(r.pure(ScalarType::f32, "cvt.f32.f16", {half}, at));
    } else {
      const auto [type, part] = narrow_pair(of);
      const ScalarType between = of == ScalarType::ue8m0 ? ScalarType::bf16 : ScalarType::f16;
      const std::string name = "cvt.rn." + std::string(isa::spelling(between)) + "x2." + type;
      std::vector<Operand> pairs;
      for (const Operand& two : parts_of(r, reg, part, at))
        pairs.push_back(r.pure(ScalarType::b32, name, {two}, at));
      for (const Operand& one : widen_pairs(r, between, pairs, at)) out.push_back(one);
    }
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
  if (from.element() != element_type<f32> || !converts(to, from.count()))
    throw diag::InternalError("f32 become narrower floats or stay what they are");
  return {from.recorder(), to,
          convert_pairs(from.recorder(), to.scalar, usual_rounding(to.scalar), from.operands(at), at), LdState::ready};
}

AnyRegisters widened(const AnyRegisters& from, Here at) {
  if (!converts(from.element(), from.count())) throw diag::InternalError("narrower floats are widened");
  return {from.recorder(), element_type<f32>,
          widen_pairs(from.recorder(), from.element().scalar, from.operands(at), at), LdState::ready};
}

}  // namespace kiln::dsl
