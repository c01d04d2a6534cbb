#include "ptx/flow/evaluate.hpp"

#include <algorithm>
#include <utility>

#include "ptx/flow/floats.hpp"

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
  for (const ir::Argument& a : op.arguments)
    if (a.kind == Kind::vector) text += ".v" + std::to_string(a.count);
  return result ? text + '/' + std::to_string(result) : text;
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
    : code_(code), definitions_(definitions), terms_(terms) {
  using Kind = Maker::Kind;
  for (const auto& [text, kind] : std::initializer_list<std::pair<const char*, Kind>>{{"equal", Kind::equal},
                                                                                      {"below", Kind::below},
                                                                                      {"less", Kind::less},
                                                                                      {"both", Kind::both},
                                                                                      {"select", Kind::select},
                                                                                      {"product", Kind::product},
                                                                                      {"low", Kind::low}})
    name(text, {kind, 0, 0});
}

std::span<const ir::Argument> Evaluator::sources(const ir::Operation& op) {
  const std::size_t results = std::max<std::size_t>(1, isa::results(isa::writes(op.opcode)));
  return std::span(op.arguments).subspan(std::min(results, op.arguments.size()));
}

std::uint64_t Evaluator::name(const std::string& text) { return name(text, Maker{}); }

std::uint64_t Evaluator::name(const std::string& text, Maker maker) {
  const auto [found, is_new] = names_.emplace(text, names_.size() + 1);
  if (is_new) spelled_.push_back(text), makers_.push_back(maker);
  return found->second;
}

// What a number's comparison with a choice between two words is, if it is decided for both: the choice's predicate, or
// its contrary. A predicate is often kept as 0 or 1.
template <class Of>
std::optional<TermId> Evaluator::of_chosen(TermId chosen, Of of) {
  const Terms::Atom* atom = terms_.atom_of(chosen);
  if (!atom || makers_[atom->name - 1].kind != Maker::Kind::select) return std::nullopt;
  const std::vector<TermId> operands = atom->operands;  // making terms moves them
  const TermId holds = of(operands[1]), other = of(operands[2]);
  const auto x = terms_.value(holds), y = terms_.value(other);
  if (!x || !y) return std::nullopt;
  return *x == *y ? holds : *x ? operands[0] : inverted(operands[0]);
}

TermId Evaluator::less(TermId x, TermId y, bool is_signed) {
  const int width = terms_.width(x);
  if (x == y) return terms_.constant(0, 1);
  if (terms_.value(y))
    if (const auto p = of_chosen(x, [&](TermId t) { return less(t, y, is_signed); })) return *p;
  if (terms_.value(x))
    if (const auto p = of_chosen(y, [&](TermId t) { return less(x, t, is_signed); })) return *p;
  if (const auto u = terms_.value(x), v = terms_.value(y); u && v)
    return terms_.constant(is_signed ? as_signed(*u, width) < as_signed(*v, width) : *u < *v, 1);
  const Bits p = terms_.bits(x), q = terms_.bits(y);
  if (!is_signed && p.largest() < q.smallest()) return terms_.constant(1, 1);
  if (!is_signed && p.smallest() >= q.largest()) return terms_.constant(0, 1);
  const TermId operands[] = {x, y};
  return terms_.atom(name(is_signed ? "less" : "below"), operands, 1);
}

TermId Evaluator::equal(TermId a, TermId b) {
  if (const auto d = terms_.difference(a, b)) return terms_.constant(*d == 0, 1);
  const Bits p = terms_.bits(a), q = terms_.bits(b);
  if ((p.one & q.zero) | (p.zero & q.one)) return terms_.constant(0, 1);
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)})
    if (terms_.value(y))
      if (const auto chosen = of_chosen(x, [&, y = y](TermId t) { return equal(t, y); })) return *chosen;
  const TermId operands[] = {std::min(a, b), std::max(a, b)};
  return terms_.atom(name("equal"), operands, 1);
}

