// Names become numbers here, once: every analysis after decode() works on indices.
#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "ptx/ir/code.hpp"
#include "ptx/ir/scopes.hpp"

namespace kiln::ir {
namespace {

using Kind = Argument::Kind;

// "%r12" as "%r" and 12. A number with a leading zero is no member's name.
struct Split {
  std::string_view base;
  std::uint32_t number = 0;
};

std::optional<Split> split_at(std::string_view name, std::size_t digits) {
  if (name[digits] == '0' && digits + 1 != name.size()) return std::nullopt;
  Split s{name.substr(0, digits), 0};
  const auto [end, failed] = std::from_chars(name.data() + digits, name.data() + name.size(), s.number);
  if (failed != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return s;
}

// .x .y .z .w, or .r .g .b .a, after a vector register.
int component_index(std::string_view name) {
  if (name.size() < 2 || name[name.size() - 2] != '.') return -1;
  const std::size_t xyzw = std::string_view("xyzw").find(name.back());
  return int(xyzw != std::string_view::npos ? xyzw : std::string_view("rgba").find(name.back()));
}

// What a name of a register or variable stands for.
struct Named {
  enum class What : std::uint8_t { reg, vector, symbol } what = What::reg;
  std::uint32_t id = 0;  // register, first component, or symbol
  std::uint8_t count = 1;
};

// `.reg .b32 %r<100>` stays one entry; its members become registers when they are first named.
struct Set {
  const Variable* variable;
};

class Decoder {
 public:
  Decoder(const Module& module, const Function& function, diag::Sink& sink) : sink_(sink) {
    code_.module = &module;
    code_.function = &function;
    for (const Item& item : module.items) {
      if (const auto* v = std::get_if<Variable>(&item)) globals_.emplace(v->name, v);
      if (const auto* f = std::get_if<Function>(&item)) functions_.insert(f->name);
    }
  }

  Code run() {
    ++depth_;
    for (const Variable& v : code_.function->returns) declare(v, -1);
    for (std::size_t i = 0; i < code_.function->parameters.size(); ++i) declare(code_.function->parameters[i], int(i));
    if (code_.function->body) decode_block(*code_.function->body);
    resolve_labels();
    return std::move(code_);
  }

 private:
  static constexpr int not_a_parameter = -2;
  static constexpr std::uint32_t undefined = ~0u;

  // Declarations

  void duplicate(std::string_view name, diag::Place at) {
    sink_.error(code_.module->source, at,
                "a name must be declared once in its scope; got '" + std::string(name) + "' again", "duplicate-name");
  }

  void undeclared(const std::string& name, diag::Place at, std::string_view what) {
    if (!reported_.insert(name).second) return;
    sink_.error(code_.module->source, at, std::string(what) + " must be declared before it is used; got '" + name + "'",
                "undeclared-name");
  }

  std::uint32_t add_register(std::string name, isa::ScalarType type) {
    code_.registers.push_back({std::move(name), type, 1});
    return std::uint32_t(code_.registers.size() - 1);
  }

  // A vector register is as many registers as it has components.
  Named make_registers(std::string_view name, const Variable& v) {
    if (v.vector <= 1) return {Named::What::reg, add_register(std::string(name), v.type), 1};
    const auto first = std::uint32_t(code_.registers.size());
    const int count = std::min(v.vector, 8);
    for (int i = 0; i < count; ++i) {
      std::string component(name);
      component += '.';
      component += i < 4 ? "xyzw"[i] : char('0' + i);
      add_register(std::move(component), v.type);
    }
    return {Named::What::vector, first, std::uint8_t(count)};
  }

  void declare(const Variable& v, int parameter = not_a_parameter) {
    if (v.name.empty()) return;
    bool fresh = true;
    if (v.space == isa::Space::reg && v.count) {
      fresh = sets_.declare(v.name, depth_, {&v});
      deepest_set_ = std::max(deepest_set_, depth_);
    } else if (v.space == isa::Space::reg) {
      fresh = !is_member_here(v.name) && names_.declare(v.name, depth_, make_registers(v.name, v));
    } else {
      const auto id = std::uint32_t(code_.symbols.size());
      fresh = names_.declare(v.name, depth_, {Named::What::symbol, id, 1});
      if (fresh) code_.symbols.push_back({&v, false, parameter != not_a_parameter, std::max(parameter, -1)});
    }
    if (!fresh) duplicate(v.name, v.at);
  }

  // Lookup

  struct Member {
    const Scopes<Set>::Binding* set = nullptr;
    std::string_view name{};
  };

  // The innermost parameterised set that declares `name`. The base of a set may itself end in digits.
  Member member(std::string_view name) {
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    Member best;
    for (; digits < name.size(); ++digits) {
      const auto split = split_at(name, digits);
      if (!split) continue;
      const auto* found = sets_.find(split->base);
      if (found && split->number < *found->value.variable->count && (!best.set || found->depth > best.set->depth))
        best = {found, name};
    }
    return best;
  }

  bool is_member_here(std::string_view name) {
    const Member m = member(name);
    return m.set && m.set->depth == depth_;
  }

  const Named* find(std::string_view name) {
    auto* exact = names_.find(name);
    if (exact && exact->depth >= deepest_set_) return &exact->value;
    const Member m = member(name);
    if (m.set && (!exact || exact->depth < m.set->depth)) {
      const int depth = m.set->depth;
      names_.declare(name, depth, make_registers(name, *m.set->value.variable));
      exact = names_.find(name);
    }
    if (exact) return &exact->value;
    const auto global = globals_.find(name);
    if (global == globals_.end()) return nullptr;
    code_.symbols.push_back({global->second, true, false, -1});
    names_.declare(name, 0, {Named::What::symbol, std::uint32_t(code_.symbols.size() - 1), 1});
    return &names_.find(name)->value;
  }

  // Operands

  Argument aggregate(Kind kind, const std::vector<Argument>& items) {
    const auto first = std::uint32_t(code_.arguments.size());
    code_.arguments.insert(code_.arguments.end(), items.begin(), items.end());
    return {.kind = kind, .id = first, .count = std::uint32_t(items.size())};
  }

  Argument decode_items(Kind kind, const Operand& o, isa::Opcode opcode) {
    std::vector<Argument> items;
    items.reserve(o.items.size());
    for (const Operand& item : o.items) items.push_back(decode_operand(item, opcode));
    return aggregate(kind, items);
  }

  // A part of a register as video instructions name it (".b0", ".h1"), or a choice of parts (".h10", ".b3210"): which
  // ones stays in the operand's text.
  Argument subword(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos || name.size() < dot + 3) return {};
    const std::string_view part = name.substr(dot + 1);
    const bool digits = part.find_first_not_of("01234567", 1) == part.npos;
    const bool known = digits && ((part[0] == 'h' && part.size() <= 3) || (part[0] == 'b' && part.size() <= 5));
    const Named* whole = known ? find(name.substr(0, dot)) : nullptr;
    if (!whole || whole->what != Named::What::reg) return {};
    return {.kind = Kind::reg, .id = whole->id};
  }

  Argument component(std::string_view name) {
    const int index = component_index(name);
    const Named* whole = index < 0 ? nullptr : find(name.substr(0, name.size() - 2));
    if (!whole || whole->what != Named::What::vector || index >= whole->count) return {};
    return {.kind = Kind::reg, .id = whole->id + std::uint32_t(index)};
  }

  Argument of(const Named& named, const Operand& o) {
    if (named.what == Named::What::vector) {
      std::vector<Argument> items(named.count);
      for (std::uint8_t i = 0; i < named.count; ++i) items[i] = {.kind = Kind::reg, .id = named.id + i, .operand = &o};
      return aggregate(Kind::vector, items);
    }
    const Kind kind = named.what == Named::What::reg ? Kind::reg : Kind::symbol;
    return {.kind = kind, .id = named.id, .value = o.value};
  }

  Argument decode_label(const Operand& o) {
    if (const auto* label = labels_.find(o.text)) return {.kind = Kind::label, .id = label->value};
    undeclared(o.text, o.at, "a label");
    return {.kind = Kind::raw};
  }

  // A register hides special registers of its name: ptxas takes the `.x` of %tid.x for a part of a register %tid.
  bool is_part_of_register(std::string_view name) {
    const std::size_t dot = name.find('.');
    const Named* whole = dot == name.npos ? nullptr : find(name.substr(0, dot));
    return whole && whole->what == Named::What::reg;
  }

  // %tid and its like, which have three components and a fourth that is zero.
  Argument special_vector(const Operand& o) {
    if (!o.text.starts_with('%') || o.text.find('.') != o.text.npos) return {};
    std::vector<Argument> items;
    for (const char* component : {".x", ".y", ".z", ".w"}) {
      const Special special = special_register(o.text + component);
      if (special == Special::none) return {};
      items.push_back({.kind = Kind::special, .id = std::uint32_t(special), .operand = &o});
    }
    return aggregate(Kind::vector, items);
  }

  // Whether a name may be of a special register that Kiln does not know: those with a number may be a mistyped member of
  // a set.
  bool may_be_newer(std::string_view name) const {
    const char last = name.back();
    return code_.module->version > isa::newest_version && name.starts_with('%') && !(last >= '0' && last <= '9');
  }

  Argument decode_name(const Operand& o, isa::Opcode opcode) {
    if (opcode == isa::Opcode::bra) return decode_label(o);
    if (const Named* named = find(o.text)) return of(*named, o);
    if (const Special special = special_register(o.text); special != Special::none) {
      if (is_part_of_register(o.text))
        return undeclared(o.text, o.at, "a part of a register"), Argument{.kind = Kind::raw};
      Argument a{.kind = Kind::special, .id = std::uint32_t(special)};
      const std::string_view rest = std::string_view(o.text).substr(spelling(special).size());
      std::from_chars(rest.data(), rest.data() + rest.size(), a.value);  // %envreg7, %pm3
      return a;
    }
    if (const Argument whole = special_vector(o); whole.kind == Kind::vector) return whole;
    Argument a = component(o.text);
    if (a.kind == Kind::none && isa::unit(opcode) == isa::Unit::video) a = subword(o.text);
    if (a.kind != Kind::none) return a;
    if (const auto* table = tables_.find(o.text)) return {.kind = Kind::table, .id = table->value};
    if (functions_.contains(o.text)) return {.kind = Kind::function};
    // An indirect call may name a prototype that a caller of the builder left out. A register of a newer PTX is named by
    // the check of forms.
    if (opcode != isa::Opcode::call && !may_be_newer(o.text)) undeclared(o.text, o.at, "a name");
    return {.kind = Kind::raw};
  }

  // The negated register of vmad, which the parser keeps as text: "-%r1.h0".
  Argument decode_raw(const Operand& o, isa::Opcode opcode) {
    Argument a;
    const bool minus = isa::unit(opcode) == isa::Unit::video && o.text.starts_with('-');
    const std::string_view name = std::string_view(o.text).substr(minus);
    const Named* named = minus ? find(name) : nullptr;
    if (minus) a = named && named->what == Named::What::reg ? of(*named, o) : subword(name);
    a.negated = a.kind == Kind::reg;
    if (!a.negated) a.kind = Kind::raw;
    return a;
  }

  Argument decode_operand(const Operand& o, isa::Opcode opcode) {
    Argument a;
    switch (o.kind) {
      case Operand::Kind::name: a = decode_name(o, opcode); break;
      case Operand::Kind::integer: a = {.kind = Kind::immediate, .value = o.value}; break;
      case Operand::Kind::real:
        a = {.kind = Kind::real, .value = o.value, .is_single = o.text.starts_with("0f") || o.text.starts_with("0F")};
        break;
      case Operand::Kind::vector: a = decode_items(Kind::vector, o, opcode); break;
      case Operand::Kind::address: a = decode_items(Kind::address, o, opcode); break;
      case Operand::Kind::list: a = decode_items(Kind::list, o, opcode); break;
      case Operand::Kind::pair: a = decode_items(Kind::pair, o, opcode); break;
      case Operand::Kind::sink: a.kind = Kind::sink; break;
      case Operand::Kind::raw: a = decode_raw(o, opcode); break;
      case Operand::Kind::function: a.kind = Kind::raw; break;
    }
    a.negated |= o.negated;
    a.operand = &o;
    return a;
  }

  // Statements

  void decode_guard(const Guard& guard, Operation& op) {
    op.guard_negated = guard.negated;
    if (const Named* named = find(guard.predicate); named && named->what == Named::What::reg)
      op.guard = named->id;
    else
      undeclared(guard.predicate, guard.at, "a predicate");
  }

  void decode_instruction(const Instruction& i) {
    Operation op;
    op.opcode = i.opcode;
    op.modifiers = isa::decode_modifiers(i.modifiers);
    op.instruction = &i;
    op.loc = loc_;
    if (i.guard) decode_guard(*i.guard, op);
    op.arguments.reserve(i.operands.size());
    for (const Operand& o : i.operands) op.arguments.push_back(decode_operand(o, i.opcode));
    code_.operations.push_back(std::move(op));
  }

  // Labels and tables are visible in their whole block, so they are known before its first instruction.
  void declare_labels(const Block& block) {
    for (const Statement& s : block.statements) {
      if (const auto* label = std::get_if<Label>(&s.node)) {
        if (!labels_.declare(label->name, depth_, std::uint32_t(positions_.size())))
          duplicate(label->name, label->at);
        else
          positions_.push_back(undefined);
      } else if (const auto* table = std::get_if<Table>(&s.node)) {
        if (!tables_.declare(table->name, depth_, std::uint32_t(code_.tables.size())))
          duplicate(table->name, table->at);
        else
          code_.tables.emplace_back();
      }
    }
  }

  void place_label(const Label& label) {
    const auto position = std::uint32_t(code_.operations.size());
    code_.labels.emplace_back(position, label.name);
    if (auto& place = positions_[labels_.find(label.name)->value]; place == undefined) place = position;
  }

  void fill_table(const Table& table) {
    if (table.kind != Table::Kind::branch_targets) return;
    std::vector<std::uint32_t>& targets = code_.tables[tables_.find(table.name)->value];
    if (!targets.empty()) return;
    for (const std::string& name : table.targets) {
      const auto* label = labels_.find(name);
      if (label)
        targets.push_back(label->value);
      else
        undeclared(name, table.at, "a label");
    }
  }

  void decode_block(const Block& block) {
    ++depth_;
    const int outer_set = deepest_set_;
    declare_labels(block);
    if (depth_ == 2) code_.operations.reserve(block.statements.size());
    for (const Statement& s : block.statements) decode_statement(s);
    labels_.leave(depth_);
    tables_.leave(depth_);
    names_.leave(depth_);
    sets_.leave(depth_);
    deepest_set_ = outer_set;
    --depth_;
  }

  void decode_statement(const Statement& s) {
    if (const auto* i = std::get_if<Instruction>(&s.node))
      decode_instruction(*i);
    else if (const auto* v = std::get_if<Variable>(&s.node))
      declare(*v);
    else if (const auto* label = std::get_if<Label>(&s.node))
      place_label(*label);
    else if (const auto* loc = std::get_if<Loc>(&s.node))
      loc_ = loc;
    else if (const auto* table = std::get_if<Table>(&s.node))
      fill_table(*table);
    else if (const auto* block = std::get_if<Block>(&s.node))
      decode_block(*block);
  }

  // Until here a label argument holds the label's number.
  void resolve_labels() {
    const auto resolve = [this](Argument& a) {
      if (a.kind == Kind::label) a.id = positions_[a.id];
    };
    for (Operation& op : code_.operations) std::for_each(op.arguments.begin(), op.arguments.end(), resolve);
    std::for_each(code_.arguments.begin(), code_.arguments.end(), resolve);
    for (auto& table : code_.tables)
      for (std::uint32_t& target : table) target = positions_[target];
  }

  Code code_;
  diag::Sink& sink_;
  std::unordered_map<std::string_view, const Variable*> globals_;
  std::unordered_set<std::string_view> functions_;
  Scopes<Named> names_;
  Scopes<Set> sets_;
  Scopes<std::uint32_t> labels_, tables_;
  std::vector<std::uint32_t> positions_;  // of labels, by number
  std::unordered_set<std::string> reported_;
  const Loc* loc_ = nullptr;
  int depth_ = 0;        // 0: the module, 1: parameters, 2 and up: blocks
  int deepest_set_ = 0;  // no parameterised set is declared deeper than this
};

}  // namespace

Code decode(const Module& module, const Function& function, diag::Sink& sink) {
  return Decoder(module, function, sink).run();
}

}  // namespace kiln::ir
