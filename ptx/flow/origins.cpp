#include "ptx/flow/origins.hpp"

#include "ptx/ops/operations.hpp"

#include <algorithm>
#include <deque>

namespace kiln::flow {
namespace {

using isa::Opcode;
using Base = Origin::Base;
using Kind = ir::Argument::Kind;

constexpr Origin unknown{};
constexpr Origin nothing{Base::nothing, 0, Bits::nothing()};

Origin number(std::int64_t v) { return {Base::number, 0, Bits::constant(std::uint64_t(v))}; }

bool has_base(const Origin& o) { return o.is(Base::symbol) || o.is(Base::slot); }

Origin join(const Origin& a, const Origin& b) {
  if (a.is(Base::nothing) || a == b) return b;
  if (b.is(Base::nothing)) return a;
  if (a.base != b.base || a.id != b.id || !has_base(a)) return unknown;
  return {a.base, a.id, join(a.added, b.added)};
}

Origin plus(Origin base, Bits number) {
  base.added = add(base.added, number);
  return base;
}

Origin anywhere(Origin base) {
  base.added = Bits::unknown();
  return base;
}

// 32-bit arithmetic wraps: a number above 2^31 added to an address is a negative one.
Bits as_offset(Bits v, int width) { return v.is_nothing() ? v : sign_extend(v, width); }

int width_of(const ir::Operation& op) { return isa::bits(op.modifiers.type()) == 64 ? 64 : 32; }

}  // namespace

Origins::Origins(const ir::Code& code, const Definitions& definitions, const KnownBits& known)
    : code_(code), known_(known), origins_(code.registers.size(), nothing) {
  for (ir::RegisterId r = 0; r < origins_.size(); ++r)
    if (definitions.writers(r).empty()) origins_[r] = unknown;
  const auto n = std::uint32_t(code.operations.size());
  std::deque<std::uint32_t> work;
  for (std::uint32_t i = 0; i < n; ++i)
    if (!definitions.written(i).empty()) work.push_back(i);
  while (!work.empty()) {
    const std::uint32_t i = work.front();
    work.pop_front();
    const auto written = definitions.written(i);
    for (std::size_t k = 0; k < written.size(); ++k) {
      const Origin value = transfer(code.operations[i], k, written.size());
      const Origin joined = join(origins_[written[k]], value);
      if (joined == origins_[written[k]]) continue;
      origins_[written[k]] = joined;
      for (std::uint32_t reader : definitions.readers(written[k]))
        if (!definitions.written(reader).empty()) work.push_back(reader);
    }
  }
}

Origin Origins::of(const ir::Argument& a) const {
  switch (a.kind) {
    case Kind::reg: {
      if (const auto constant = known_.of(a, 64).value()) return number(std::int64_t(*constant));
      const Origin& o = origins_[a.id];
      return a.value && has_base(o) ? plus(o, Bits::constant(std::uint64_t(a.value))) : o;
    }
    case Kind::immediate: return number(a.value);
    case Kind::symbol: return {Base::symbol, a.id, Bits::constant(std::uint64_t(a.value))};
    case Kind::address: return a.count > 0 ? of(code_.components(a)[0]) : unknown;
    default: return unknown;
  }
}

std::uint32_t Origins::slot(Slot s) {
  const auto found = std::find(slots.begin(), slots.end(), s);
  if (found != slots.end()) return std::uint32_t(found - slots.begin());
  slots.push_back(s);
  return std::uint32_t(slots.size() - 1);
}

// add and sub of a base and a number.
Origin Origins::sum(const ir::Operation& op) const {
  const bool minus = op.opcode == Opcode::sub;
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  const Origin x = of(alu.a), y = of(alu.b);
  if (x.is(Base::nothing) || y.is(Base::nothing)) return nothing;
  if (has_base(x) == has_base(y) || (minus && has_base(y))) return unknown;  // plain numbers are followed by KnownBits
  const int width = width_of(op);
  const Bits added = as_offset(known_.of(has_base(x) ? alu.b : alu.a, width), width);
  return added.is_nothing() ? nothing : plus(has_base(x) ? x : y, minus ? add(~added, Bits::constant(1)) : added);
}

// mad with a base as addend.
Origin Origins::product_sum(const ir::Operation& op) const {
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  const Origin base = of(alu.c);
  if (!has_base(base)) return base.is(Base::nothing) ? nothing : unknown;
  const int width = width_of(op);
  const Bits a = known_.of(alu.a, width), b = known_.of(alu.b, width);
  if (a.is_nothing() || b.is_nothing()) return nothing;
  if (op.modifiers.half == isa::HalfSelect::hi) return anywhere(base);
  if (op.modifiers.half != isa::HalfSelect::wide) return plus(base, as_offset(truncate(multiply(a, b), width), width));
  const bool is_signed = isa::is_signed(op.modifiers.type());
  return plus(base, is_signed ? multiply(sign_extend(a, width), sign_extend(b, width)) : multiply(a, b));
}

// and, or, lop3 with one based operand round an address, replace bits of it, or name another CTA's copy.
Origin Origins::masked(const ir::Operation& op) const {
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  const bool by_table = op.opcode == Opcode::lop3;
  Origin base = unknown;
  ops::Operand address, rest;
  for (const ops::Operand& x : {alu.a, alu.b, by_table ? alu.c : ops::Operand()}) {
    if (!x) continue;
    const Origin o = of(x);
    if (o.is(Base::nothing)) return nothing;
    if (!has_base(o)) {
      rest = x;
      continue;
    }
    if (has_base(base)) return unknown;
    base = o;
    address = x;
  }
  if (!has_base(base)) return unknown;
  if (by_table) return anywhere(base);
  const Bits whole = known_.of(address, 64), other = known_.of(rest, 32);
  if (whole.is_nothing() || other.is_nothing()) return nothing;
  // Clearing bits that are zero, or that only name a CTA, changes nothing; setting zero bits adds them.
  if (op.opcode == Opcode::and_ && (~other.one & shared_window_mask & ~whole.zero) == 0) return base;
  if (op.opcode == Opcode::or_ && (~other.zero & ~whole.zero) == 0) return plus(base, other);
  return anywhere(base);
}

Origin Origins::loaded(const ir::Operation& op, std::size_t component) {
  const Origin from = of(ops::roles<ops::MemoryAccess>(op).address);
  if (from.is(Base::nothing)) return nothing;
  if (!from.is(Base::symbol) || !from.exact() || !isa::is_shared(code_.symbols[from.id].variable->space))
    return unknown;
  if (isa::bits(op.modifiers.type()) != 32) return unknown;
  return {Base::slot, slot({from.id, from.offset() + 4 * std::int64_t(component)}), Bits::constant(0)};
}

Origin Origins::transfer(const ir::Operation& op, std::size_t result, std::size_t results) {
  if (op.opcode == Opcode::ld) return loaded(op, result);
  if (op.opcode == Opcode::shfl && result == 0) return of(ops::roles<ops::WarpExchange>(op).a);
  if (results != 1) return unknown;
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  switch (op.opcode) {
    case Opcode::mov:
    case Opcode::cvt:
    case Opcode::cvta:
    case Opcode::mapa: return of(alu.a);
    case Opcode::add:
    case Opcode::sub: return sum(op);
    case Opcode::mad: return product_sum(op);
    case Opcode::and_:
    case Opcode::or_:
    case Opcode::lop3: return masked(op);
    case Opcode::selp:
    case Opcode::min:
    case Opcode::max: return join(of(alu.a), of(alu.b));
    default: return unknown;
  }
}

}  // namespace kiln::flow
