// PTX in the making. An instruction is written as PTX has it, its name first, with values for operands; registers have
// a type, and the builder names them.
//
//   const Register lane = b.b32("and.b32", thread, 31);
//   b.when(b.pred("setp.eq.u32", lane, 0), [&] { b.op("st.shared.v2.b32", at(slot, 8), vec(low, high)); });
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/module.hpp"

namespace kiln::ir {

/// A register that a Builder has named. It may be used in the scope that made it and in those inside that one.
struct Register {
  isa::ScalarType type = isa::ScalarType::b32;
  std::uint32_t number = 0, scope = 0;
};
using Registers = std::vector<Register>;

/// A predicate register or its complement.
struct Condition {
  Condition(Register p, bool is_negated = false) : predicate(p), negated(is_negated) {}
  Register predicate;
  bool negated;
};
inline Condition operator!(const Condition& c) { return {c.predicate, !c.negated}; }
inline Condition operator!(Register p) { return {p, true}; }

/// A place that a jump goes to.
struct JumpTarget {
  const char* stem = "";
  std::uint32_t number = 0;
};

/// An operand as it is handed to a Builder: a view, which is to live no longer than the call.
struct Term {
  enum class Kind : std::uint8_t { reg, integer, name, operand, vector, registers };
  Term(Register r) : reg(r) {}
  template <std::integral T>
  Term(T v) : kind(Kind::integer), is_unsigned(std::is_unsigned_v<T>), value(std::int64_t(v)) {}
  Term(std::string_view n) : kind(Kind::name), name(n) {}
  Term(const char* n) : Term(std::string_view(n)) {}
  Term(const std::string& n) : Term(std::string_view(n)) {}
  Term(const Operand& o) : kind(Kind::operand), operand(&o) {}
  Term(std::span<const Term> v) : kind(Kind::vector), items(v) {}
  Term(std::span<const Register> v) : kind(Kind::registers), registers(v) {}

  Kind kind = Kind::reg;
  bool is_unsigned = false, is_hexadecimal = false, is_address = false;
  std::int64_t value = 0;  // of an integer; what is added to an address
  Register reg{};
  std::string_view name{};
  const Operand* operand = nullptr;
  std::span<const Term> items{};
  std::span<const Register> registers{};
};

/// [base+offset]; the base is a register or a name.
inline Term at(Term base, std::int64_t offset = 0) {
  base.is_address = true;
  base.value = offset;
  return base;
}
/// A mask or another pattern of bits, written in hexadecimal.
inline Term bits(std::uint64_t value) {
  Term out(value);
  out.is_hexadecimal = true;
  return out;
}
/// {a, b, c, d}.
template <int N>
struct TermVector {
  Term items[N];
  operator Term() const { return std::span<const Term>(items); }
};
template <class... A>
TermVector<int(sizeof...(A))> vec(const A&... items) {
  return {{Term(items)...}};
}
/// `count` registers from number `first` on, as a vector.
inline Term vec(const Registers& r, int first, int count) {
  return std::span(r).subspan(std::size_t(first), std::size_t(count));
}
/// The parts of an instruction's name with dots between them; those that are empty are left out.
std::string dotted(std::initializer_list<std::string_view> parts);

/// An instruction by its whole name, "add.u32".
Instruction instruction(std::string_view name, std::vector<Operand> operands);

/// The statements of one function.
class Builder {
 public:
  /// Names of registers and labels begin with `prefix`.
  explicit Builder(std::string prefix) : prefix_(std::move(prefix)) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Registers --------------------------------------------------------------------------------------------------------
  /// A fresh register; `type` is its class: pred, b16, b32 or b64.
  Register reg(isa::ScalarType type);
  Registers regs(isa::ScalarType type, int count);
  /// The result of an instruction in a fresh register.
  template <class... A>
  Register pred(std::string_view name, const A&... operands) {
    return result(isa::ScalarType::pred, name, operands...);
  }
  template <class... A>
  Register b32(std::string_view name, const A&... operands) {
    return result(isa::ScalarType::b32, name, operands...);
  }
  template <class... A>
  Register b64(std::string_view name, const A&... operands) {
    return result(isa::ScalarType::b64, name, operands...);
  }

