#include "lower/earlier/forms.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "ptx/ops/features.hpp"

namespace kiln::lower {
namespace {

using isa::Feature;
using Operands = std::vector<ir::Operand>;

std::string name(const ir::Operation& op) { return std::string(isa::spelling(op.opcode)); }

// ".rn.ftz": the modifiers as they stand there, without types, those that are named, and those that begin so.
std::string modifiers(const ir::Operation& op, std::initializer_list<std::string_view> without,
                      std::string_view beginning = ".") {
  std::string out;
  for (const std::string& m : op.instruction->modifiers)
    if (!isa::parse_type(m) && !m.starts_with(beginning) &&
        std::find(without.begin(), without.end(), m) == without.end())
      out += "." + m;
  return out;
}

// Registers and numbers, in an address or a list of its own at most.
bool is_plain(const ir::Operand& o) {
  using Kind = ir::Operand::Kind;
  if (o.kind == Kind::address || o.kind == Kind::vector) return std::all_of(o.items.begin(), o.items.end(), is_plain);
  return o.kind == Kind::name || o.kind == Kind::integer || o.kind == Kind::real;
}

// `name to, inputs...`.
void write(Builder& b, const std::string& name, const ir::Operand& to, const Registers& inputs) {
  switch (inputs.size()) {
    case 1: return b.op(name, to, inputs[0]);
    case 2: return b.op(name, to, inputs[0], inputs[1]);
    default: return b.op(name, to, inputs[0], inputs[1], inputs[2]);
  }
}

// Each half of its own: packed and scalar arithmetic round alike.
void write_halves(Builder& b, const ir::Operation& op) {
  const Operands& o = operands(op);
  Registers inputs[2];
  for (std::size_t i = 1; i < o.size(); ++i) {
    for (Registers& half : inputs) half.push_back(b.reg(ScalarType::b32));
    b.op("mov.b64", vec(inputs[0].back(), inputs[1].back()), without_offset(o[i]));
  }
  const Registers results = b.regs(ScalarType::b32, 2);
  const std::string form = name(op) + modifiers(op, {}) + ".f32";
  for (std::size_t half = 0; half < 2; ++half) write(b, form, ir::Operand::named(b.name(results[half])), inputs[half]);
  b.op("mov.b64", without_offset(o[0]), vec(results, 0, 2));
}

// One after the other; magnitudes are taken first.
void write_two_of_three(Builder& b, const ir::Operation& op) {
  const Operands& o = operands(op);
  const char* copy = op.modifiers.absolute ? op.modifiers.ftz ? "abs.ftz.f32" : "abs.f32" : "mov.f32";
  Registers inputs;
  for (std::size_t i = 1; i < o.size(); ++i) inputs.push_back(b.b32(copy, without_offset(o[i])));
  const std::string two = name(op) + modifiers(op, {"abs"}) + ".f32";
  b.op(two, inputs[0], inputs[0], inputs[1]);
  b.op(two, without_offset(o[0]), inputs[0], inputs[2]);
}

// A narrower float has an f32 of the same value. The last input is one already.
void write_widened(Builder& b, const ir::Operation& op) {
  const Operands& o = operands(op);
  const std::string widen = dotted({"cvt.f32", isa::spelling(op.modifiers.types[1])});
  Registers inputs;
  for (std::size_t i = 1; i + 1 < o.size(); ++i) inputs.push_back(b.b32(widen, without_offset(o[i])));
  const std::string form = name(op) + modifiers(op, {}) + ".f32";
  if (inputs.size() == 1)
    b.op(form, without_offset(o[0]), inputs[0], without_offset(o.back()));
  else
    b.op(form, without_offset(o[0]), inputs[0], inputs[1], without_offset(o.back()));
}

// Two of 128 bits. What a load's first half writes may be its address. Which lines L2 is to keep can be said only of
// 256 bits.
void write_two_accesses(Builder& b, const ir::Operation& op) {
  const Operands& o = operands(op);
  const bool stores = op.opcode == isa::Opcode::st;
  const ir::Operand& address = o[stores ? 0 : 1].items.at(0);
  const Operands& values = o[stores ? 1 : 0].items;
  const auto half_size = std::ptrdiff_t(values.size() / 2);
  const std::string form = name(op) + modifiers(op, {"v8", "v4"}, "L2::evict") +
                           (values.size() == 8 ? ".v4." : ".v2.") + std::string(isa::spelling(op.modifiers.type()));
  const Register base = b.b64("mov.b64", without_offset(address));
  for (std::ptrdiff_t half = 0; half < 2; ++half) {
    const auto begin = values.begin() + half * half_size;
    const ir::Operand list = ir::Operand::vector({begin, begin + half_size});
    const Term place = at(base, address.value + 16 * half);
    if (stores)
      b.op(form, place, list);
    else
      b.op(form, list, place);
  }
}

Writer form_without(Feature feature, const ir::Operation& op) {
  switch (feature) {
    case Feature::launch_control:
    case Feature::launch_control_all: return write_without_launch_control;
    case Feature::hopper:
    case Feature::bulk_copy:
    case Feature::transactions:
    case Feature::cluster_order:
    case Feature::elect:
    case Feature::async_store:
    case Feature::mbarrier_relaxed:
    case Feature::sync_restrict: return form_before_hopper(op);
    default: break;
  }
  if (!std::all_of(operands(op).begin(), operands(op).end(), is_plain)) return nullptr;
  switch (feature) {
    case Feature::packed_f32: return write_halves;
    case Feature::three_inputs: return write_two_of_three;
    case Feature::mixed_floats: return write_widened;
    case Feature::access_256: return write_two_accesses;
    default: return nullptr;
  }
}

// What of it the target must have when groups of one CTA are no groups, the copies of a pair are replaced, and on a
// target without clusters each CTA is its own.
std::vector<Feature> features_when_lowered(const ir::Operation& op, isa::Target target) {
  ir::Operation alone = op;
  alone.modifiers.cta_group = isa::CtaGroup::none;
  if (isa::has_clusters(target)) return ops::features(alone);
  if (alone.modifiers.scope == isa::Scope::cluster) alone.modifiers.scope = isa::Scope::cta;
  for (isa::Space& s : alone.modifiers.spaces.at)
    if (s == isa::Space::shared_cluster) s = isa::Space::shared_cta;
  return ops::features(alone);
}

}  // namespace

Writer earlier_form(const ir::Operation& op, isa::Target target) {
  for (const Feature f : features_when_lowered(op, target))
    if (!isa::has(f, target)) return form_without(f, op);
  return nullptr;
}

std::string missing_for(const ir::Operation& op, isa::Target target) {
  if (isa::unit(op.opcode) == isa::Unit::tcgen05 || op.opcode == isa::Opcode::setmaxnreg) return {};
  for (const Feature f : features_when_lowered(op, target)) {
    if (isa::has(f, target) || form_without(f, op)) continue;
    const bool is_anything = f == Feature::hopper;  // which says little
    return (is_anything ? ir::mnemonic(*op.instruction) : std::string(isa::spelling(f))) + " for " +
           isa::spelling(target);
  }
  return {};
}

namespace {

// Registers whose names no name of the function begins with: it may have been lowered before.
std::string free_prefix(const ir::Code& code) {
  const auto is_taken = [&](const std::string& prefix) {
    return std::any_of(code.registers.begin(), code.registers.end(),
                       [&](const auto& r) { return r.name.starts_with('%' + prefix); }) ||
           std::any_of(code.labels.begin(), code.labels.end(),
                       [&](const auto& l) { return l.second.starts_with(prefix); });
  };
  std::string out = reserved_prefix;
  for (int i = 2; is_taken(out); ++i) out = "lw" + std::to_string(i) + '_';
  return out;
}

}  // namespace

ir::Function in_earlier_forms(const ir::Function& f, const ir::Code& code, isa::Target target) {
  std::unordered_map<const ir::Instruction*, const ir::Operation*> operation;
  for (const ir::Operation& op : code.operations) operation[op.instruction] = &op;
  Builder b(free_prefix(code));
  b.copy(f.body->statements, [&](const ir::Instruction& i) {
    const ir::Operation& op = *operation.at(&i);
    if (const Writer write = earlier_form(op, target)) return b.under(i.guard, [&] { write(b, op); });
    ir::Instruction same = i;
    if (!isa::has_clusters(target)) say_cta_for_cluster(same);
    b.add({std::move(same)});
  });
  ir::Function out = f;
  out.body->statements = b.take();
  if (!isa::has_clusters(target))
    std::erase_if(out.performance, [](const ir::Performance& d) { return d.name == "reqnctapercluster"; });
  return out;
}

}  // namespace kiln::lower