// Two kinds of comparison, equal and less, and their opposites.
TermId Evaluator::comparison(Compare how, ScalarType type, TermId a, TermId b) {
  const auto is_less = [&](TermId x, TermId y) { return less(x, y, isa::is_signed(type)); };
  switch (how) {
    case Compare::eq: return equal(a, b);
    case Compare::ne: return inverted(equal(a, b));
    case Compare::lt: return is_less(a, b);
    case Compare::ge:
    case Compare::hs: return inverted(is_less(a, b));
    case Compare::gt: return is_less(b, a);
    case Compare::le:
    case Compare::ls: return inverted(is_less(b, a));
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
TermId Evaluator::compared(const ir::Operation& op, const ops::Alu& alu, OperandTerms& in) {
  const ScalarType type = op.modifiers.type();
  const int width = width_of(type);
  Compare how = op.modifiers.compare;
  if (op.modifiers.half == HalfSelect::lo) how = Compare::lt;
  if (op.modifiers.half == HalfSelect::hi) how = Compare::gt;
  const TermId holds = comparison(how, type, in.term(alu.a, width), in.term(alu.b, width));
  if (!alu.c) return holds;
  const TermId other = in.term(alu.c, 1);
  switch (op.modifiers.combine) {
    case isa::Combine::and_: return both(holds, other);
    case isa::Combine::or_: return inverted(both(inverted(holds), inverted(other)));
    default: return terms_.add(holds, other);
  }
}

// Logic of predicates.
std::optional<TermId> Evaluator::logic(const ir::Operation& op, const ops::Alu& alu, OperandTerms& in) {
  if (op.modifiers.type() != ScalarType::pred) return std::nullopt;
  const TermId a = in.term(alu.a, 1);
  switch (op.opcode) {
    case Opcode::mov: return a;
    case Opcode::not_: return inverted(a);
    case Opcode::and_: return both(a, in.term(alu.b, 1));
    case Opcode::or_: return inverted(both(inverted(a), inverted(in.term(alu.b, 1))));
    case Opcode::xor_: return terms_.add(a, in.term(alu.b, 1));
    default: return std::nullopt;
  }
}

std::optional<TermId> Evaluator::selected(const ir::Operation& op, const ops::Alu& alu, OperandTerms& in) {
  if (op.opcode != Opcode::selp) return std::nullopt;
  const int width = width_of(op.modifiers.type());
  return choice(in.term(alu.c, 1), in.term(alu.a, width), in.term(alu.b, width), width);
}

TermId Evaluator::choice(TermId p, TermId a, TermId b, int width) {
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

std::optional<TermId> Evaluator::linear(const ir::Operation& op, const ops::Alu& alu, OperandTerms& in) {
  const isa::Modifiers& m = op.modifiers;
  if (isa::is_floating(m.type()) || m.sat || m.half == HalfSelect::hi || m.half == HalfSelect::wide)
    return std::nullopt;
  const int width = width_of(m.type());
  const auto operand = [&](const ir::Argument& a) { return in.term(a, width); };
  switch (op.opcode) {
    case Opcode::add: return terms_.add(operand(alu.a), operand(alu.b));
    case Opcode::sub: return terms_.subtract(operand(alu.a), operand(alu.b));
    case Opcode::neg: return terms_.scale(operand(alu.a), ~std::uint64_t{0});
    case Opcode::not_:
      if (isa::bits(m.type()) < 16) return std::nullopt;
      return terms_.subtract(terms_.constant(low_mask(width), width), operand(alu.a));
    case Opcode::mul: return product(operand(alu.a), operand(alu.b));
    case Opcode::mad: return terms_.add(product(operand(alu.a), operand(alu.b)), operand(alu.c));
    case Opcode::shl:
      if (const auto n = terms_.value(in.term(alu.b, 32)); n && *n < 64)
        return terms_.scale(operand(alu.a), std::uint64_t{1} << *n);
      return std::nullopt;
    case Opcode::shr:
      if (terms_.value(in.term(alu.b, 32)) == std::uint64_t{0}) return operand(alu.a);
      return std::nullopt;
    default: return std::nullopt;
  }
}

// How many low bits of every part of a sum are zero.
int Evaluator::common_zeros(const Terms::Sum& sum) {
  std::uint64_t all = sum.number;
  for (const Terms::Part& p : sum.parts) all |= p.factor;
  return std::countr_zero(all);
}

// A sum without that many zeros at its low end, of the same width.
TermId Evaluator::divided(TermId a, int zeros) {
  const Terms::Sum sum = terms_.sum(a);  // making terms moves them
  TermId out = terms_.constant(sum.number >> zeros, sum.width);
  for (const Terms::Part& p : sum.parts) out = terms_.add(out, terms_.scale(p.atom, p.factor >> zeros));
  return out;
}

// The rest modulo a power of two.
TermId Evaluator::low_bits(TermId a, int bits) {
  if (bits >= terms_.width(a)) return a;
  if (const int zeros = common_zeros(terms_.sum(a)); zeros > 0 && !terms_.value(a))
    return zeros >= bits ? terms_.constant(0, terms_.width(a))
                         : terms_.scale(low_bits(divided(a, zeros), bits - zeros), std::uint64_t{1} << zeros);
  const Bits known = truncate(terms_.bits(a), bits);
  if (const auto v = known.value()) return terms_.constant(*v, terms_.width(a));
  if ((terms_.bits(a).zero | low_mask(bits)) == ~std::uint64_t{0}) return a;
  const TermId operands[] = {a, terms_.constant(std::uint64_t(bits))};
  return terms_.atom(name("low"), operands, terms_.width(a), known);
}

std::optional<TermId> Evaluator::remainder(const ir::Operation& op, const ops::Alu& alu, OperandTerms& in) {
  if (op.opcode != Opcode::rem) return std::nullopt;
  const int width = width_of(op.modifiers.type());
  const TermId word = in.term(alu.a, width);
  const auto divisor = terms_.value(in.term(alu.b, width));
  if (!divisor || !std::has_single_bit(*divisor)) return std::nullopt;
  const bool natural = !isa::is_signed(op.modifiers.type()) || (terms_.bits(word).zero >> (width - 1) & 1);
  return natural ? std::optional(low_bits(word, std::countr_zero(*divisor))) : std::nullopt;
}

// The bits of a word that a mask has: low bits, or all but low bits; nothing for other masks. `free` bits may be kept
// or not.
std::optional<TermId> Evaluator::kept(TermId word, std::uint64_t mask, std::uint64_t free) {
  const int width = terms_.width(word), end = std::min(width, std::countr_one(mask | free));
  if (end == width || (mask >> end) == 0) return low_bits(word, end);
  const int first = std::countr_zero(mask);
  if (std::countr_one((mask | free) >> first) < width - first) return std::nullopt;
  return terms_.subtract(word, low_bits(word, first));
}

// and, or, xor, not, lop3 where each bit of the result is known, or a bit of one operand, as it is or inverted.
std::optional<TermId> Evaluator::bitwise(const ir::Operation& op, const ops::Alu& alu, OperandTerms& in) {
  constexpr unsigned table_a = 0xF0, table_b = 0xCC;
  if (op.modifiers.type() == ScalarType::pred || alu.d->kind != Kind::reg) return std::nullopt;
  unsigned table = 0;
  switch (op.opcode) {
    case Opcode::and_: table = table_a & table_b; break;
    case Opcode::or_: table = table_a | table_b; break;
    case Opcode::xor_: table = table_a ^ table_b; break;
    case Opcode::lop3: table = unsigned(alu.e->value) & 0xFF; break;
    default: return std::nullopt;
  }
  const int width = width_of(op.modifiers.type());
  const std::uint64_t whole = low_mask(width);
  TermId words[3];
  Bits bits[3];
  const ops::Operand sources[] = {alu.a, alu.b, op.opcode == Opcode::lop3 ? alu.c : ops::Operand()};
  for (std::size_t k = 0; k < 3; ++k) {
    words[k] = sources[k] ? in.term(sources[k], width) : terms_.constant(0, width);
    bits[k] = terms_.bits(words[k]);
  }
  const Bits known = lookup(bits[0], bits[1], bits[2], table);
  std::uint64_t open = ~known.known() & whole;
  TermId out = terms_.constant(known.one & whole, width);
  for (std::size_t k = 0; k < 3 && open; ++k) {
    // With this operand's bits set or not, whatever the others are.
    Bits with[3] = {bits[0], bits[1], bits[2]}, without[3] = {bits[0], bits[1], bits[2]};
    with[k] = Bits::constant(~std::uint64_t{0}), without[k] = Bits::constant(0);
    const Bits on = lookup(with[0], with[1], with[2], table), off = lookup(without[0], without[1], without[2], table);
    const std::uint64_t same = on.one & off.zero & open, inverse = on.zero & off.one & open;
    open &= ~(same | inverse);
    const auto plain = same ? kept(words[k], same, bits[k].zero) : std::optional(terms_.constant(0, width));
    const auto turned = inverse ? kept(words[k], inverse, bits[k].zero) : std::optional(terms_.constant(0, width));
    if (!plain || !turned) return std::nullopt;
    out = terms_.add(out, terms_.add(*plain, terms_.subtract(terms_.constant(inverse, width), *turned)));
  }
  return open ? std::nullopt : std::optional(out);
}

// Generic addresses of global memory are its addresses; those of shared memory and of parameters are those of the
// window and where it begins, which is unknown.
std::optional<TermId> Evaluator::viewed(const ir::Operation& op, const ops::Alu& alu, OperandTerms& in) {
  if (op.opcode == Opcode::cvta && op.modifiers.space() == isa::Space::global && alu.a->kind != Kind::real)
    return in.term(alu.a, 64);
  const bool of_parameter = isa::is_parameter(op.modifiers.space());
  if (op.opcode != Opcode::cvta || !(isa::is_shared(op.modifiers.space()) || of_parameter) || alu.a->kind == Kind::real)
    return std::nullopt;
  const TermId address = in.term(alu.a, 64), window = of_parameter ? parameter_window() : shared_window();
  return op.modifiers.to ? terms_.subtract(address, window) : terms_.add(address, window);
}

TermId Evaluator::parameter_window() { return terms_.atom(name("parameter window"), {}, 64, Bits::unknown()); }

TermId Evaluator::shared_window() {
  return terms_.atom(name("shared window"), {}, 64, Bits{shared_window_alignment - 1, 0});
}

// Moves and conversions that keep the word.
std::optional<TermId> Evaluator::moved(const ir::Operation& op, const ops::Alu& alu, OperandTerms& in) {
  const isa::Modifiers& m = op.modifiers;
  if (op.opcode == Opcode::mov && alu.d->kind != Kind::vector && alu.a->kind != Kind::vector &&
      alu.a->kind != Kind::real)
    return in.term(alu.a, width_of(m.type()));
  if (op.opcode != Opcode::cvt || m.types.count != 2 || isa::is_floating(m.types[0]) || isa::is_floating(m.types[1]))
    return std::nullopt;
  const int to = width_of(m.types[0]), from = width_of(m.types[1]);
  const TermId word = in.term(alu.a, from);
  if (m.sat) return std::nullopt;
  if (to > from) return terms_.extend(word, to, isa::is_signed(m.types[1]));
  // A narrow signed result fills its register up by its sign.
  if (isa::is_signed(m.types[0]) && isa::bits(code_.registers[alu.d->id].type) > to) return std::nullopt;
  return terms_.truncate(word, to);
}

// Arithmetic on floats where all operands are numbers.
std::optional<TermId> Evaluator::floating(const ir::Operation& op, const ops::Alu& alu, OperandTerms& in) {
  const isa::Modifiers& m = op.modifiers;
  const bool any = isa::is_floating(m.type()) || (m.types.count == 2 && isa::is_floating(m.types[1]));
  const bool is_bits = op.opcode == Opcode::mov && alu.a->kind == Kind::real && width_of(m.type()) == 32;
  if ((!any && !is_bits) || isa::unit(op.opcode) != isa::Unit::alu || alu.d->kind != Kind::reg) return std::nullopt;
  std::vector<std::uint64_t> numbers;
  for (const ir::Argument& a : sources(op)) {
    if (a.kind == Kind::vector || a.kind == Kind::sink) return std::nullopt;
    const auto v = terms_.value(in.term(a, width_of(m.types[m.types.count - 1])));
    if (!v) return std::nullopt;
    numbers.push_back(*v);
  }
  const auto v = is_bits ? std::optional(numbers[0]) : float_result_of(op, numbers);
  return v ? std::optional(terms_.constant(*v, op.opcode == Opcode::setp ? 1 : 32)) : std::nullopt;
}

// The operands stand in an atom's list in their order, aggregates taken apart.
std::vector<TermId> Evaluator::opaque(std::uint32_t operation, OperandTerms& in, const std::vector<Bits>& known) {
  const ir::Operation& op = code_.operations[operation];
  const auto written = definitions_.written(operation);
  std::vector<TermId> operands;
  for (const ir::Argument& a : sources(op)) {
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
      out.push_back(terms_.atom(name(text_of(op, k), {Maker::Kind::operation, operation, std::uint32_t(k)}), operands,
                                width, bits));
  }
  return out;
}

std::vector<TermId> Evaluator::results(std::uint32_t operation, OperandTerms& in) {
  const ir::Operation& op = code_.operations[operation];
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  if (op.opcode == Opcode::setp && alu.d->kind == Kind::reg && !isa::is_floating(op.modifiers.type()))
    return {compared(op, alu, in)};
  for (const auto rule : {&Evaluator::logic, &Evaluator::selected, &Evaluator::linear, &Evaluator::remainder,
                          &Evaluator::bitwise, &Evaluator::moved, &Evaluator::viewed, &Evaluator::floating})
    if (const auto value = (this->*rule)(op, alu, in)) {
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
