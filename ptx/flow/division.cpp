#include "ptx/flow/division.hpp"

#include <algorithm>
#include <bit>

#include "ptx/flow/numbers.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::flow {
namespace {

using isa::HalfSelect;
using isa::Opcode;
using Kind = ir::Argument::Kind;

constexpr int longest_chain = 12;  // operations between dividend and quotient
constexpr std::uint64_t largest_divisor = 1 << 20;
constexpr __int128 one = 1;

bool is_plain(const ir::Argument& a) { return a.kind == Kind::reg && a.value == 0 && !a.negated; }
bool same(const ir::Argument& a, const ir::Argument& b) { return is_plain(a) && is_plain(b) && a.id == b.id; }

// floor(x * factor / 2^shift), for words x below 2^bits.
struct Scaled {
  const ir::Argument* x = nullptr;
  __int128 factor = 1;
  int shift = 0;
  int bits = 64;

  bool is_whole() const { return shift == 0; }
  /// No x makes it 2^width or more.
  bool is_below(int width) const {
    const int room = shift + width - bits;
    return factor >= 0 && room >= 0 && (room > 100 || factor <= one << room);
  }
};

// Reads chains of operations backwards.
class Chains {
 public:
  Chains(const ir::Code& code, const Definitions& definitions, const KnownBits& known)
      : code_(code), definitions_(definitions), known_(known) {}

  std::optional<Division> quotient(const ir::Operation& op, int depth = 0) const {
    if (op.guard || depth > longest_chain || isa::is_floating(op.modifiers.type())) return std::nullopt;
    const ops::Alu alu = ops::roles<ops::Alu>(op);
    if (op.opcode == Opcode::div) {
      const auto d = number(op, alu.b);
      return d && *d > 0 && is_plain(alu.a) ? std::optional(Division{alu.a.pointer(), std::uint64_t(*d)})
                                            : std::nullopt;
    }
    const auto f = made_by(op, depth);
    if (!f || f->shift == 0 || f->factor <= 0 || f->shift > 100) return std::nullopt;
    // floor(x * factor / 2^shift) = floor(x / d) for all words x below 2^bits where the factor is 2^shift / d rounded
    // up by at most 2^(shift - bits) / d (Granlund and Montgomery 1994).
    const __int128 power = one << f->shift, d = (power + f->factor - 1) / f->factor;
    if (d < 2 || d > __int128(largest_divisor)) return std::nullopt;
    const __int128 error = f->factor * d - power;
    if (error != 0 && (f->shift < f->bits || error > one << (f->shift - f->bits))) return std::nullopt;
    Division out{f->x, std::uint64_t(d)};
    // The dividend may be a quotient itself: compilers shift even divisors' twos away first.
    if (const ir::Operation* before = writer(*f->x))
      if (const auto inner = quotient(*before, depth + 1))
        if (inner->divisor <= largest_divisor / out.divisor) out = {inner->dividend, inner->divisor * out.divisor};
    return out;
  }

  std::optional<Division> remainder(const ir::Operation& op) const {
    if (op.guard || isa::is_floating(op.modifiers.type())) return std::nullopt;
    const ops::Alu alu = ops::roles<ops::Alu>(op);
    if (op.opcode == Opcode::rem) {
      const auto d = number(op, alu.b);
      return d && *d > 0 && is_plain(alu.a) ? std::optional(Division{alu.a.pointer(), std::uint64_t(*d)})
                                            : std::nullopt;
    }
    // x - q * d, or q * -d + x
    if (op.opcode == Opcode::sub) return rest(op, *alu.a, multiple(alu.b), -1);
    if (op.opcode == Opcode::add) {
      if (const auto r = rest(op, *alu.a, multiple(alu.b), 1)) return r;
      return rest(op, *alu.b, multiple(alu.a), 1);
    }
    if (op.opcode != Opcode::mad || op.modifiers.half == HalfSelect::hi || op.modifiers.half == HalfSelect::wide)
      return std::nullopt;
    return rest(op, *alu.c, product(op), 1);
  }

