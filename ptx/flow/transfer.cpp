// What each instruction does to known bits. Instructions that are not here make nothing known.
#include <algorithm>

#include "ptx/flow/known_bits.hpp"
#include "ptx/flow/numbers.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::flow {
namespace {

using isa::Opcode;
using isa::ScalarType;
using Kind = ir::Argument::Kind;

// One operation with its operand bits at hand.
class Transfer {
 public:
  Transfer(const ir::Code& code, const ir::Operation& op, const OperandBits& known)
      : code_(code),
        op_(op),
        known_(known),
        alu_(ops::roles<ops::Alu>(op)),
        type_(op.modifiers.type()),
        width_(std::clamp(isa::bits(type_), 1, 64)) {}

  std::vector<Bits> results() const {
    if (op_.opcode == Opcode::mov && alu_.a) return move();
    if (isa::is_floating(type_) && op_.opcode != Opcode::ld && op_.opcode != Opcode::selp) return {};
    if (op_.arguments.empty()) return {};
    for (const ir::Argument& source : std::span(op_.arguments).subspan(1))
      if (in(source).is_nothing()) return std::vector<Bits>(1, Bits::nothing());
    if (const auto number = folded()) return {Bits::constant(*number)};
    const Bits value = result();
    if (value.is_nothing() || value == Bits::unknown()) return {};
    return {truncate(value, result_width())};
  }

 private:
  // The result where every source is a number.
  std::optional<std::uint64_t> folded() const {
    if (isa::unit(op_.opcode) != isa::Unit::alu || alu_.d->kind != Kind::reg) return std::nullopt;
    const std::array<int, 4> widths = source_widths(op_);
    std::array<std::uint64_t, 4> numbers{};
    const ops::Operand sources[] = {alu_.a, alu_.b, alu_.c, alu_.e};
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      if (!sources[k]) continue;
      const auto v = in(sources[k], widths[k]).value();
      if (!v) return std::nullopt;
      numbers[k] = *v;
    }
    return result_of(op_, numbers);
  }

  Bits in(const ir::Argument& a, int width) const { return known_.of(a, width); }
  Bits in(const ir::Argument& a) const { return in(a, width_); }
  bool is_signed() const { return isa::is_signed(type_); }
  bool is_wide() const { return op_.modifiers.half == isa::HalfSelect::wide; }
  int result_width() const {
    const bool whole = op_.opcode == Opcode::cvta || op_.opcode == Opcode::cvt;
    return op_.opcode == Opcode::setp ? 1 : is_wide() ? 2 * width_ : whole ? 64 : width_;
  }

  // Compilers make a predicate that is always true of two numbers.
  Bits comparison() const {
    if (alu_.d->kind != Kind::reg) return Bits::unknown();
    const auto holds = compared();
    Bits out = holds ? Bits::constant(*holds) : Bits::unknown(1);
    if (!alu_.c) return out;
    const Bits other = in(alu_.c, 1);
    switch (op_.modifiers.combine) {
      case isa::Combine::and_: return out & other;
      case isa::Combine::or_: return out | other;
      case isa::Combine::xor_: return out ^ other;
      default: return Bits::unknown();
    }
  }

  std::optional<bool> compared() const {
    const Bits a = in(alu_.a), b = in(alu_.b);
    const isa::Compare how = op_.modifiers.compare;
    const bool differ = (a.one & b.zero) | (a.zero & b.one);
    if (differ && (how == isa::Compare::eq || how == isa::Compare::ne)) return how == isa::Compare::ne;
    const auto x = a.value(), y = b.value();
    return x && y ? compare(op_.modifiers, type_, *x, *y) : std::nullopt;
  }

  // mov also packs and unpacks: {a, b} <- c and c <- {a, b}.
  std::vector<Bits> move() const {
    const ir::Argument &to = alu_.d, &from = alu_.a;
    const auto parts = code_.components(to), sources = code_.components(from);
    if (to.kind == Kind::vector && from.kind == Kind::vector) {
      std::vector<Bits> out;
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (parts[i].kind == Kind::reg) out.push_back(known_.of(sources[i], 64));
      return out;
    }
    if (to.kind == Kind::vector && from.kind == Kind::special) return {};  // %tid, with all of its components
    if (to.kind == Kind::vector) return unpack(parts, from);
    if (from.kind != Kind::vector) return {in(alu_.a)};
    Bits whole = Bits::constant(0);
    const int each = width_ / std::max<int>(1, int(sources.size()));
    for (std::size_t i = sources.size(); i-- > 0;) {
      const Bits part = known_.of(sources[i], each);
      if (part.is_nothing()) return {part};
      whole = shift_left(whole, each) | part;
    }
    return {isa::bits(type_) > 64 ? Bits::unknown() : whole};
  }

