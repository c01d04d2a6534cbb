#include "sim/core/link.hpp"

#include <algorithm>
#include <map>

namespace kiln::sim {
namespace {

using Kind = ir::Argument::Kind;

// What ends a body that runs to its closing brace.
ir::Operation implicit_return() {
  static const ir::Instruction ret = [] {
    ir::Instruction i;
    i.opcode = isa::Opcode::ret;
    return i;
  }();
  ir::Operation op;
  op.opcode = isa::Opcode::ret;
  op.instruction = &ret;
  return op;
}

// The formals of a function as decode() declared them: results, then parameters, each the next register or symbol.
void name_formals(const ir::Function& f, std::uint32_t registers, std::uint32_t symbols, LinkedFunction& out) {
  const auto add = [&](const std::vector<ir::Variable>& from, std::vector<Formal>& to) {
    for (const ir::Variable& v : from) {
      const bool is_register = v.space == isa::Space::reg;
      to.push_back({is_register, is_register ? registers++ : symbols++, std::uint32_t(v.bytes())});
    }
  };
  add(f.returns, out.results);
  add(f.parameters, out.parameters);
}

void names_in(const ir::Operand& o, std::vector<std::string>& out) {
  if (o.kind == ir::Operand::Kind::name) out.push_back(o.text);
  for (const ir::Operand& item : o.items) names_in(item, out);
}

class Linker {
 public:
  Linker(const ir::Module& module, diag::Sink& sink) : module_(module), sink_(sink) {}

  Linked run(const ir::Function& kernel) {
    out_.code = ir::decode(module_, kernel, sink_);
    for (std::uint32_t k = 0; k < out_.code.symbols.size(); ++k)
      if (out_.code.symbols[k].is_module_scope) module_symbols_.emplace(out_.code.symbols[k].variable, k);
    number_functions(out_.code);
    visit_callees(out_.code);
    if (order_.empty()) return std::move(out_);
    out_.code.operations.push_back(implicit_return());
    for (const std::size_t item : order_) append(item);
    return std::move(out_);
  }

 private:
  // Until here an argument of kind function has only its name.
  void number_functions(ir::Code& code) const {
    const auto number = [&](ir::Argument& a) {
      if (a.kind == Kind::function && a.operand) a.id = std::uint32_t(function_item(module_, a.operand->text));
    };
    for (ir::Operation& op : code.operations) std::for_each(op.arguments.begin(), op.arguments.end(), number);
    std::for_each(code.arguments.begin(), code.arguments.end(), number);
  }

  void visit_callees(const ir::Code& code) {
    for (const ir::Operation& op : code.operations) {
      bool indirect = op.opcode == isa::Opcode::call;
      for (const ir::Argument& a : op.arguments) {
        if (a.kind != Kind::function) continue;
        visit(a.id);
        indirect = false;
      }
      if (indirect) visit_initialisers();
    }
  }

  // Functions whose addresses lie in variables: tables of virtual functions.
  void visit_initialisers() {
    if (initialisers_visited_) return;
    initialisers_visited_ = true;
    std::vector<std::string> names;
    for (const ir::Item& item : module_.items)
      if (const auto* v = std::get_if<ir::Variable>(&item); v && v->initializer) names_in(*v->initializer, names);
    for (const std::string& name : names) visit(std::uint32_t(function_item(module_, name)));
  }

  void visit(std::uint32_t item) {
    const auto* f = item < module_.items.size() ? std::get_if<ir::Function>(&module_.items[item]) : nullptr;
    if (!f || !f->body || f->entry || codes_.contains(item)) return;
    ir::Code& code = codes_[item] = ir::decode(module_, *f, sink_);
    number_functions(code);
    visit_callees(code);
    order_.push_back(item);
  }

  std::vector<std::uint32_t> append_symbols(const ir::Code& from) {
    std::vector<std::uint32_t> ids;
    for (ir::Symbol s : from.symbols) {
      const auto next = std::uint32_t(out_.code.symbols.size());
      const auto id = s.is_module_scope ? module_symbols_.emplace(s.variable, next).first->second : next;
      ids.push_back(id);
      if (id != next) continue;
      s.is_parameter = false;  // those are the kernel's
      out_.code.symbols.push_back(s);
    }
    return ids;
  }

  static LinkedFunction formals_of(const ir::Code& from, std::uint32_t registers,
                                   const std::vector<std::uint32_t>& symbols) {
    LinkedFunction linked;
    linked.function = from.function;
    const auto own =
        std::find_if(from.symbols.begin(), from.symbols.end(), [](const auto& s) { return s.is_parameter; });
    const auto first = own == from.symbols.end() ? 0 : symbols[std::size_t(own - from.symbols.begin())];
    name_formals(*from.function, registers, first, linked);
    return linked;
  }

  void append(std::size_t item) {
    const ir::Code& from = codes_[item];
    ir::Code& to = out_.code;
    const auto operations = std::uint32_t(to.operations.size()), registers = std::uint32_t(to.registers.size()),
               arguments = std::uint32_t(to.arguments.size()), tables = std::uint32_t(to.tables.size());
    const std::vector<std::uint32_t> symbols = append_symbols(from);
    const auto move = [&](ir::Argument a) {
      switch (a.kind) {
        case Kind::reg: a.id += registers; break;
        case Kind::symbol: a.id = symbols[a.id]; break;
        case Kind::label: a.id += operations; break;
        case Kind::table: a.id += tables; break;
        case Kind::vector:
        case Kind::list:
        case Kind::pair:
        case Kind::address: a.id += arguments; break;
        default: break;
      }
      return a;
    };
    LinkedFunction linked = formals_of(from, registers, symbols);
    linked.first = operations;
    to.registers.insert(to.registers.end(), from.registers.begin(), from.registers.end());
    for (const ir::Argument& a : from.arguments) to.arguments.push_back(move(a));
    for (ir::Operation op : from.operations) {
      for (ir::Argument& a : op.arguments) a = move(a);
      if (op.guard) *op.guard += registers;
      to.operations.push_back(std::move(op));
    }
    to.operations.push_back(implicit_return());
    for (const auto& [position, name] : from.labels) to.labels.emplace_back(position + operations, name);
    for (std::vector<std::uint32_t> table : from.tables) {
      for (std::uint32_t& target : table) target += operations;
      to.tables.push_back(std::move(table));
    }
    linked.end = std::uint32_t(to.operations.size());
    out_.functions.push_back(std::move(linked));
  }

  const ir::Module& module_;
  diag::Sink& sink_;
  Linked out_;
  std::map<const ir::Variable*, std::uint32_t> module_symbols_;
  std::map<std::size_t, ir::Code> codes_;
  std::vector<std::size_t> order_;  // items; a function comes after those that it calls
  bool initialisers_visited_ = false;
};

}  // namespace

const LinkedFunction* Linked::find(std::uint32_t item) const {
  if (item >= code.module->items.size()) return nullptr;
  const auto* wanted = std::get_if<ir::Function>(&code.module->items[item]);
  for (const LinkedFunction& f : functions)
    if (f.function == wanted) return &f;
  return nullptr;
}

std::size_t function_item(const ir::Module& module, std::string_view name) {
  std::size_t found = module.items.size();
  for (std::size_t k = 0; k < module.items.size(); ++k) {
    const auto* f = std::get_if<ir::Function>(&module.items[k]);
    if (!f || f->name != name) continue;
    found = k;
    if (f->body) break;
  }
  return found;
}

Linked link(const ir::Module& module, const ir::Function& kernel, diag::Sink& sink) {
  return Linker(module, sink).run(kernel);
}

}  // namespace kiln::sim
