// The one printer. What it writes is canonical: parsing it gives the module back, and printing that the same text.
#include "emit/emit.hpp"

#include "ptx/isa/types.hpp"

namespace kiln::emit {
namespace {

using ir::Operand;

constexpr std::string_view indent = "  ";
constexpr std::size_t line_limit = 110;

class Printer {
 public:
  std::string module(const ir::Module& m) {
    out_ += ".version ";
    number(m.version.major);
    out_ += '.';
    number(m.version.minor);
    out_ += '\n';
    targets(m);
    out_ += ".address_size ";
    number(m.address_size);
    out_ += '\n';
    for (const ir::Item& item : m.items) std::visit([this](const auto& i) { this->item(i); }, item);
    return std::move(out_);
  }

 private:
  void number(std::int64_t n) { out_ += std::to_string(n); }

  template <class List, class Print>
  void separated(const List& list, Print print) {
    bool is_first = true;
    for (const auto& x : list) {
      if (!is_first) out_ += ", ";
      is_first = false;
      print(x);
    }
  }

  // ptxas allows one architecture in a directive, and a directive for each.
  void targets(const ir::Module& m) {
    bool is_open = false;
    for (const std::string& t : m.targets) {
      if (!is_open) out_ += ".target ";
      else out_ += isa::parse_target(t) ? "\n.target " : ", ";
      is_open = true;
      out_ += t;
    }
    if (is_open) out_ += '\n';
  }

  void word(std::string_view text) {
    if (text.empty()) return;
    out_ += '.';
    out_ += text;
    out_ += ' ';
  }

  // Items of a module

  void item(const ir::Variable& v) {
    out_ += '\n';
    variable(v);
    out_ += ";\n";
  }

  void item(const ir::Directive& d) {
    out_ += '\n';
    out_ += d.text;
    out_ += '\n';
  }

  void item(const ir::Function& f) {
    out_ += '\n';
    word(spelling(f.linkage));
    word(f.entry ? "entry" : "func");
    attributes(f.attributes);
    if (!f.returns.empty()) {
      out_ += '(';
      separated(f.returns, [this](const ir::Variable& v) { variable(v); });
      out_ += ") ";
    }
    out_ += f.name;
    parameters(f.parameters);
    for (const ir::Performance& p : f.performance) performance(p);
    if (!f.body) {
      out_ += ";\n";
      return;
    }
    out_ += '\n';
    block(*f.body);
  }

  void parameters(const std::vector<ir::Variable>& list) {
    out_ += '(';
    for (const ir::Variable& v : list) {
      out_ += &v == list.data() ? "\n" : ",\n";
      out_ += indent;
      variable(v);
    }
    out_ += list.empty() ? ")" : "\n)";
  }

  void performance(const ir::Performance& p) {
    out_ += "\n.";
    out_ += p.name;
    if (!p.text.empty()) (out_ += ' ') += p.text;
    if (!p.values.empty()) out_ += ' ';
    separated(p.values, [this](std::int64_t n) { number(n); });
    if (p.name == "pragma") out_ += ';';
  }

  void attributes(const std::vector<std::string>& list) {
    if (list.empty()) return;
    out_ += ".attribute(";
    separated(list, [this](const std::string& a) { out_ += a; });
    out_ += ") ";
  }

  void variable(const ir::Variable& v) {
    word(spelling(v.linkage));
    word(spelling(v.space));
    attributes(v.attributes);
    aligned(v.align);
    if (v.vector != 1) ((out_ += ".v") += std::to_string(v.vector)) += ' ';
    word(spelling(v.type));
    if (v.is_pointer) {
      word("ptr");
      word(spelling(v.pointer_space));
      aligned(v.pointer_align);
    }
    if (v.name.empty() && v.dims.empty()) out_.pop_back();
    out_ += v.name;
    if (v.count) ((out_ += '<') += std::to_string(*v.count)) += '>';
    for (const auto& extent : v.dims) {
      out_ += '[';
      if (extent) out_ += std::to_string(*extent);
      out_ += ']';
    }
    if (!v.initializer) return;
    out_ += " = ";
    operand(*v.initializer);
  }

  void aligned(int bytes) {
    if (bytes == 0) return;
    out_ += ".align ";
    number(bytes);
    out_ += ' ';
  }

  // Statements

  void margin() {
    for (int i = 0; i < depth_; ++i) out_ += indent;
  }

