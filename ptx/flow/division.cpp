#include "ptx/flow/division.hpp"

#include "ptx/ops/operations.hpp"

namespace kiln::flow {
namespace {

using isa::HalfSelect;
using isa::Opcode;
using Kind = ir::Argument::Kind;

bool is_plain(const ir::Argument& a) { return a.kind == Kind::reg && a.value == 0 && !a.negated; }

const ir::Operation* writer(const Definitions& definitions, const ir::Argument& a) {
  return is_plain(a) ? definitions.only_writer(a.id) : nullptr;
}

bool is_unsigned_word(const ir::Operation& op) {
  return !op.guard && isa::bits(op.modifiers.type()) == 32 && !isa::is_signed(op.modifiers.type());
}

// The number that an operand is, as 32 bits.
std::optional<std::uint64_t> number(const KnownBits& known, const ir::Argument& a) { return known.constant(a, 32); }

// floor(x * reciprocal / 2^(32 + shift)) = floor(x / d) for every word x where the reciprocal is rounded up by at most
// 2^shift (Granlund and Montgomery 1994).
std::optional<std::uint64_t> divisor_of(std::uint64_t reciprocal, std::uint64_t shift) {
  if (reciprocal == 0 || shift > 31) return std::nullopt;
  const std::uint64_t power = std::uint64_t{1} << (32 + shift), d = (power + reciprocal - 1) / reciprocal;
  const std::uint64_t error = reciprocal * d - power;
  return d > 1 && error <= std::uint64_t{1} << shift ? std::optional(d) : std::nullopt;
}

std::optional<Division> upper_half(const KnownBits& known, const ir::Operation& op, std::uint64_t shift) {
  if (op.opcode != Opcode::mul || op.modifiers.half != HalfSelect::hi || !is_unsigned_word(op)) return std::nullopt;
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  for (const auto& [x, factor] : {std::pair(alu.a, alu.b), std::pair(alu.b, alu.a)})
    if (const auto reciprocal = number(known, factor); reciprocal && is_plain(x))
      if (const auto d = divisor_of(*reciprocal & low_mask(32), shift)) return Division{x.pointer(), *d};
  return std::nullopt;
}

bool same(const ir::Argument& a, const ir::Argument& b) { return is_plain(a) && is_plain(b) && a.id == b.id; }

}  // namespace

std::optional<Division> quotient(const ir::Code&, const Definitions& definitions, const KnownBits& known,
                                 const ir::Operation& op) {
  if (!is_unsigned_word(op)) return std::nullopt;
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  if (op.opcode == Opcode::div && is_plain(alu.a)) {
    const auto d = number(known, alu.b);
    return d && *d ? std::optional(Division{alu.a.pointer(), *d}) : std::nullopt;
  }
  if (op.opcode == Opcode::shr) {
    const auto shift = number(known, alu.b);
    if (!shift || *shift > 31) return std::nullopt;
    if (const ir::Operation* high = writer(definitions, alu.a))
      if (const auto d = upper_half(known, *high, *shift)) return d;
    return is_plain(alu.a) ? std::optional(Division{alu.a.pointer(), std::uint64_t{1} << *shift}) : std::nullopt;
  }
  return upper_half(known, op, 0);
}

std::optional<Division> remainder(const ir::Code& code, const Definitions& definitions, const KnownBits& known,
                                  const ir::Operation& op) {
  if (op.guard || isa::bits(op.modifiers.type()) != 32) return std::nullopt;
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  if (op.opcode == Opcode::rem && is_unsigned_word(op) && is_plain(alu.a)) {
    const auto d = number(known, alu.b);
    return d && *d ? std::optional(Division{alu.a.pointer(), *d}) : std::nullopt;
  }
  // x - q * d, or q * -d + x
  const ir::Argument *quotient_word = nullptr, *dividend = nullptr;
  std::uint64_t factor = 0;
  const auto take = [&](const ir::Operation& product, bool negated) {
    const ops::Alu factors = ops::roles<ops::Alu>(product);
    for (const auto& [x, y] : {std::pair(factors.a, factors.b), std::pair(factors.b, factors.a)})
      if (const auto n = number(known, y); n && is_plain(x))
        quotient_word = x.pointer(), factor = (negated ? 0 - *n : *n) & low_mask(32);
  };
  if (op.opcode == Opcode::sub) {
    const ir::Operation* product = writer(definitions, alu.b);
    if (!product || product->opcode != Opcode::mul || product->modifiers.half == HalfSelect::hi ||
        product->modifiers.half == HalfSelect::wide)
      return std::nullopt;
    dividend = alu.a.pointer();
    take(*product, false);
  } else if (op.opcode == Opcode::mad && op.modifiers.half != HalfSelect::hi && op.modifiers.half != HalfSelect::wide) {
    dividend = alu.c.pointer();
    take(op, true);
  }
  const ir::Operation* divides = quotient_word ? writer(definitions, *quotient_word) : nullptr;
  if (!divides) return std::nullopt;
  const auto d = quotient(code, definitions, known, *divides);
  if (!d || d->divisor != factor || !same(*d->dividend, *dividend)) return std::nullopt;
  return d;
}

}  // namespace kiln::flow
