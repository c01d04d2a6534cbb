// Which named barriers a kernel may use: compilers compute the number of one from the warp's and from a loop's.
#include <algorithm>
#include <bit>
#include <set>

#include "lower/plan/passes.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::lower {
namespace {

using isa::Opcode;
using ArgumentKind = ir::Argument::Kind;
using Numbers = std::optional<std::set<std::uint64_t>>;  // nothing: any number

class PossibleNumbers {
 public:
  PossibleNumbers(const Facts& f, const ir::Operation& op, std::uint32_t threads)
      : f_(f), threads_(f.uniformity.threads_at(f.code.index(op))) {
    for (std::size_t t = threads; t < threads_.size(); ++t) threads_.reset(t);
  }

  Numbers of(const ir::Argument& a) {
    if (const auto by_thread = f_.uniformity.by_thread(a, width)) {
      std::set<std::uint64_t> out;
      for (std::size_t t = 0; t < by_thread->size(); ++t)
        if (threads_[t]) out.insert((*by_thread)[t]);
      return bounded(std::move(out));
    }
    if (Numbers few = of_bits(f_.known.of(a, width))) return few;
    if (a.kind != ArgumentKind::reg || a.negated || a.value != 0 || f_.definitions.writers(a.id).empty())
      return std::nullopt;
    if (std::find(open_.begin(), open_.end(), a.id) != open_.end() || open_.size() >= deepest) return std::nullopt;
    open_.push_back(a.id);
    Numbers out = std::set<std::uint64_t>();
    for (const std::uint32_t writer : f_.definitions.writers(a.id))
      out = either(std::move(out), written_by(f_.code.operations[writer]));
    open_.pop_back();
    return out;
  }

 private:
  static constexpr int width = 32;
  static constexpr std::size_t most = 64, deepest = 12;

  static Numbers bounded(std::set<std::uint64_t> s) { return s.size() > most ? Numbers() : Numbers(std::move(s)); }

  // All numbers with these bits, where few are open.
  static Numbers of_bits(flow::Bits bits) {
    const std::uint64_t open = ~bits.known() & flow::low_mask(width);
    if (bits.is_nothing() || std::popcount(open) > 4) return std::nullopt;
    std::set<std::uint64_t> out;
    std::uint64_t part = 0;
    do {
      out.insert(bits.one | part);
      part = (part - open) & open;
    } while (part != 0);
    return out;
  }

  static Numbers either(Numbers a, const Numbers& b) {
    if (!a || !b) return std::nullopt;
    a->insert(b->begin(), b->end());
    return bounded(std::move(*a));
  }

  Numbers written_by(const ir::Operation& op) {
    const ops::Alu alu = ops::roles<ops::Alu>(op);
    switch (op.opcode) {
      case Opcode::shfl: return of(ops::roles<ops::WarpExchange>(op).a);
      case Opcode::mov: return alu.d->kind == ArgumentKind::reg ? of(alu.a) : std::nullopt;
      case Opcode::selp: return either(of(alu.a), of(alu.b));
      case Opcode::add: return sums(of(alu.a), of(alu.b), 1);
      case Opcode::sub: return sums(of(alu.a), of(alu.b), -1);
      default: return std::nullopt;
    }
  }

  static Numbers sums(const Numbers& a, const Numbers& b, int sign) {
    if (!a || !b) return std::nullopt;
    std::set<std::uint64_t> out;
    for (const std::uint64_t x : *a)
      for (const std::uint64_t y : *b) out.insert((sign > 0 ? x + y : x - y) & flow::low_mask(width));
    return bounded(std::move(out));
  }

  const Facts& f_;
  flow::ThreadSet threads_;
  std::vector<ir::RegisterId> open_{};
};

}  // namespace

std::uint32_t named_barriers_of(const Facts& facts, const ir::Operation& op, std::uint32_t threads) {
  constexpr std::uint32_t all = (1u << isa::named_barriers) - 1;
  const Numbers ids = PossibleNumbers(facts, op, threads).of(ops::roles<ops::Barrier>(op).id);
  if (!ids) return all;
  std::uint32_t out = 0;
  for (const std::uint64_t id : *ids)
    if (id < isa::named_barriers) out |= 1u << id;
  return out;
}

}  // namespace kiln::lower