  void block(const ir::Block& b) {
    margin();
    out_ += "{\n";
    ++depth_;
    for (const ir::Statement& s : b.statements) std::visit([this](const auto& x) { statement(x); }, s.node);
    --depth_;
    margin();
    out_ += "}\n";
  }

  void statement(const ir::Block& b) { block(b); }

  void statement(const ir::Label& l) {
    out_ += l.name;
    out_ += ":\n";
  }

  void statement(const ir::Instruction& i) {
    margin();
    if (i.guard) ((out_ += i.guard->negated ? "@!" : "@") += i.guard->predicate) += ' ';
    out_ += i.opcode == isa::Opcode::unknown ? std::string_view(i.unknown_name) : isa::spelling(i.opcode);
    for (const std::string& m : i.modifiers) (out_ += '.') += m;
    if (!i.operands.empty()) out_ += ' ';
    separated(i.operands, [this](const Operand& o) { operand(o); });
    out_ += ";\n";
  }

  void statement(const ir::Variable& v) {
    margin();
    variable(v);
    out_ += ";\n";
  }

  void statement(const ir::Loc& l) {
    margin();
    out_ += ".loc ";
    number(l.file);
    out_ += ' ';
    number(l.line);
    out_ += ' ';
    number(l.column);
    out_ += l.rest;
    out_ += '\n';
  }

  void statement(const ir::Directive& d) {
    margin();
    out_ += d.text;
    out_ += '\n';
  }

  void statement(const ir::Table& t) {
    margin();
    out_ += t.name;
    switch (t.kind) {
      case ir::Table::Kind::branch_targets: out_ += ": .branchtargets "; break;
      case ir::Table::Kind::call_targets: out_ += ": .calltargets "; break;
      case ir::Table::Kind::call_prototype: out_ += ": .callprototype "; break;
    }
    out_ += t.text;
    separated(t.targets, [this](const std::string& name) { out_ += name; });
    out_ += ";\n";
  }

  // Operands

  void operand(const Operand& o) {
    if (o.negated) out_ += '!';
    switch (o.kind) {
      case Operand::Kind::name: out_ += o.text; return offset(o.value);
      case Operand::Kind::integer: return integer(o);
      case Operand::Kind::real:
      case Operand::Kind::raw: out_ += o.text; return;
      case Operand::Kind::vector: return items('{', o, '}');
      case Operand::Kind::list: return items('(', o, ')');
      case Operand::Kind::sink: out_ += '_'; return;
      case Operand::Kind::address:
        items('[', o, ']');
        if (!o.text.empty()) (out_ += '.') += o.text;
        return;
      case Operand::Kind::pair:
        operand(o.items.at(0));
        out_ += '|';
        return operand(o.items.at(1));
      case Operand::Kind::function:
        out_ += o.text;
        items('(', o, ')');
        return offset(o.value);
    }
  }

  // PTX has no subtraction here: a negative offset is the addition of a negative number.
  void offset(std::int64_t value) {
    if (value == 0) return;
    out_ += '+';
    number(value);
  }

  void integer(const Operand& o) {
    const bool hexadecimal = o.radix.hexadecimal && (o.value >= 0 || o.is_unsigned);
    if (!o.is_unsigned && !hexadecimal) return number(o.value);
    char digits[19];
    if (hexadecimal) std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(o.value));
    out_ += hexadecimal ? digits : std::to_string(static_cast<std::uint64_t>(o.value));
    if (o.is_unsigned && o.value >= 0) out_ += 'U';
  }

  // Tables of thousands of values go over many lines.
  void items(char open, const Operand& o, char close) {
    out_ += open;
    std::size_t line_start = depth_ == 0 ? out_.rfind('\n') : 0;
    for (const Operand& item : o.items) {
      if (&item != o.items.data()) {
        const bool is_full = o.kind == Operand::Kind::vector && out_.size() - line_start > line_limit && depth_ == 0;
        out_ += is_full ? ",\n" : ", ";
        if (is_full) (out_ += indent), line_start = out_.size();
      }
      operand(item);
    }
    out_ += close;
  }

  std::string out_{};
  int depth_ = 0;
};

}  // namespace

std::string emit(const ir::Verified<ir::Module>& m) { return Printer().module(*m); }

std::string emit_unverified(const ir::Module& m) { return Printer().module(m); }

}  // namespace kiln::emit
