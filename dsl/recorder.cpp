#include "dsl/recorder.hpp"

#include <algorithm>

#include "ptx/diag/error.hpp"
#include "ptx/rules/dsl.hpp"
#include "ptx/rules/finding.hpp"

namespace kiln::dsl {
namespace {

struct RegisterClass {
  ScalarType type;
  const char* prefix;
};

constexpr RegisterClass classes[] = {{ScalarType::pred, "%p"}, {ScalarType::b8, "%b"},    {ScalarType::b16, "%h"},
                                     {ScalarType::b32, "%r"},  {ScalarType::b64, "%rd"},  {ScalarType::b128, "%rq"},
                                     {ScalarType::f32, "%f"},  {ScalarType::f64, "%fd"}};

const char* prefix_of(ScalarType cls) {
  for (const RegisterClass& c : classes)
    if (c.type == cls) return c.prefix;
  throw diag::InternalError("no register class for ." + std::string(isa::spelling(cls)));
}

ir::Instruction instruction(std::string_view mnemonic, std::vector<ir::Operand> operands) {
  ir::Instruction i;
  const isa::OpcodeMatch match = isa::match_opcode(mnemonic);
  i.opcode = match.opcode;
  if (match.opcode == Opcode::unknown) i.unknown_name = mnemonic.substr(0, match.length);
  for (std::size_t at = match.length; at < mnemonic.size();) {
    const std::size_t end = std::min(mnemonic.find('.', at + 1), mnemonic.size());
    i.modifiers.emplace_back(mnemonic.substr(at + 1, end - at - 1));
    at = end;
  }
  i.operands = std::move(operands);
  return i;
}

void append_key(std::string& key, const ir::Operand& o) {
  key += char('A' + int(o.kind));
  key += o.negated ? '!' : ' ';
  key += o.text + '+' + std::to_string(o.value) + ',';
  for (const ir::Operand& item : o.items) append_key(key, item);
}

}  // namespace

std::string explained(const rules::Verdict& v) {
  const diag::Diagnostic d = rules::finding(v.rule, rules::found_and_nearest(v));
  return d.message + " [" + d.slug + "]";
}

ScalarType register_class(ScalarType t) {
  if (t == ScalarType::pred || t == ScalarType::b8 || t == ScalarType::f32 || t == ScalarType::f64) return t;
  switch (isa::bits(t)) {
    case 128: return ScalarType::b128;
    case 64: return ScalarType::b64;
    case 32: return ScalarType::b32;
    default: return ScalarType::b16;
  }
}

Recorder::Recorder() {
  current_ = {&prologue_, &prologue_};
  open_scope();
}

void Recorder::locate(Here at) {
  if (at.line == 0) return;
  auto file = std::find(files_.begin(), files_.end(), at.file);
  if (file == files_.end()) file = files_.insert(files_.end(), at.file);
  const int number = int(file - files_.begin()) + 1;
  const auto last = std::find_if(current_.body->rbegin(), current_.body->rend(),
                                 [](const auto& s) { return std::holds_alternative<ir::Loc>(s.node); });
  if (last != current_.body->rend()) {
    const auto& before = std::get<ir::Loc>(last->node);
    if (before.file == number && before.line == int(at.line)) return;
  }
  ir::Loc loc;
  loc.file = number;
  loc.line = int(at.line);
  current_.body->push_back({std::move(loc)});
}

void Recorder::emit(std::string_view mnemonic, std::vector<ir::Operand> operands, Here at) {
  locate(at);
  current_.body->push_back({instruction(mnemonic, std::move(operands))});
}

void Recorder::emit_if(const ir::Operand& predicate, bool negated, std::string_view mnemonic,
                       std::vector<ir::Operand> operands, Here at) {
  locate(at);
  ir::Instruction i = instruction(mnemonic, std::move(operands));
  i.guard = ir::Guard{predicate.text, negated != predicate.negated, {}};
  current_.body->push_back({std::move(i)});
}

std::string Recorder::text_symbol(const std::string& text) {
  const auto known = std::find(texts_.begin(), texts_.end(), text);
  const auto index = std::size_t(known - texts_.begin());
  if (known == texts_.end()) texts_.push_back(text);
  return symbol_of_text(index);
}

ir::Operand Recorder::pure(ScalarType type, std::string_view mnemonic, std::vector<ir::Operand> operands, Here at) {
  std::string key(mnemonic);
  for (const ir::Operand& o : operands) append_key(key, o);
  for (Open& scope : open_results_)
    if (const auto known = scope.known.find(key); known != scope.known.end()) return known->second;
  ir::Operand result = fresh(type);
  operands.insert(operands.begin(), result);
  emit(mnemonic, std::move(operands), at);
  open_results_.back().known.emplace(std::move(key), result);
  return result;
}

ir::Operand Recorder::fresh(ScalarType type) {
  const ScalarType cls = register_class(type);
  return ir::Operand::named(prefix_of(cls) + std::to_string(registers_[cls]++));
}

void Recorder::label(const std::string& name) { current_.body->push_back({ir::Label{name, {}}}); }

std::string Recorder::fresh_label(const std::string& stem) {
  const int n = labels_[stem]++;
  return n == 0 ? stem : stem + "_" + std::to_string(n);
}

void Recorder::enter(Statements& body, Statements& role_entry) {
  suspended_.push_back(current_);
  current_ = {&body, &role_entry};
}

void Recorder::leave() {
  current_ = suspended_.back();
  suspended_.pop_back();
}

ScopeId Recorder::open_scope() {
  const auto id = ScopeId(is_open_.size());
  is_open_.push_back(true);
  open_.push_back(id);
  open_results_.emplace_back();
  return id;
}

void Recorder::close_scope() {
  is_open_[std::size_t(open_.back())] = false;
  open_.pop_back();
  open_results_.pop_back();
}

void Recorder::check_use(const Recorder* owner, ScopeId scope, Here at) {
  const bool visible = owner == this && is_open_[std::size_t(scope)];
  require(rules::value_scope(visible), at,
          owner != this ? "this value belongs to another kernel" : "this value was made in a block that has ended");
}

void Recorder::require(rules::Verdict verdict, Here at, const std::string& found) {
  if (verdict.ok()) return;
  diag::Diagnostic d = rules::finding(verdict.rule, found.empty() ? rules::found_and_nearest(verdict) : found);
  d.where = diag::Where::at(at);
  // One mistake in one line, as of an A and a B that are cut alike, is one report.
  for (const diag::Diagnostic& known : findings_.all())
    if (at.line != 0 && known.slug == d.slug && known.message == d.message && known.where.line == at.line &&
        known.where.file == at.file)
      return;
  findings_.report(std::move(d));
}

Statements Recorder::declarations() const {
  Statements out;
  for (const auto& [type, count] : registers_) {
    ir::Variable v;
    v.type = type;
    v.name = prefix_of(type);
    v.count = std::uint32_t(count);
    out.push_back({std::move(v)});
  }
  return out;
}

}  // namespace kiln::dsl
