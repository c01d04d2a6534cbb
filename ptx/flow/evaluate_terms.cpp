// Terms seen from outside: as text, as what they are made of, and with numbers in place of unknown words.
#include <utility>

#include "ptx/flow/evaluate.hpp"

namespace kiln::flow {
namespace {

using Kind = ir::Argument::Kind;

}  // namespace

void Evaluator::append(std::string& out, TermId t, std::size_t most) const {
  const Terms::Sum& sum = terms_.sum(t);
  bool first = true;
  for (const Terms::Part& p : sum.parts) {
    if (out.size() > most) return;
    const Terms::Atom& atom = *terms_.atom_of(p.atom);
    if (!std::exchange(first, false)) out += " + ";
    if (p.factor != 1) out += std::to_string(as_signed(p.factor, sum.width)) + " * ";
    out += spelled_[atom.name - 1];
    for (std::size_t k = 0; k < atom.operands.size(); ++k) out += k ? ", " : "(", append(out, atom.operands[k], most);
    if (!atom.operands.empty()) out += ')';
  }
  if (first)
    out += std::to_string(sum.number);
  else if (sum.number)
    out += " + " + std::to_string(as_signed(sum.number, sum.width));
}

std::string Evaluator::text(TermId t, std::size_t most) const {
  std::string out;
  append(out, t, most);
  return out.size() > most ? out.substr(0, most) + "..." : out;
}
// Operands given in the order in which an atom lists them.
class Evaluator::Given final : public OperandTerms {
 public:
  Given(const Evaluator& of, const ir::Operation& op, const std::vector<TermId>& terms) : terms_(of.terms_) {
    std::size_t next = 0;
    const auto take = [&](const ir::Argument& a) {
      if (next < terms.size()) given_[&a] = terms[next++];
    };
    for (const ir::Argument& a : sources(op)) {
      if (a.kind != Kind::vector) {
        take(a);
        continue;
      }
      for (const ir::Argument& part : of.code_.components(a)) take(part);
    }
  }
  TermId term(const ir::Argument& a, int width) override {
    const auto found = given_.find(&a);
    return found == given_.end() ? terms_.constant(0, width) : terms_.truncate(found->second, width);
  }

 private:
  Terms& terms_;
  std::map<const ir::Argument*, TermId> given_{};
};

TermId Evaluator::remade(const Terms::Atom& atom, const Maker& maker, int width, const std::vector<TermId>& in) {
  switch (maker.kind) {
    case Maker::Kind::equal: return equal(in[0], in[1]);
    case Maker::Kind::less: return less(in[0], in[1], true);
    case Maker::Kind::below: return less(in[0], in[1], false);
    case Maker::Kind::both: return both(in[0], in[1]);
    case Maker::Kind::select: return choice(in[0], in[1], in[2], width);
    case Maker::Kind::product: return product(in[0], in[1]);
    case Maker::Kind::low: return low_bits(in[0], int(*terms_.value(in[1])));
    case Maker::Kind::operation: {
      Given given(*this, code_.operations[maker.operation], in);
      return results(maker.operation, given)[maker.result];
    }
    case Maker::Kind::leaf: break;
  }
  return terms_.atom(atom.name, in, width);
}

TermId Evaluator::with(TermId t, const std::map<TermId, std::uint64_t>& numbers) {
  std::unordered_map<TermId, TermId> known;
  return with(t, numbers, known);
}

TermId Evaluator::with(TermId t, const std::map<TermId, std::uint64_t>& numbers,
                       std::unordered_map<TermId, TermId>& known) {
  if (const auto found = known.find(t); found != known.end()) return found->second;
  const Terms::Sum sum = terms_.sum(t);  // making terms moves them
  TermId out = terms_.constant(sum.number, sum.width);
  for (const Terms::Part& p : sum.parts) {
    TermId value = p.atom;
    const Terms::Atom atom = *terms_.atom_of(p.atom);
    const Maker maker = makers_[atom.name - 1];
    if (const auto given = numbers.find(p.atom); given != numbers.end()) {
      value = terms_.constant(given->second, terms_.width(p.atom));
    } else if (maker.kind != Maker::Kind::leaf) {
      std::vector<TermId> operands;
      for (const TermId o : atom.operands) operands.push_back(with(o, numbers, known));
      if (operands != atom.operands) value = remade(atom, maker, terms_.width(p.atom), operands);
    }
    // In a wider sum an atom is filled up by zeros before it is multiplied.
    if (const auto v = terms_.value(value))
      value = terms_.constant(*v, sum.width);
    else if (terms_.width(value) < sum.width)
      value = terms_.extend(value, sum.width, false).value_or(*terms_.extend(p.atom, sum.width, false));
    out = terms_.add(out, terms_.scale(value, p.factor));
  }
  return known[t] = terms_.truncate(out, sum.width);
}

const std::set<TermId>& Evaluator::pieces(TermId t) {
  if (const auto known = pieces_.find(t); known != pieces_.end()) return known->second;
  std::set<TermId> out;
  for (const Terms::Part& p : terms_.sum(t).parts) {
    const Terms::Atom& atom = *terms_.atom_of(p.atom);
    const Maker::Kind kind = makers_[atom.name - 1].kind;
    if (kind == Maker::Kind::leaf || kind == Maker::Kind::low) out.insert(p.atom);
    if (kind == Maker::Kind::leaf) continue;
    for (const TermId o : atom.operands) {
      const std::set<TermId>& inner = pieces(o);
      out.insert(inner.begin(), inner.end());
    }
  }
  return pieces_.emplace(t, std::move(out)).first->second;
}

const std::set<TermId>& Evaluator::chosen_by(TermId t) {
  if (const auto known = chosen_by_.find(t); known != chosen_by_.end()) return known->second;
  std::set<TermId> out;
  for (const Terms::Part& p : terms_.sum(t).parts) {
    const Terms::Atom& atom = *terms_.atom_of(p.atom);
    if (makers_[atom.name - 1].kind == Maker::Kind::select) out.insert(atom.operands[0]);
    for (const TermId o : atom.operands) {
      const std::set<TermId>& inner = chosen_by(o);
      out.insert(inner.begin(), inner.end());
    }
  }
  return chosen_by_.emplace(t, std::move(out)).first->second;
}

bool Evaluator::compares(TermId t) {
  if (const auto known = compares_.find(t); known != compares_.end()) return known->second;
  bool out = false;
  for (const Terms::Part& p : terms_.sum(t).parts) {
    const Terms::Atom& atom = *terms_.atom_of(p.atom);
    const Maker::Kind kind = makers_[atom.name - 1].kind;
    out |= kind == Maker::Kind::equal || kind == Maker::Kind::below || kind == Maker::Kind::less;
    for (const TermId o : atom.operands) out |= compares(o);
  }
  return compares_[t] = out;
}

std::optional<std::pair<TermId, int>> Evaluator::low_bits_of(const Terms::Atom& atom) const {
  if (makers_[atom.name - 1].kind != Maker::Kind::low) return std::nullopt;
  return std::pair(atom.operands[0], int(*terms_.value(atom.operands[1])));
}

}  // namespace kiln::flow
