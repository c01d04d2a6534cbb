#include "lower/plan/passes.hpp"

#include <algorithm>

#include "ptx/isa/shared_descriptor.hpp"

namespace kiln::lower {
namespace {

using flow::Bits;
using isa::Opcode;
using ArgumentKind = ir::Argument::Kind;

constexpr int start_bits = 14;  // of the start address, which is the lowest field
constexpr Bits above_start(Bits b) {
  return b.is_nothing() ? b : Bits{b.zero & ~flow::low_mask(start_bits), b.one & ~flow::low_mask(start_bits)};
}

// The bits of a descriptor, or of its lower word, above the start address, as if no sum were carried out of that.
// Kernels add to a start address without end, in a loop for example: known bits then tell nothing of the field above.
class WithoutCarry {
 public:
  explicit WithoutCarry(const Facts& f) : f_(f) {}

  Bits of(const ir::Argument& a, int width) {
    const Bits known = f_.known.of(a, width);
    if (a.kind != ArgumentKind::reg || a.value != 0 || known.knows(~flow::low_mask(start_bits)))
      return above_start(known);
    if (std::find(open_.begin(), open_.end(), a.id) != open_.end()) return Bits::nothing();  // round a loop
    if (open_.size() >= most_writers || f_.definitions.writers(a.id).empty()) return above_start(known);
    open_.push_back(a.id);
    Bits out = Bits::nothing();
    for (const std::uint32_t writer : f_.definitions.writers(a.id))
      out = flow::join(out, written_by(f_.code.operations[writer], width, known));
    open_.pop_back();
    return out;
  }

 private:
  static constexpr std::size_t most_writers = 24, most_counted = 64;  // one after the other; registers

  Bits written_by(const ir::Operation& op, int width, Bits known) {
    const ops::Alu alu = ops::roles<ops::Alu>(op);
    switch (op.opcode) {
      case Opcode::mov: return alu.d->kind == ArgumentKind::reg ? moved(alu.a, width) : above_start(known);
      case Opcode::shfl: return of(ops::roles<ops::WarpExchange>(op).a, width);
      case Opcode::add:
        if (stays(alu.b, width)) return of(alu.a, width);
        return stays(alu.a, width) ? of(alu.b, width) : sum(of(alu.a, width), of(alu.b, width));
      case Opcode::sub: return stays(alu.b, width) ? of(alu.a, width) : above_start(known);
      case Opcode::or_: {
        const Bits a = of(alu.a, width), b = of(alu.b, width);
        return a.is_nothing() || b.is_nothing() ? Bits::nothing() : a | b;
      }
      default: return above_start(known);
    }
  }

  static Bits sum(Bits a, Bits b) {
    if (a.is_nothing() || b.is_nothing()) return Bits::nothing();
    a.zero |= flow::low_mask(start_bits);
    return above_start(flow::add(a, b));
  }

  // {lower word, upper word} or a register.
  Bits moved(const ir::Argument& from, int width) {
    if (from.kind != ArgumentKind::vector) return of(from, width);
    const auto words = f_.code.components(from);
    if (words.size() != 2 || width != 64) return above_start(Bits::unknown(width));
    const Bits low = of(words[0], 32);
    if (low.is_nothing()) return low;
    return flow::truncate(low, 32) | flow::shift_left(f_.known.of(words[1], 32), 32);
  }

  // Whether a summand is a part of the start address: a number that is smaller, with or without a sign, or one that the
  // kernel counts, as the stage of a ring.
  bool stays(const ir::Argument& a, int width) const {
    const Bits added = f_.known.of(a, width);
    constexpr std::uint64_t limit = std::uint64_t{1} << start_bits;
    if (added.is_constant()) return added.one < limit || flow::low_mask(width) - added.one < limit;
    if (added.largest() < limit) return true;
    std::vector<ir::RegisterId> seen;
    return is_counted(a, seen);
  }

  // Made of constants alone, by arithmetic, whatever chooses between them.
  bool is_counted(const ir::Argument& a, std::vector<ir::RegisterId>& seen) const {
    if (a.kind == ArgumentKind::immediate) return true;
    if (a.kind != ArgumentKind::reg) return false;
    if (f_.code.registers[a.id].type == isa::ScalarType::pred) return true;
    if (std::find(seen.begin(), seen.end(), a.id) != seen.end()) return true;
    seen.push_back(a.id);
    const auto writers = f_.definitions.writers(a.id);
    return !writers.empty() && seen.size() < most_counted &&
           std::all_of(writers.begin(), writers.end(), [&](std::uint32_t writer) {
             const ir::Operation& op = f_.code.operations[writer];
             const bool computes = isa::unit(op.opcode) == isa::Unit::alu || op.opcode == Opcode::shfl;
             const auto sources = std::span(op.arguments).subspan(op.arguments.empty() ? 0 : 1);
             return computes && std::all_of(sources.begin(), sources.end(),
                                            [&](const ir::Argument& s) { return is_counted(s, seen); });
           });
  }

  const Facts& f_;
  std::vector<ir::RegisterId> open_{};
};

struct Field {
  int at, width;
  const char* name;
  std::uint64_t mask() const { return flow::low_mask(width) << at; }
};
constexpr Field leading{16, 14, "leading dimension offset"}, stride{32, 14, "stride dimension offset"},
    base_offset{49, 3, "base offset"}, swizzle{61, 3, "swizzle"};

std::optional<std::uint32_t> value(Bits bits, const Field& f) {
  if (!bits.knows(f.mask())) return std::nullopt;
  return std::uint32_t((bits.one & f.mask()) >> f.at);
}

Layout read(Bits bits, isa::Major major, bool reads_leading) {
  const auto bytes = [&](const Field& f) {
    const auto units = value(bits, f);
    return units ? std::optional(*units * isa::descriptor_unit_bytes) : std::nullopt;
  };
  Layout out{major, std::nullopt, bytes(leading), bytes(stride), value(bits, base_offset)};
  if (const auto code = value(bits, swizzle)) out.swizzle = isa::descriptor_swizzle(std::uint8_t(*code));
  if (!reads_leading) out.leading = 0;  // the same for all
  return out;
}

}  // namespace

LayoutFound layout_of(const Facts& facts, const ir::Argument& descriptor, isa::Major major, bool always_leads) {
  const Bits known = facts.known.of(descriptor, 64);
  const auto code = value(known, swizzle);
  const bool reads_leading = always_leads || major == isa::Major::MN || !code ||
                             isa::descriptor_swizzle(std::uint8_t(*code)) == isa::Swizzle::none;
  std::vector<Field> fields{stride, base_offset, swizzle};
  if (reads_leading) fields.push_back(leading);
  std::uint64_t mask = 0;
  for (const Field& f : fields) mask |= f.mask();
  LayoutFound out{read(known, major, reads_leading), {}, {}};
  if (known.knows(mask)) return out;
  const Bits bits = WithoutCarry(facts).of(descriptor, 64);
  if (bits.knows(mask)) {
    out.layout = read(bits, major, reads_leading);
    out.assumption = LayoutAssumption{&descriptor, mask, bits.one & mask};
    return out;
  }
  for (const Field& f : fields)
    if (!bits.knows(f.mask())) out.unknown += (out.unknown.empty() ? "" : ", ") + std::string(f.name);
  return out;
}

}  // namespace kiln::lower
