#include "dsl/registers.hpp"

#include <string>

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

}  // namespace kiln::dsl
