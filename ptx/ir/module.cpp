#include "ptx/ir/module.hpp"

#include <algorithm>
#include <cstdio>

namespace kiln::ir {

Operand::Operand() = default;
Operand::Operand(const Operand&) = default;
Operand::Operand(Operand&&) noexcept = default;
Operand& Operand::operator=(const Operand&) = default;
Operand& Operand::operator=(Operand&&) noexcept = default;
Operand::~Operand() = default;

Statement::Statement() = default;
Statement::Statement(Node n) : node(std::move(n)) {}
Statement::Statement(const Statement&) = default;
Statement::Statement(Statement&&) noexcept = default;
Statement& Statement::operator=(const Statement&) = default;
Statement& Statement::operator=(Statement&&) noexcept = default;
Statement::~Statement() = default;
bool Statement::operator==(const Statement&) const = default;
bool Block::operator==(const Block& other) const { return statements == other.statements; }

Module::Module() = default;
Module::Module(const Module&) = default;
Module::Module(Module&&) noexcept = default;
Module& Module::operator=(const Module&) = default;
Module& Module::operator=(Module&&) noexcept = default;
Module::~Module() = default;

Operand Operand::named(std::string name, std::int64_t offset) {
  Operand o;
  o.text = std::move(name);
  o.value = offset;
  return o;
}

Operand Operand::number(std::int64_t value) {
  Operand o;
  o.kind = Kind::integer;
  o.value = value;
  return o;
}

Operand Operand::unsigned_number(std::uint64_t value) {
  Operand o = number(std::int64_t(value));
  o.is_unsigned = o.value < 0;
  return o;
}

Operand Operand::bits(std::uint64_t value) {
  Operand o = unsigned_number(value);
  o.radix.hexadecimal = true;
  return o;
}

Operand Operand::f32_bits(std::uint32_t bits) {
  Operand o;
  o.kind = Kind::real;
  o.value = bits;
  char text[11];
  std::snprintf(text, sizeof text, "0f%08X", bits);
  o.text = text;
  return o;
}

Operand Operand::address(Operand base, std::int64_t offset) {
  Operand o;
  o.kind = Kind::address;
  base.value += offset;
  o.items.push_back(std::move(base));
  return o;
}

Operand Operand::vector(std::vector<Operand> items) {
  Operand o;
  o.kind = Kind::vector;
  o.items = std::move(items);
  return o;
}

std::string mnemonic(const Instruction& i) {
  std::string out(i.opcode == isa::Opcode::unknown ? std::string_view(i.unknown_name) : isa::spelling(i.opcode));
  for (const std::string& m : i.modifiers) out += '.' + m;
  return out;
}

std::string_view spelling(Linkage l) {
  switch (l) {
    case Linkage::internal: return "";
    case Linkage::visible: return "visible";
    case Linkage::external: return "extern";
    case Linkage::weak: return "weak";
    case Linkage::common: return "common";
  }
  return "";
}

std::uint64_t Variable::element_bytes() const {
  const auto width = std::uint64_t(isa::bits(type) * vector);
  return type == isa::ScalarType::pred ? 0 : (width + 7) / 8;
}

std::uint64_t Variable::bytes() const {
  std::uint64_t n = element_bytes();
  for (const auto& extent : dims) {
    const std::uint64_t of = extent.value_or(0);
    n = of != 0 && n > most_bytes / of ? most_bytes : n * of;
  }
  return n;
}

std::uint64_t Variable::alignment() const {
  return std::max({std::uint64_t{1}, std::uint64_t(align), element_bytes()});
}

const Performance* Function::find(std::string_view directive) const {
  const auto found = std::find_if(performance.begin(), performance.end(),
                                  [&](const Performance& p) { return p.name == directive; });
  return found == performance.end() ? nullptr : &*found;
}

bool Function::is_for_clusters() const {
  return find("reqnctapercluster") || find("explicitcluster") || find("maxclusterrank");
}

bool Module::operator==(const Module& o) const {
  return version == o.version && targets == o.targets && address_size == o.address_size && items == o.items;
}

std::optional<isa::Target> Module::target() const {
  for (const std::string& text : targets)
    if (const auto t = isa::parse_target(text); t && isa::is_known(*t)) return t;
  return std::nullopt;
}

const Function* Module::find_function(std::string_view name) const {
  for (const Item& item : items)
    if (const auto* f = std::get_if<Function>(&item); f && f->name == name && f->body) return f;
  return nullptr;
}

}  // namespace kiln::ir