 private:
  // A register times a number.
  struct Multiple {
    const ir::Argument* word = nullptr;
    std::uint64_t factor = 1;
  };

  static int width_in(const ir::Operation& op) { return std::clamp(isa::bits(op.modifiers.type()), 1, 64); }

  const ir::Operation* writer(const ir::Argument& a) const {
    const ir::Operation* op = is_plain(a) ? definitions_.only_writer(a.id) : nullptr;
    return op && !op->guard ? op : nullptr;
  }
  // The number that an operand is, as the operation's type has it.
  std::optional<std::int64_t> number(const ir::Operation& op, const ir::Argument& a) const {
    const auto v = known_.constant(a, width_in(op));
    if (!v) return std::nullopt;
    return isa::is_signed(op.modifiers.type()) ? as_signed(*v, width_in(op)) : std::int64_t(*v);
  }

  // A word that is not followed any further.
  std::optional<Scaled> leaf(const ir::Argument& a) const {
    if (!is_plain(a)) return std::nullopt;
    const Bits bits = known_.of(a, 64);
    return Scaled{&a, 1, 0, bits.is_nothing() ? 64 : std::max(1, 64 - std::countl_zero(bits.largest()))};
  }

  std::optional<Scaled> scaled(const ir::Argument& a, int depth) const {
    if (!is_plain(a)) return std::nullopt;
    const ir::Operation* op = depth < longest_chain ? writer(a) : nullptr;
    if (!op) return leaf(a);
    if (op->opcode == Opcode::mov && op->arguments[0].kind == Kind::vector) return upper_word(*op, a, depth);
    const auto f = made_by(*op, depth + 1);
    return f ? f : leaf(a);
  }

  // A factor of a product: a whole multiple of a word.
  std::optional<Scaled> whole(const ir::Argument& a, int depth) const {
    const auto f = scaled(a, depth);
    return f && f->is_whole() ? f : leaf(a);
  }

  // mov.b64 {low, high}, word.
  std::optional<Scaled> upper_word(const ir::Operation& mov, const ir::Argument& a, int depth) const {
    const auto parts = code_.components(mov.arguments[0]);
    auto f = parts.size() == 2 && parts[1].kind == Kind::reg && parts[1].id == a.id && width_in(mov) == 64
                 ? scaled(mov.arg(1), depth + 1)
                 : std::nullopt;
    if (!f || !f->is_below(64)) return leaf(a);
    f->shift += 32;
    return f;
  }

  // What an operation makes, if it is one of a chain. An instruction for signed words says less: only words that are
  // not negative count.
  std::optional<Scaled> made_by(const ir::Operation& op, int depth) const {
    if (op.guard || isa::is_floating(op.modifiers.type()) || op.modifiers.sat) return std::nullopt;
    const ops::Alu alu = ops::roles<ops::Alu>(op);
    if (alu.d->kind != Kind::reg) return std::nullopt;
    switch (op.opcode) {
      case Opcode::mul: return scaled_product(op, alu, depth);
      case Opcode::shr: return shifted_right(op, alu, depth);
      case Opcode::cvt: return converted_word(op, alu, depth);
      case Opcode::mov: return scaled(alu.a, depth);
      case Opcode::add:
        if (const auto f = sum_of(*alu.a, *alu.b, depth)) return f;
        return sum_of(*alu.b, *alu.a, depth);
      case Opcode::sub: return less_nothing(scaled(alu.a, depth), scaled(alu.b, depth));
      default: return std::nullopt;
    }
  }