  std::vector<Bits> unpack(std::span<const ir::Argument> parts, const ir::Argument& from) const {
    const Bits whole = known_.of(from, width_);
    std::vector<Bits> out;
    const int each = width_ / std::max<int>(1, int(parts.size()));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].kind != Kind::reg) continue;
      if (isa::bits(type_) > 64)
        out.push_back(Bits::unknown());
      else
        out.push_back(whole.is_nothing() ? whole : truncate(shift_right(whole, each * int(i)), each));
    }
    return out;
  }

  // A narrow result fills its register up, by its sign if its type has one.
  Bits convert() const {
    const Bits any = is_signed() ? Bits::unknown() : Bits::unknown(width_);
    if (op_.modifiers.types.count != 2) return any;
    const ScalarType from = op_.modifiers.types[1];
    if (isa::is_floating(from) || op_.modifiers.sat) return any;
    const int width = std::clamp(isa::bits(from), 1, 64);
    const Bits word = in(alu_.a, width), value = isa::is_signed(from) ? sign_extend(word, width) : word;
    return is_signed() ? sign_extend(truncate(value, width_), width_) : truncate(value, width_);
  }

  // No unsigned number is larger than the smaller one of two.
  Bits extreme() const {
    if (!alu_.b || alu_.c) return Bits::unknown();
    const Bits a = in(alu_.a), b = in(alu_.b), either = join(a, b);
    if (is_packed() || op_.opcode == Opcode::max || !(is_natural(a) && is_natural(b))) return either;
    return {either.zero | at_most(std::min(a.largest(), b.largest())).zero, either.one};
  }

  bool is_packed() const { return type_ == ScalarType::u16x2 || type_ == ScalarType::s16x2; }
  // The same number whether or not its type has a sign.
  bool is_natural(Bits a) const { return !is_signed() || (a.zero >> (width_ - 1) & 1); }

  // Only what lies in the CTA's window survives a change of view.
  Bits same_window(Bits a) const { return {a.zero & shared_window_mask, a.one & shared_window_mask}; }

  Bits product() const {
    const auto half = op_.modifiers.half;
    if (half == isa::HalfSelect::hi) {
      const Bits a = in(alu_.a), b = in(alu_.b);
      if (!is_natural(a) || !is_natural(b) || width_ > 32) return Bits::unknown(width_);
      return shift_right(multiply(a, b), width_);
    }
    if (!is_wide()) return multiply(in(alu_.a), in(alu_.b));
    if (!is_signed()) return multiply(in(alu_.a), in(alu_.b));
    return multiply(sign_extend(in(alu_.a), width_), sign_extend(in(alu_.b), width_));
  }

  Bits addend() const { return in(alu_.c, result_width()); }

  Bits shift() const {
    const auto amount = in(alu_.b, 32).value();
    const bool left = op_.opcode == Opcode::shl;
    if (!amount) return left ? Bits{low_mask(in(alu_.a).trailing_zeros()), 0} : Bits::unknown(width_);
    const int n = int(std::min<std::uint64_t>(*amount, 64));
    if (left) return shift_left(in(alu_.a), n);
    if (!is_signed()) return shift_right(in(alu_.a), n);
    Bits a = sign_extend(in(alu_.a), width_);
    const int steps = std::min(n, 63);
    return {std::uint64_t(std::int64_t(a.zero) >> steps), std::uint64_t(std::int64_t(a.one) >> steps)};
  }

  // shf: the upper or lower word of a 64-bit shift of {b, a}.
  Bits funnel() const {
    const auto amount = in(alu_.c, 32).value();
    if (!amount || op_.modifiers.shift_mode == isa::ShiftMode::none) return Bits::unknown(32);
    const bool wrap = op_.modifiers.shift_mode == isa::ShiftMode::wrap;
    const int n = int(wrap ? *amount & 31 : std::min<std::uint64_t>(*amount, 32));
    const Bits both = shift_left(in(alu_.b, 32), 32) | in(alu_.a, 32);
    if (op_.modifiers.direction == isa::Direction::left) return shift_right(shift_left(both, n), 32);
    return truncate(shift_right(both, n), 32);
  }

  Bits extract() const {
    const auto at = in(alu_.b, 8).value(), count = in(alu_.c, 8).value();
    if (!at || !count) return Bits::unknown(width_);
    if (!is_signed()) return truncate(shift_right(in(alu_.a), int(*at)), int(*count));
    if (*count == 0) return Bits::constant(0);
    // The sign is the highest bit taken; beyond the word's end that is the word's own.
    const Bits word = sign_extend(in(alu_.a), width_), taken = shift_right(word, int(std::min<std::uint64_t>(*at, 63)));
    const int bits = int(std::min<std::uint64_t>({*count, 64 - std::min<std::uint64_t>(*at, 63), 63}));
    return truncate(sign_extend(truncate(taken, bits), bits), width_);
  }

  Bits insert() const {
    const auto at = in(alu_.c, 8).value(), count = in(alu_.e, 8).value();
    if (!at || !count) return Bits::unknown(width_);
    const Bits mask = shift_left(Bits::constant(low_mask(int(*count))), int(*at));
    return (shift_left(in(alu_.a), int(*at)) & mask) | (in(alu_.b) & ~mask);
  }

  Bits permute() const {
    const auto selector = in(alu_.c, 32).value();
    if (!selector || op_.modifiers.prmt_mode != isa::PrmtMode::none) return Bits::unknown(32);
    const Bits bytes = shift_left(in(alu_.b, 32), 32) | in(alu_.a, 32);
    Bits out = Bits::constant(0);
    for (int i = 0; i < 4; ++i) {
      const int pick = int(*selector >> (4 * i) & 15);
      Bits byte = truncate(shift_right(bytes, 8 * (pick & 7)), 8);
      if (pick & 8) byte = truncate(Bits{byte.zero & 0x80 ? ~std::uint64_t{0} : 0, byte.one & 0x80 ? 0xFFu : 0}, 8);
      out = out | shift_left(byte, 8 * i);
    }
    return out;
  }

  Bits selected() const {
    const auto first = in(alu_.c, 1).value();
    return first ? in(*first ? alu_.a : alu_.b) : join(in(alu_.a), in(alu_.b));
  }

  Bits quotient() const {
    const auto divisor = in(alu_.b).value();
    if (!divisor || *divisor == 0 || !is_natural(in(alu_.a)) || !is_natural(in(alu_.b))) return Bits::unknown(width_);
    const bool power = std::has_single_bit(*divisor);
    if (op_.opcode == Opcode::rem) return power ? in(alu_.a) & Bits::constant(*divisor - 1) : at_most(*divisor - 1);
    return power ? shift_right(in(alu_.a), std::countr_zero(*divisor)) : at_most(in(alu_.a).largest() / *divisor);
  }

  // A register may be wider than what is loaded into it: unsigned types fill up with zeros.
  Bits load() const { return is_signed() || isa::is_floating(type_) ? Bits::unknown() : Bits::unknown(width_); }

  // The operand of this lane or of another one, whose known bits are the same.
  Bits exchanged() const {
    const auto x = ops::roles<ops::WarpExchange>(op_);
    const ir::Argument& to = x.d->kind == Kind::pair ? code_.components(x.d)[0] : *x.d;
    return to.kind == Kind::reg ? in(x.a, 32) : Bits::unknown();
  }

  Bits address_view() const {
    if (op_.modifiers.space() == isa::Space::global) return in(alu_.a, 64);
    if (!isa::is_shared(op_.modifiers.space())) return Bits::unknown();
    const Bits view = same_window(in(alu_.a, 64));
    return op_.modifiers.to ? truncate(view, shared_address_bits) : view;
  }

  Bits result() const {
    switch (op_.opcode) {
      case Opcode::add: return op_.modifiers.sat ? Bits::unknown() : add(in(alu_.a), in(alu_.b));
      case Opcode::sub: return op_.modifiers.sat ? Bits::unknown() : subtract(in(alu_.a), in(alu_.b));
      case Opcode::neg: return subtract(Bits::constant(0), in(alu_.a));
      case Opcode::mul: return product();
      case Opcode::mad: return op_.modifiers.sat ? Bits::unknown() : add(product(), addend());
      case Opcode::and_: return in(alu_.a) & in(alu_.b);
      case Opcode::or_: return in(alu_.a) | in(alu_.b);
      case Opcode::xor_: return in(alu_.a) ^ in(alu_.b);
      case Opcode::not_: return truncate(~in(alu_.a), width_);
      case Opcode::shl:
      case Opcode::shr: return shift();
      case Opcode::shf: return funnel();
      case Opcode::lop3: {
        const auto table = in(alu_.e, 8).value();
        return table ? lookup(in(alu_.a), in(alu_.b), in(alu_.c), unsigned(*table)) : Bits::unknown(width_);
      }
      case Opcode::selp: return selected();
      case Opcode::setp: return comparison();
      case Opcode::min:
      case Opcode::max: return extreme();
      case Opcode::bfe: return extract();
      case Opcode::bfi: return insert();
      case Opcode::prmt: return permute();
      case Opcode::div:
      case Opcode::rem: return quotient();
      case Opcode::cvt: return convert();
      case Opcode::cvta: return address_view();
      case Opcode::mapa: return same_window(in(alu_.a, 64));
      case Opcode::popc:
      case Opcode::clz: return at_most(64);
      case Opcode::ld: return load();
      case Opcode::shfl: return exchanged();
      default: return Bits::unknown();
    }
  }

  const ir::Code& code_;
  const ir::Operation& op_;
  const OperandBits& known_;
  const ops::Alu alu_;
  ScalarType type_;
  int width_;
};

}  // namespace

std::vector<Bits> transfer(const ir::Code& code, const ir::Operation& op, const OperandBits& known) {
  return Transfer(code, op, known).results();
}

}  // namespace kiln::flow
