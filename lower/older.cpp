#include "lower/older.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "lower/before_hopper.hpp"
#include "lower/launch_control.hpp"
#include "ptx/ir/features.hpp"

namespace kiln::lower {
namespace {

using isa::Feature;
using Operands = std::vector<ir::Operand>;

const Operands& operands(const ir::Operation& op) { return op.instruction->operands; }

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

// Each half of its own: packed and scalar arithmetic round alike.
Text halves(const ir::Operation& op) {
  Text out;
  const Operands& o = operands(op);
  out.line(".reg .f32 %lw_h<8>;");
  for (std::size_t i = 1; i < o.size(); ++i)
    out.line("mov.b64 {{%lw_h{}, %lw_h{}}}, {};", 2 * i, 2 * i + 1, text(o[i]));
  for (int half = 0; half < 2; ++half) {
    std::string inputs;
    for (std::size_t i = 1; i < o.size(); ++i) inputs += fmt::format(", %lw_h{}", 2 * i + std::size_t(half));
    out.line("{}{}.f32 %lw_h{}{};", name(op), modifiers(op, {}), half, inputs);
  }
  out.line("mov.b64 {}, {{%lw_h0, %lw_h1}};", text(o[0]));
  return out;
}

// One after the other; magnitudes are taken first.
Text two_of_three(const ir::Operation& op) {
  Text out;
  const Operands& o = operands(op);
  out.line(".reg .f32 %lw_h<4>;");
  const char* copy = op.modifiers.absolute ? op.modifiers.ftz ? "abs.ftz.f32" : "abs.f32" : "mov.f32";
  for (std::size_t i = 1; i < o.size(); ++i) out.line("{} %lw_h{}, {};", copy, i, text(o[i]));
  const std::string two = name(op) + modifiers(op, {"abs"}) + ".f32";
  out.line("{} %lw_h1, %lw_h1, %lw_h2;", two);
  out.line("{} {}, %lw_h1, %lw_h3;", two, text(o[0]));
  return out;
}

// A narrower float has an f32 of the same value. The last input is one already.
Text widened(const ir::Operation& op) {
  Text out;
  const Operands& o = operands(op);
  out.line(".reg .f32 %lw_h<4>;");
  std::string inputs;
  for (std::size_t i = 1; i + 1 < o.size(); ++i) {
    out.line("cvt.f32.{} %lw_h{}, {};", isa::spelling(op.modifiers.types[1]), i, text(o[i]));
    inputs += fmt::format(", %lw_h{}", i);
  }
  out.line("{}{}.f32 {}{}, {};", name(op), modifiers(op, {}), text(o[0]), inputs, text(o.back()));
  return out;
}

// Two of 128 bits. What a load's first half writes may be its address. Which lines L2 is to keep can be said only of
// 256 bits.
Text two_accesses(const ir::Operation& op) {
  Text out;
  const Operands& o = operands(op);
  const bool stores = op.opcode == isa::Opcode::st;
  const ir::Operand& address = o[stores ? 0 : 1].items.at(0);
  const Operands& values = o[stores ? 1 : 0].items;
  const char* vector = values.size() == 8 ? "v4" : "v2";
  const std::string form = fmt::format("{}{}.{}.{}", name(op), modifiers(op, {"v8", "v4"}, "L2::evict"), vector,
                                       isa::spelling(op.modifiers.type()));
  out.line(".reg .b64 %lw_h;");
  out.line("mov.b64 %lw_h, {};", text(address));
  for (std::size_t half = 0; half < 2; ++half) {
    std::string list;
    for (std::size_t i = 0; i < values.size() / 2; ++i)
      list += (i ? ", " : "") + text(values[half * values.size() / 2 + i]);
    const std::string at = fmt::format("[%lw_h+{}]", address.value + std::int64_t(16 * half));
    if (stores)
      out.line("{} {}, {{{}}};", form, at, list);
    else
      out.line("{} {{{}}}, {};", form, list, at);
  }
  return out;
}

std::optional<Text> form_without(Feature feature, const ir::Operation& op) {
  switch (feature) {
    case Feature::launch_control:
    case Feature::launch_control_all: return without_launch_control(op);
    case Feature::hopper:
    case Feature::mbarrier_relaxed:
    case Feature::sync_restrict: return without_hopper(op);
    default: break;
  }
  if (!std::all_of(operands(op).begin(), operands(op).end(), is_plain)) return std::nullopt;
  switch (feature) {
    case Feature::packed_f32: return halves(op);
    case Feature::three_inputs: return two_of_three(op);
    case Feature::mixed_floats: return widened(op);
    case Feature::access_256: return two_accesses(op);
    default: return std::nullopt;
  }
}

// What of it the target must have when groups of one CTA are no groups, the copies of a pair are replaced, and on a
// target without clusters each CTA is its own.
std::vector<Feature> features_when_lowered(const ir::Operation& op, isa::Target target) {
  ir::Operation alone = op;
  alone.modifiers.cta_group = isa::CtaGroup::none;
  if (isa::has_clusters(target)) return ir::features(alone);
  if (alone.modifiers.scope == isa::Scope::cluster) alone.modifiers.scope = isa::Scope::cta;
  for (isa::Space& s : alone.modifiers.spaces.at)
    if (s == isa::Space::shared_cluster) s = isa::Space::shared_cta;
  return ir::features(alone);
}

}  // namespace

std::optional<Text> older_form(const ir::Operation& op, isa::Target target) {
  for (const Feature f : features_when_lowered(op, target))
    if (!isa::has(f, target)) return form_without(f, op);
  return std::nullopt;
}

std::string missing_for(const ir::Operation& op, isa::Target target) {
  if (isa::unit(op.opcode) == isa::Unit::tcgen05 || op.opcode == isa::Opcode::setmaxnreg) return {};
  for (const Feature f : features_when_lowered(op, target)) {
    if (isa::has(f, target) || form_without(f, op)) continue;
    const bool is_anything = f == Feature::hopper;  // which says little
    return fmt::format("{} for {}", is_anything ? ir::mnemonic(*op.instruction) : isa::spelling(f),
                       isa::spelling(target));
  }
  return {};
}

namespace {

class Replacement {
 public:
  Replacement(const ir::Code& code, isa::Target target) : target_(target) {
    for (const ir::Operation& op : code.operations) operation_[op.instruction] = &op;
  }

