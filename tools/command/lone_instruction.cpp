#include "tools/command/lone_instruction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ptx/diag/error.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/parse/parse.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tools/command/instruction_words.hpp"
#include "verifier/verify.hpp"

namespace kiln::command {
namespace {

using isa::ScalarType;

// What nvcc and most people call registers: %p1, %rs1, %r1, %rd1, %f1, %fd1.
std::optional<ScalarType> type_by_name(std::string_view name) {
  constexpr std::pair<std::string_view, ScalarType> prefixes[] = {{"%p", ScalarType::pred}, {"%rs", ScalarType::b16},
                                                                  {"%r", ScalarType::b32},  {"%rd", ScalarType::b64},
                                                                  {"%f", ScalarType::f32},  {"%fd", ScalarType::f64}};
  const std::string_view prefix = name.substr(0, name.find_first_of("0123456789"));
  const std::string_view number = name.substr(prefix.size());
  for (const auto& [spelled, type] : prefixes)
    if (prefix == spelled && std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c); }))
      return type;
  return std::nullopt;
}

void declare(const std::string& name, ScalarType type, RegisterTypes& out) {
  if (ir::special_register(name) != ir::Special::none) return;
  out.emplace(name, type_by_name(name).value_or(type));
}

// Every name in an operand; `type` is that of the place where it stands.
void declare(const ir::Operand& o, ScalarType type, RegisterTypes& out) {
  using Kind = ir::Operand::Kind;
  if (o.is_name()) return declare(o.text, type, out);
  for (std::size_t i = 0; i < o.items.size(); ++i) {
    const bool coordinates = o.kind == Kind::address && i > 0, second = o.kind == Kind::pair && i == 1;
    declare(o.items[i], coordinates ? ScalarType::b32 : second ? ScalarType::pred : type, out);
  }
}

// The type of an operand of which the table says nothing: an address, or what the modifiers name.
ScalarType usual_type(const ir::Operand& o, const isa::Modifiers& m, bool is_result) {
  if (o.kind == ir::Operand::Kind::address) return ScalarType::b64;
  const ScalarType type = m.types[is_result || m.types.count == 0 ? 0 : m.types.count - 1];
  return type == ScalarType::none ? ScalarType::b32 : type;
}

RegisterTypes declarations(const ir::Instruction& i, const RegisterTypes& declared) {
  RegisterTypes out;
  const isa::Modifiers m = isa::decode_modifiers(i.modifiers);
  const InstructionWords* words = find_words(i);
  const auto slots = words ? slots_of(i, *words) : std::vector<const Slot*>(i.operands.size());
  if (i.guard) declare(i.guard->predicate, ScalarType::pred, out);
  for (std::size_t k = 0; k < i.operands.size(); ++k)
    declare(i.operands[k], slots[k] ? slots[k]->type : usual_type(i.operands[k], m, k == 0), out);
  for (auto& [name, type] : out)
    if (const auto known = declared.find(name); known != declared.end()) type = known->second;
  return out;
}

// The names are parameters: nothing is known of their values. A function that is no kernel may rely on what its caller
// did, so that what an instruction needs before or after it (an allocation, a barrier's arrivals) is not missed.
ir::Module parse_function(const std::string& text, const RegisterTypes& names) {
  std::string parameters;
  for (const auto& [name, type] : names)
    parameters += fmt::format("{}.reg .{} {}", parameters.empty() ? "" : ", ", isa::spelling(type), name);
  const auto source = std::make_shared<const diag::Source>(
      "instruction", fmt::format(".version 9.0\n.target sm_100a\n.address_size 64\n.func kiln_lone_instruction({})\n"
                                 "{{\n{};\n}}\n",
                                 parameters, text));
  diag::Sink sink;
  ir::Module module = parse::parse(source, sink);
  for (const diag::Diagnostic& d : sink.all())
    if (d.severity == diag::Severity::error) throw diag::InputError(fmt::format("'{}': {}", text, d.message));
  return module;
}

const ir::Instruction* only_instruction(const ir::Module& module) {
  const ir::Function* f = module.find_function("kiln_lone_instruction");
  if (!f || !f->body || f->body->statements.size() != 1) return nullptr;
  return std::get_if<ir::Instruction>(&f->body->statements[0].node);
}

// The caller's part, and the user's: a live fill before a collector's use, and names of labels and functions.
bool is_about_surroundings(const diag::Diagnostic& d) {
  return d.slug == rules::info(rules::Rule::collector_fill).slug || d.slug == "undeclared-name";
}

}  // namespace

LoneInstruction::LoneInstruction(std::string text, const RegisterTypes& declared) : text_(std::move(text)) {
  while (!text_.empty() && (std::isspace(static_cast<unsigned char>(text_.back())) || text_.back() == ';'))
    text_.pop_back();
  const ir::Module bare = parse_function(text_, {});
  const ir::Instruction* i = only_instruction(bare);
  if (!i) throw diag::InputError(fmt::format("'{}' is not one instruction", text_));
  module_ = parse_function(text_, declarations(*i, declared));
}

const ir::Instruction& LoneInstruction::instruction() const { return *only_instruction(module_); }

std::string LoneInstruction::written(const ir::Operand& o) const { return std::string(module_.source->text(o.at)); }

std::optional<isa::MmaForm> LoneInstruction::mma_form() const {
  diag::Sink sink;
  const ir::Code code = ir::decode(module_, *module_.find_function("kiln_lone_instruction"), sink);
  const auto mma = ops::as<ops::Mma>(code.operations[0]);
  if (!mma || mma->form.kind == isa::MmaKind::none) return std::nullopt;
  return mma->form;
}

std::vector<diag::Diagnostic> LoneInstruction::findings(isa::Target target, isa::PtxVersion version) const {
  ir::Module module = module_;
  module.version = version;
  module.targets = {isa::spelling(target)};
  diag::Sink sink;
  verifier::check(module, sink);
  std::vector<diag::Diagnostic> out;
  for (const diag::Diagnostic& d : sink.all())
    if ((d.severity == diag::Severity::error || d.severity == diag::Severity::incomplete) && !is_about_surroundings(d))
      out.push_back(d);
  return out;
}

TargetAnswer LoneInstruction::ask(isa::Target target) const {
  TargetAnswer answer{target, {}, findings(target, isa::newest_version)};
  if (!answer.findings.empty()) return answer;
  isa::PtxVersion v = isa::lowest_version(target);
  while (v < isa::newest_version && !findings(target, v).empty())
    v = v.minor < 9 ? isa::PtxVersion{v.major, v.minor + 1} : isa::PtxVersion{v.major + 1, 0};
  answer.lowest = v;
  return answer;
}

}  // namespace kiln::command
