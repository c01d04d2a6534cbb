#include "ptx/flow/evaluate.hpp"

#include <algorithm>

namespace kiln::flow {
namespace {

using isa::Compare;
using isa::HalfSelect;
using isa::Opcode;
using isa::ScalarType;
using Kind = ir::Argument::Kind;

int width_of(ScalarType t) { return std::clamp(isa::bits(t), 1, 64); }

// What tells an operation from others that have the same operands.
std::string text_of(const ir::Operation& op, std::size_t result) {
  std::string text(isa::spelling(op.opcode));
  for (const std::string& m : op.instruction->modifiers) text += '.' + m;
  return text + '/' + std::to_string(result);
}

}  // namespace

// Operands as the known bits of their words.
class Evaluator::View final : public OperandBits {
 public:
  View(Terms& terms, OperandTerms& operands) : terms_(terms), operands_(operands) {}
  Bits of(const ir::Argument& a, int width) const override {
    if (a.kind == Kind::real || a.kind == Kind::raw) return Bits::unknown(width);
    return truncate(terms_.bits(operands_.term(a, width)), width);
  }

 private:
  Terms& terms_;
  OperandTerms& operands_;
};

Evaluator::Evaluator(const ir::Code& code, const Definitions& definitions, Terms& terms)
    : code_(code), definitions_(definitions), terms_(terms) {}

std::uint64_t Evaluator::name(const std::string& text) { return names_.emplace(text, names_.size() + 1).first->second; }

// Two kinds of comparison, equal and less, and their opposites.
TermId Evaluator::comparison(Compare how, ScalarType type, TermId a, TermId b) {
  const bool is_signed = isa::is_signed(type);
  const auto less = [&](TermId x, TermId y) {
    const TermId operands[] = {x, y};
    if (x == y) return terms_.constant(0, 1);
    if (const auto u = terms_.value(x), v = terms_.value(y); u && v) {
      const int unused = 64 - width_of(type);
      const auto su = std::int64_t(*u << unused), sv = std::int64_t(*v << unused);
      return terms_.constant(is_signed ? su < sv : *u < *v, 1);
    }
    const Bits p = terms_.bits(x), q = terms_.bits(y);
    if (!is_signed && p.largest() < q.smallest()) return terms_.constant(1, 1);
    if (!is_signed && p.smallest() >= q.largest()) return terms_.constant(0, 1);
    return terms_.atom(name(is_signed ? "less" : "below"), operands, 1);
  };
  const auto equal = [&] {
    if (const auto d = terms_.difference(a, b)) return terms_.constant(*d == 0, 1);
    const Bits p = terms_.bits(a), q = terms_.bits(b);
    if ((p.one & q.zero) | (p.zero & q.one)) return terms_.constant(0, 1);
    const TermId operands[] = {std::min(a, b), std::max(a, b)};
    return terms_.atom(name("equal"), operands, 1);
  };
  switch (how) {
    case Compare::eq: return equal();
    case Compare::ne: return inverted(equal());
    case Compare::lt: return less(a, b);
    case Compare::ge:
    case Compare::hs: return inverted(less(a, b));
    case Compare::gt: return less(b, a);
    case Compare::le:
    case Compare::ls: return inverted(less(b, a));
    default: break;
  }
  const TermId operands[] = {a, b};
  return terms_.atom(name("compare" + std::to_string(int(how))), operands, 1);
}

TermId Evaluator::both(TermId a, TermId b) {
  const auto x = terms_.value(a), y = terms_.value(b);
  if (a == b || (y && *y)) return a;
  if (x && *x) return b;
  if ((x && !*x) || (y && !*y) || inverted(a) == b) return terms_.constant(0, 1);
  const TermId operands[] = {std::min(a, b), std::max(a, b)};
  return terms_.atom(name("both"), operands, 1);
}

// setp.cmp, alone or with a second predicate: and, or, xor.
TermId Evaluator::compared(const ir::Operation& op, OperandTerms& in) {
  const ScalarType type = op.modifiers.type();
  const int width = width_of(type);
  Compare how = op.modifiers.compare;
  if (op.modifiers.half == HalfSelect::lo) how = Compare::lt;
  if (op.modifiers.half == HalfSelect::hi) how = Compare::gt;
  const TermId holds = comparison(how, type, in.term(op.arg(1), width), in.term(op.arg(2), width));
  if (op.arguments.size() < 4) return holds;
  const TermId other = in.term(op.arg(3), 1);
  switch (op.modifiers.combine) {
    case isa::Combine::and_: return both(holds, other);
    case isa::Combine::or_: return inverted(both(inverted(holds), inverted(other)));
    default: return terms_.add(holds, other);
  }
}

// Logic of predicates.
std::optional<TermId> Evaluator::logic(const ir::Operation& op, OperandTerms& in) {
  if (op.modifiers.type() != ScalarType::pred) return std::nullopt;
  const TermId a = in.term(op.arg(1), 1);
  switch (op.opcode) {
    case Opcode::mov: return a;
    case Opcode::not_: return inverted(a);
    case Opcode::and_: return both(a, in.term(op.arg(2), 1));
    case Opcode::or_: return inverted(both(inverted(a), inverted(in.term(op.arg(2), 1))));
    case Opcode::xor_: return terms_.add(a, in.term(op.arg(2), 1));
    default: return std::nullopt;
  }
}

std::optional<TermId> Evaluator::selected(const ir::Operation& op, OperandTerms& in) {
  if (op.opcode != Opcode::selp) return std::nullopt;
  const int width = width_of(op.modifiers.type());
  const TermId p = in.term(op.arg(3), 1), a = in.term(op.arg(1), width), b = in.term(op.arg(2), width);
  if (const auto v = terms_.value(p)) return *v ? a : b;
  if (a == b) return a;
  const TermId operands[] = {p, a, b};
  return terms_.atom(name("select"), operands, width, join(terms_.bits(a), terms_.bits(b)));
}

TermId Evaluator::product(TermId a, TermId b) {
  if (const auto v = terms_.value(b)) return terms_.scale(a, *v);
  if (const auto v = terms_.value(a)) return terms_.scale(b, *v);
  const TermId operands[] = {std::min(a, b), std::max(a, b)};
  return terms_.atom(name("product"), operands, terms_.width(a), multiply(terms_.bits(a), terms_.bits(b)));
}

std::optional<TermId> Evaluator::linear(const ir::Operation& op, OperandTerms& in) {
  const isa::Modifiers& m = op.modifiers;
  if (isa::is_floating(m.type()) || m.sat || m.half == HalfSelect::hi || m.half == HalfSelect::wide)
    return std::nullopt;
  const int width = width_of(m.type());
  const auto operand = [&](std::size_t i) { return in.term(op.arg(i), width); };
  switch (op.opcode) {
    case Opcode::add: return terms_.add(operand(1), operand(2));
    case Opcode::sub: return terms_.subtract(operand(1), operand(2));
    case Opcode::neg: return terms_.scale(operand(1), ~std::uint64_t{0});
    case Opcode::mul: return product(operand(1), operand(2));
    case Opcode::mad: return terms_.add(product(operand(1), operand(2)), operand(3));
    case Opcode::shl:
      if (const auto n = terms_.value(in.term(op.arg(2), 32)); n && *n < 64)
        return terms_.scale(operand(1), std::uint64_t{1} << *n);
      return std::nullopt;
    default: return std::nullopt;
  }
}

// Moves and conversions that keep the word.
std::optional<TermId> Evaluator::moved(const ir::Operation& op, OperandTerms& in) {
  const isa::Modifiers& m = op.modifiers;
  if (op.opcode == Opcode::mov && op.arg(0).kind != Kind::vector && op.arg(1).kind != Kind::vector &&
      op.arg(1).kind != Kind::real)
    return in.term(op.arg(1), width_of(m.type()));
  if (op.opcode != Opcode::cvt || m.types.count != 2 || isa::is_floating(m.types[0]) || isa::is_floating(m.types[1]))
    return std::nullopt;
  const int to = width_of(m.types[0]), from = width_of(m.types[1]);
  if (m.sat || to > from) return std::nullopt;
  return terms_.truncate(in.term(op.arg(1), from), to);
}

// The operands stand in an atom's list in their order, aggregates taken apart.
std::vector<TermId> Evaluator::opaque(std::uint32_t operation, OperandTerms& in, const std::vector<Bits>& known) {
  const ir::Operation& op = code_.operations[operation];
  const auto written = definitions_.written(operation);
  std::vector<TermId> operands;
  const std::size_t first = isa::writes(op.opcode) == isa::Writes::two ? 2 : 1;
  for (std::size_t i = first; i < op.arguments.size(); ++i) {
    const ir::Argument& a = op.arg(i);
    if (a.kind == Kind::vector)
      for (const ir::Argument& part : code_.components(a)) operands.push_back(in.term(part, 64));
    else
      operands.push_back(in.term(a, 64));
  }
  std::vector<TermId> out;
  for (std::size_t k = 0; k < written.size(); ++k) {
    const int width = std::min(isa::bits(code_.registers[written[k]].type), 64);
    const Bits bits = k < known.size() ? truncate(known[k], width) : Bits::unknown(width);
    if (const auto v = bits.value())
      out.push_back(terms_.constant(*v, width));
    else
      out.push_back(terms_.atom(name(text_of(op, k)), operands, width, bits));
  }
  return out;
}

std::vector<TermId> Evaluator::results(std::uint32_t operation, OperandTerms& in) {
  const ir::Operation& op = code_.operations[operation];
  if (op.opcode == Opcode::setp && op.arg(0).kind == Kind::reg && !isa::is_floating(op.modifiers.type()))
    return {compared(op, in)};
  for (const auto rule : {&Evaluator::logic, &Evaluator::selected, &Evaluator::linear, &Evaluator::moved})
    if (const auto value = (this->*rule)(op, in)) {
      const auto written = definitions_.written(operation);
      const int width = written.empty() ? 64 : std::min(isa::bits(code_.registers[written[0]].type), 64);
      // A narrower result fills its register up with zeros.
      const auto known = terms_.value(*value);
      if (known) return {terms_.constant(*known, width)};
      if (terms_.width(*value) == width) return {*value};
      return opaque(operation, in, {terms_.bits(*value)});
    }
  const View view(terms_, in);
  return opaque(operation, in, transfer(code_, op, view));
}

}  // namespace kiln::flow