  std::optional<Scaled> scaled_product(const ir::Operation& op, const ops::Alu& alu, int depth) const {
    const int width = width_in(op);
    const bool is_signed = isa::is_signed(op.modifiers.type()), high = op.modifiers.half == HalfSelect::hi;
    for (const auto& [x, y] : {std::pair(alu.a, alu.b), std::pair(alu.b, alu.a)}) {
      const auto v = known_.constant(y, width);
      auto f = v ? whole(x, depth) : std::nullopt;
      if (!f || f->factor > __int128(low_mask(32))) continue;
      const bool wide = high || op.modifiers.half == HalfSelect::wide;
      f->factor *= is_signed && wide ? __int128(as_signed(*v, width)) : __int128(*v);
      if (is_signed && wide) f->bits = std::min(f->bits, width - 1);
      if (!wide && !f->is_below(width)) continue;
      if (high) f->shift = width;
      return f;
    }
    return std::nullopt;
  }

  std::optional<Scaled> shifted_right(const ir::Operation& op, const ops::Alu& alu, int depth) const {
    const int width = width_in(op);
    const auto n = known_.constant(alu.b, 32);
    auto f = scaled(alu.a, depth);
    if (!f || !n || *n >= std::uint64_t(width)) return std::nullopt;
    if (isa::is_signed(op.modifiers.type())) f->bits = std::min(f->bits, width - 1);
    if (!f->is_below(width)) return std::nullopt;
    f->shift += int(*n);
    return f;
  }

  std::optional<Scaled> converted_word(const ir::Operation& op, const ops::Alu& alu, int depth) const {
    const isa::Modifiers& m = op.modifiers;
    if (m.types.count != 2 || isa::is_floating(m.types[1])) return std::nullopt;
    auto f = scaled(alu.a, depth);
    if (!f) return std::nullopt;
    int width = std::min(isa::bits(m.types[0]), isa::bits(m.types[1]));
    if (isa::is_signed(m.types[1])) f->bits = std::min(f->bits, --width);
    return f->is_below(width) ? f : std::nullopt;
  }

  // The word that this one has its sign from: compilers set low bits of a word that they have shifted.
  const ir::Argument& with_sign_of(const ir::Argument& a) const {
    const ir::Operation* op = writer(a);
    if (!op || (op->opcode != Opcode::or_ && op->opcode != Opcode::xor_)) return a;
    const ops::Alu alu = ops::roles<ops::Alu>(*op);
    for (const auto& [x, y] : {std::pair(alu.a, alu.b), std::pair(alu.b, alu.a)})
      if (const auto v = known_.constant(y, width_in(*op)); v && is_plain(x) && as_signed(*v, width_in(*op)) >= 0)
        return *x;
    return a;
  }

  // The first less, or and, a word that is zero for all that count: the correction for negative dividends.
  std::optional<Scaled> less_nothing(std::optional<Scaled> f, const std::optional<Scaled>& other) const {
    if (!f || !other || !same(with_sign_of(*f->x), with_sign_of(*other->x))) return std::nullopt;
    Scaled nothing = *other;
    nothing.bits = f->bits = std::min(f->bits, other->bits);
    return nothing.is_below(0) ? f : std::nullopt;
  }

  std::optional<Scaled> sum_of(const ir::Argument& a, const ir::Argument& b, int depth) const {
    auto f = scaled(a, depth);
    const auto g = scaled(b, depth);
    if (!f || !g) return std::nullopt;
    if (const auto first = less_nothing(f, g)) return first;
    // ((x - t) / 2) + t = floor((x + t) / 2): a reciprocal of one bit more than a word.
    const ir::Operation* half = writer(a);
    const ir::Operation* less = half && half->opcode == Opcode::shr ? writer(half->arg(1)) : nullptr;
    if (less && less->opcode == Opcode::sub && known_.constant(half->arg(2), 32) == 1 && same(less->arg(2), b) &&
        same(less->arg(1), *g->x) && g->is_below(g->bits) && g->shift < 64)
      return Scaled{g->x, g->factor + (one << g->shift), g->shift + 1, g->bits};
    // x + floor(x * factor / 2^shift)
    if (!g->is_whole() || !same(*f->x, *g->x) || f->shift > 64 || g->factor > __int128(low_mask(32)))
      return std::nullopt;
    f->factor += g->factor << f->shift;
    f->bits = std::min(f->bits, g->bits);
    return f;
  }

