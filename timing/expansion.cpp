#include "timing/expansion.hpp"

#include "ptx/isa/opcodes.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::timing {
namespace {

using isa::Opcode;

constexpr Expansion one_special{.instructions = 1, .special = 1, .in_special = 1, .steps = 0};

bool is_long_integer(const isa::Modifiers& m) { return isa::bits(m.type()) == 64 && isa::is_integer(m.type()); }

// A reciprocal in floating point, corrected twice.
Expansion integer_division(const isa::Modifiers& m) {
  if (is_long_integer(m)) return {.instructions = 65, .special = 3, .in_special = 3, .steps = 48, .guards = 3};
  if (isa::is_signed(m.type())) return {.instructions = 22, .special = 3, .in_special = 3, .steps = 9, .guards = 3};
  return {.instructions = 17, .special = 3, .in_special = 3, .steps = 7, .guards = 2};
}

Expansion division(const isa::Modifiers& m) {
  if (!isa::is_floating(m.type())) return integer_division(m);
  if (m.approx && m.ftz) return {.instructions = 2, .special = 1, .in_special = 1, .steps = 1};
  if (m.approx || (m.full && m.ftz))
    return {.instructions = 5, .special = 1, .in_special = 1, .steps = 2, .guards = 1};
  if (m.full) return {.instructions = 8, .special = 1, .in_special = 1, .steps = 3, .guards = 1};
  return {.instructions = 9, .special = 2, .in_special = 1, .steps = 5, .guards = 1};
}

// Without .ftz a denormal operand is scaled before, and the result after.
Expansion approximate(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  const bool scales = m.type() == isa::ScalarType::f32 && !m.ftz;
  if (!scales) return one_special;
  if (op.opcode == Opcode::rcp) return {.instructions = 7, .special = 1, .in_special = 1, .steps = 4};
  return {.instructions = 4, .special = 1, .in_special = 1, .steps = 2, .guards = 1};
}

// To an integer; integers become numbers by arithmetic.
Expansion conversion(const isa::Modifiers& m) {
  return isa::is_integer(m.type()) && isa::is_floating(m.types[1]) ? one_special : Expansion{};
}

}  // namespace

Expansion expansion_of(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  switch (op.opcode) {
    case Opcode::div: return division(m);
    case Opcode::rem: return integer_division(m);
    case Opcode::ex2:
    case Opcode::lg2:
    case Opcode::rsqrt: return approximate(op);
    case Opcode::rcp:
      if (m.approx) return approximate(op);
      return {.instructions = 8, .special = 1, .in_special = 1, .steps = 5, .guards = 1};
    case Opcode::sqrt:
      if (m.approx) return approximate(op);
      return {.instructions = 8, .special = 1, .in_special = 1, .steps = 4};
    case Opcode::sin:
    case Opcode::cos: return {.instructions = 2, .special = 1, .in_special = 1, .steps = 1};
    case Opcode::tanh: return one_special;
    case Opcode::cvt: return conversion(m);
    case Opcode::mul:
    case Opcode::mad: return is_long_integer(m) ? Expansion{.instructions = 4, .steps = 3} : Expansion{};
    default: return {};
  }
}

}  // namespace kiln::timing