  std::vector<ir::Statement> of(const std::vector<ir::Statement>& body) const {
    std::vector<ir::Statement> out;
    for (const ir::Statement& s : body) {
      if (const auto* block = std::get_if<ir::Block>(&s.node))
        out.push_back({ir::Block{of(block->statements), block->at}});
      else if (const auto* instruction = std::get_if<ir::Instruction>(&s.node))
        add(out, *instruction);
      else
        out.push_back(s);
    }
    return out;
  }

 private:
  void add(std::vector<ir::Statement>& out, const ir::Instruction& i) const {
    if (const auto older = older_form(*operation_.at(&i), target_)) return replace(out, i, *older);
    out.push_back({i});
    if (!isa::has_clusters(target_)) say_cta_for_cluster(std::get<ir::Instruction>(out.back().node));
  }

  isa::Target target_;
  std::unordered_map<const ir::Instruction*, const ir::Operation*> operation_{};
};

}  // namespace

ir::Function in_older_forms(const ir::Function& f, const ir::Code& code, isa::Target target) {
  ir::Function out = f;
  out.body->statements = Replacement(code, target).of(f.body->statements);
  if (!isa::has_clusters(target))
    std::erase_if(out.performance, [](const ir::Performance& d) { return d.name == "reqnctapercluster"; });
  return out;
}

}  // namespace kiln::lower
