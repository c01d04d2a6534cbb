#include "ptx/flow/demand.hpp"

#include <algorithm>
#include <numeric>

#include "ptx/flow/division.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::flow {
namespace {

using isa::Opcode;
using Kind = ir::Argument::Kind;

constexpr Demand everything{~std::uint64_t{0}, false};
constexpr Demand parity{1, false};
constexpr Demand made{0, false, 1, true};
constexpr std::uint64_t largest_modulus = 1 << 20;

// The bits of operands of a sum or product on which some bits of it hang: those up to the highest.
Demand below(Demand d) { return {low_mask(64 - std::countl_zero(d.bits)), d.compared, d.modulus, d.made}; }

bool reads_carry(const ir::Operation& op) {
  return op.opcode == Opcode::addc || op.opcode == Opcode::subc || op.opcode == Opcode::madc;
}

}  // namespace

Demands::Demands(const ir::Code& code, const Cfg& cfg, const Definitions& definitions, const KnownBits& known,
                 const Roots& roots)
    : code_(&code),
      definitions_(&definitions),
      known_(&known),
      sums_(code, cfg, definitions, known),
      demands_(code.registers.size()) {
  Wanted wanted;
  for (const ir::Operation& op : code.operations) roots(op, wanted);
  for (const ir::Argument* a : wanted.arguments) want(*a, everything);
  for (const ir::Argument* a : wanted.parities) want(*a, parity);
  for (const ir::RegisterId r : wanted.registers) want(r, everything);
  settle();
  for (const ir::Argument* a : wanted.rough) want_roughly(*a);
  settle();
}

void Demands::settle() {
  while (!work_.empty()) {
    const ir::RegisterId r = work_.back();
    work_.pop_back();
    for (std::uint32_t w : definitions_->writers(r)) want_operands(code_->operations[w], demands_[r]);
  }
}

bool Demands::matters(std::uint32_t operation) const {
  const auto written = definitions_->written(operation);
  return std::any_of(written.begin(), written.end(), [&](ir::RegisterId r) { return demands_[r].any(); });
}

void Demands::want(ir::RegisterId r, Demand d) {
  const bool was_rough = rough_.erase(r) > 0;
  const Demand old = demands_[r];
  Demand now{old.bits | d.bits, old.compared || d.compared, std::lcm(old.modulus, d.modulus), old.made || d.made};
  if (now.modulus > largest_modulus) now.bits = ~std::uint64_t{0}, now.modulus = 1;
  if (now == old && !was_rough) return;
  demands_[r] = now;
  work_.push_back(r);
}

void Demands::want(const ir::Argument& a, Demand d) {
  switch (a.kind) {
    case Kind::reg: return want(a.id, d);
    case Kind::vector:
    case Kind::list:
    case Kind::pair:
    case Kind::address:
      for (const ir::Argument& part : code_->components(a)) want(part, everything);
      return;
    default: return;
  }
}

void Demands::want_roughly(const ir::Argument& a) {
  if (a.kind == Kind::address)
    for (const ir::Argument& part : code_->components(a)) want_roughly(part);
  else if (a.kind != Kind::reg || !want_all_but_small(a.id))
    want(a, everything);
}

// A sum with a small addend, or with a sum that has one. What is wanted for something else too is wanted as it is.
bool Demands::want_all_but_small(ir::RegisterId r) {
  if (rough_.contains(r)) return true;
  const auto writers = definitions_->writers(r);
  if (demands_[r].counts() || writers.size() != 1) return false;
  const ir::Operation& op = code_->operations[writers.front()];
  if (op.opcode != Opcode::add || op.guard || isa::is_floating(op.modifiers.type())) return false;
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  for (const auto& [x, other] : {std::pair(alu.a, alu.b), std::pair(alu.b, alu.a)}) {
    const Bits part = known_->of(x, 64);
    const bool is_small = !part.value() && part.largest() <= most_small;
    if (x->kind != Kind::reg || !(is_small || want_all_but_small(x->id))) continue;
    want(other, everything);
    demands_[r] = everything;
    return rough_.insert(r).second;
  }
  return false;
}

void Demands::want_sources(const ir::Operation& op, Demand d) {
  for (const ir::Argument& a : std::span(op.arguments).subspan(1)) want(a, d);
}

