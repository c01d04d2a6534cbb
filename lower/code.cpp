#include "lower/code.hpp"

namespace kiln::lower {

ir::Operand without_offset(const ir::Operand& o) {
  ir::Operand out = o;
  if (o.is_name()) out.value = 0;
  return out;
}

void move_word(Builder& b, Register to, const ir::Operand& operand) {
  const ir::Operand& o = operand.kind == ir::Operand::Kind::address ? operand.items.at(0) : operand;
  b.op("mov.b32", to, without_offset(o));
  if (o.is_name() && o.value != 0) b.op("add.s32", to, to, o.value);
}

Register word_of(Builder& b, const ir::Operand& o) {
  const Register out = b.reg(ScalarType::b32);
  move_word(b, out, o);
  return out;
}

void move_low_half(Builder& b, Register to, const ir::Operand& o) {
  const Register whole = b.b64("mov.b64", without_offset(o));
  b.op("cvt.u32.u64", to, whole);
}

Register to_shared(Builder& b, const ir::Operand& address, std::string_view space) {
  const ir::Operand& base = address.items.at(0);
  const Register out = b.b64("mov.b64", without_offset(base));
  if (base.value != 0) b.op("add.s64", out, out, base.value);
  b.op(dotted({"cvta.to", space, "u64"}), out, out);
  return b.b32("cvt.u32.u64", out);
}

}  // namespace kiln::lower