  std::optional<Multiple> product(const ir::Operation& op) const {
    const ops::Alu alu = ops::roles<ops::Alu>(op);
    for (const auto& [x, y] : {std::pair(alu.a, alu.b), std::pair(alu.b, alu.a)})
      if (const auto n = known_.constant(y, width_in(op)); n && is_plain(x)) return Multiple{x.pointer(), *n};
    return std::nullopt;
  }

  // q * n: by mul, a shift, or a sum of two multiples of one word.
  std::optional<Multiple> multiple(const ir::Argument& a, int depth = 0) const {
    const ir::Operation* op = depth < longest_chain ? writer(a) : nullptr;
    if (!op) return is_plain(a) ? std::optional(Multiple{&a, 1}) : std::nullopt;
    const ops::Alu alu = ops::roles<ops::Alu>(*op);
    const bool low = op->modifiers.half != HalfSelect::hi && op->modifiers.half != HalfSelect::wide;
    const auto own = Multiple{&a, 1};
    if (op->opcode == Opcode::mul && low) return product(*op).value_or(own);
    if (op->opcode == Opcode::neg && is_plain(alu.a)) return Multiple{alu.a.pointer(), ~std::uint64_t{0}};
    if (op->opcode == Opcode::shl)
      if (const auto n = known_.constant(alu.b, 32); n && *n < 64 && is_plain(alu.a))
        return Multiple{alu.a.pointer(), std::uint64_t{1} << *n};
    if (op->opcode == Opcode::add || op->opcode == Opcode::sub) {
      const auto x = multiple(alu.a, depth + 1), y = multiple(alu.b, depth + 1);
      if (x && y && same(*x->word, *y->word))
        return Multiple{x->word, op->opcode == Opcode::add ? x->factor + y->factor : x->factor - y->factor};
    }
    return own;
  }

  std::optional<Division> rest(const ir::Operation& op, const ir::Argument& x, const std::optional<Multiple>& m,
                               int sign) const {
    const ir::Operation* divides = m ? writer(*m->word) : nullptr;
    if (!divides) return std::nullopt;
    const bool clears = divides->opcode == Opcode::and_;
    const auto d = clears ? cleared(*divides) : quotient(*divides);
    if (!d || !same(*d->dividend, x)) return std::nullopt;
    const std::uint64_t factor = (sign < 0 ? m->factor : 0 - m->factor) & low_mask(width_in(op));
    return factor == (clears ? 1 : d->divisor) ? d : std::nullopt;
  }

  // x & -2^n: the quotient of x and 2^n, times 2^n.
  std::optional<Division> cleared(const ir::Operation& op) const {
    const ops::Alu alu = ops::roles<ops::Alu>(op);
    const int width = width_in(op);
    for (const auto& [x, mask] : {std::pair(alu.a, alu.b), std::pair(alu.b, alu.a)}) {
      const auto v = known_.constant(mask, width);
      const std::uint64_t divisor = v ? (0 - *v) & low_mask(width) : 0;
      const auto f = std::has_single_bit(divisor) && divisor <= largest_divisor ? scaled(x, 0) : std::nullopt;
      if (f && f->is_whole() && f->factor == 1) return Division{f->x, divisor};
    }
    return std::nullopt;
  }

  const ir::Code& code_;
  const Definitions& definitions_;
  const KnownBits& known_;
};

}  // namespace

std::optional<Division> quotient(const ir::Code& code, const Definitions& definitions, const KnownBits& known,
                                 const ir::Operation& op) {
  return Chains(code, definitions, known).quotient(op);
}

std::optional<Division> remainder(const ir::Code& code, const Definitions& definitions, const KnownBits& known,
                                  const ir::Operation& op) {
  return Chains(code, definitions, known).remainder(op);
}

}  // namespace kiln::flow