// The low bits of a quotient hang on the rest of the dividend modulo the divisor times a power of two.
bool Demands::want_through_division(const ir::Operation& op, Demand d) {
  if (const auto division = remainder(*code_, *definitions_, *known_, op))
    return want(*division->dividend, {0, false, division->divisor}), want_sources(op, made), true;
  if (const std::vector<Division> rests = sums_.rests(op); !rests.empty()) {
    std::vector<ir::RegisterId>& kept = kept_[code_->index(op)];
    kept.clear();
    for (const Division& rest : rests)
      want(*rest.dividend, {0, false, rest.divisor}), kept.push_back(rest.dividend->id);
    return want_sources(op, made), true;
  }
  const auto division = quotient(*code_, *definitions_, *known_, op);
  const int bits = 64 - std::countl_zero(d.bits);
  if (!division || std::has_single_bit(division->divisor) || bits > 16) return false;
  return want(*division->dividend, {0, false, division->divisor << bits}), want_sources(op, made), true;
}

// The rest modulo a power of two: operations on bits make it of the rests of their operands.
bool Demands::want_low_bits(const ir::Operation& op, std::uint64_t modulus) {
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  const auto number = known_->constant(alu.b, 32);
  switch (op.opcode) {
    case Opcode::and_:
    case Opcode::or_:
    case Opcode::xor_: return want_sources(op, {0, false, modulus}), true;
    case Opcode::shl:
      if (!number || *number > 63) return false;
      return want(alu.a, {0, false, std::max<std::uint64_t>(1, modulus >> *number), true}), true;
    default: return false;
  }
}

// Operations through which bits can be followed. What is compared goes on being compared through sums alone.
bool Demands::want_through_number(const ir::Operation& op, Demand d) {
  const ops::Alu alu = ops::roles<ops::Alu>(op);
  const auto number = known_->constant(alu.b, 32);  // the distance of a shift
  const Demand plain{d.compared || d.modulus > 1 ? ~std::uint64_t{0} : d.bits, false};
  if (want_through_division(op, plain)) return true;
  if (!d.bits && !d.compared && std::has_single_bit(d.modulus) && want_low_bits(op, d.modulus)) return true;
  switch (op.opcode) {
    case Opcode::mov:
      if (alu.d->kind != Kind::reg || alu.a->kind == Kind::vector) return false;
      return want(alu.a, d), true;
    case Opcode::cvt:
      if (isa::is_floating(op.modifiers.types[0]) || isa::is_floating(op.modifiers.types[1])) return false;
      return want(alu.a, isa::is_signed(op.modifiers.types[1]) ? Demand{~std::uint64_t{0}, d.compared} : d), true;
    case Opcode::add:
    case Opcode::sub: return want_sources(op, below(d)), true;
    case Opcode::mul:
    case Opcode::mad:
      if (op.modifiers.half == isa::HalfSelect::hi) return false;
      if (op.modifiers.half == isa::HalfSelect::wide && isa::is_signed(op.modifiers.type())) return false;
      return want_sources(op, below(plain)), true;
    case Opcode::and_:
      for (const auto& [x, mask] : {std::pair(alu.a, alu.b), std::pair(alu.b, alu.a)})
        want(x, {plain.bits & ~(known_->of(mask, 64).zero), false});
      return true;
    case Opcode::or_:
    case Opcode::xor_:
    case Opcode::not_: return want_sources(op, plain), true;
    case Opcode::shl:
      if (!number || *number > 63) return false;
      return want(alu.a, {plain.bits >> *number, false}), true;
    case Opcode::shr:
      if (!number || *number > 63 || isa::is_signed(op.modifiers.type())) return false;
      return want(alu.a, {plain.bits << *number, false}), true;
    case Opcode::selp: want(alu.a, d), want(alu.b, d), want(alu.c, everything); return true;
    default: return false;
  }
}

void Demands::want_operands(const ir::Operation& op, Demand d) {
  if (!d.counts() && !op.guard) {
    for (const ir::RegisterId r : code_->read(op)) want(r, made);
    return;
  }
  if (op.guard) want(*op.guard, everything);
  if (d.any() && op.opcode == Opcode::setp) {
    const ops::Alu alu = ops::roles<ops::Alu>(op);
    want(alu.a, {0, true}), want(alu.b, {0, true}), want(alu.c, everything);
    return;
  }
  if (isa::unit(op.opcode) == isa::Unit::alu && !isa::is_floating(op.modifiers.type()) && want_through_number(op, d))
    return;
  if (isa::unit(op.opcode) == isa::Unit::mbarrier && op.modifiers.parity) {
    const auto wait = ops::roles<ops::Mbarrier>(op);
    want(wait.object, everything), want(wait.parity, parity), want(wait.time_limit, everything);
    return;
  }
  for (const ir::RegisterId r : code_->read(op)) want(r, everything);
  if (reads_carry(op)) want_carries();
}

// The carry is no register: every instruction that makes one is taken to make this one.
void Demands::want_carries() {
  if (wants_carries_) return;
  wants_carries_ = true;
  for (const ir::Operation& op : code_->operations)
    if (op.modifiers.carry)
      for (const ir::RegisterId r : code_->read(op)) want(r, everything);
}

}  // namespace kiln::flow