  // Instructions -----------------------------------------------------------------------------------------------------
  template <class... A>
  void op(std::string_view name, const A&... operands) {
    const Term terms[] = {Term(operands)..., Term(0)};
    write(nullptr, name, std::span(terms, sizeof...(A)));
  }
  template <class... A>
  void op_if(const Condition& c, std::string_view name, const A&... operands) {
    const Term terms[] = {Term(operands)..., Term(0)};
    write(&c, name, std::span(terms, sizeof...(A)));
  }
  /// `to` = unsigned `a` / `by`, and what is left of it: without a division where `by` is a power of two. ptxas 13.0
  /// makes some 17 instructions of one, by a number too.
  void quotient(const Register& to, const Register& a, std::uint32_t by);
  void rest(const Register& to, const Register& a, std::uint32_t by);
  /// Any statement, as it stands.
  void add(Statement s) { lists_.back().push_back(std::move(s)); }
  /// A variable of shared memory, an array where a count is given.
  void shared(isa::ScalarType, int align, std::string_view name, std::uint64_t count = 0);

  // Control flow -----------------------------------------------------------------------------------------------------
  /// A place of its own; its name begins with `stem`.
  JumpTarget label(const char* stem) { return {stem, ++labels_[stem]}; }
  void place(JumpTarget);
  void jump(JumpTarget);
  void jump_if(const Condition&, JumpTarget);
  /// What `body` writes is executed where the condition holds. A body that writes nothing leaves no jump.
  template <class Body>
  void when(const Condition& c, Body body) {
    when(Guard{name(c.predicate), c.negated, {}}, body);
  }
  template <class Body>
  void when(const Guard& g, Body body) {
    const JumpTarget over = label("over");
    const std::size_t before = skip_unless(g, over);
    scope(body);
    end_skip(before, over);
  }
  /// Executes what `body` writes, and again while the condition that it returns holds.
  template <class Body>
  void loop(Body body, const char* stem = "again") {
    const JumpTarget top = label(stem);
    place(top);
    scope([&] { jump_if(body(), top); });
  }
  /// Registers that `body` makes are not used after it.
  template <class Body>
  void scope(Body body) {
    open_scope();
    body();
    close_scope();
  }
  /// The same under a guard, if there is one.
  template <class Body>
  void under(const std::optional<Guard>& g, Body body) {
    if (g)
      when(*g, body);
    else
      scope(body);
  }
  /// Writes statements again; `replace` is called with each instruction and writes what stands in its place.
  template <class Replace>
  void copy(const std::vector<Statement>& from, const Replace& replace) {
    for (const Statement& s : from)
      if (const auto* inner = std::get_if<Block>(&s.node))
        block(inner->at, [&] { copy(inner->statements, replace); });
      else if (const auto* instruction = std::get_if<Instruction>(&s.node))
        replace(*instruction);
      else
        add(s);
  }
  /// { ... } in PTX.
  template <class Body>
  void block(At where, Body body) {
    lists_.emplace_back();
    scope(body);
    close_block(where);
  }

  std::string name(Register) const;
  std::string name(JumpTarget t) const {
    return prefix_ + t.stem + (t.number == 1 ? "" : '_' + std::to_string(t.number));
  }
  /// All that was written, after the declarations of its registers.
  std::vector<Statement> take();

 private:
  template <class... A>
  Register result(isa::ScalarType type, std::string_view name, const A&... operands) {
    const Register out = reg(type);
    op(name, out, operands...);
    return out;
  }
  void write(const Condition*, std::string_view name, std::span<const Term>);
  Operand operand(const Term&) const;
  std::string checked_name(Register) const;
  std::size_t skip_unless(const Guard&, JumpTarget);
  void end_skip(std::size_t before, JumpTarget);
  void open_scope();
  void close_scope() { open_.pop_back(); }
  void close_block(At);

  std::string prefix_;
  std::vector<std::vector<Statement>> lists_ = std::vector<std::vector<Statement>>(1);
  std::vector<std::uint32_t> open_{0};  // scopes
  std::uint32_t scopes_ = 1;
  std::map<std::string_view, std::uint32_t> labels_{};  // how many begin with a stem
  std::uint32_t counts_[4]{};                           // of registers, by class
};

}  // namespace kiln::ir
