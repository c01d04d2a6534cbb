// The waist: a PTX module as data. Parsers and the DSL write it; emitter, verifier, simulator and lowering read it.
//
// What a module is does not depend on where it stood in a file: places compare equal to each other, so two modules are
// equal exactly when they say the same PTX.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ptx/diag/source.hpp"
#include "ptx/isa/opcodes.hpp"
#include "ptx/isa/spaces.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/isa/types.hpp"

namespace kiln::ir {

/// A place in the module's source; does not take part in comparisons.
struct At : diag::Place {
  constexpr At() = default;
  constexpr At(diag::Place p) : Place(p) {}
  constexpr bool operator==(const At&) const { return true; }
};

/// How an integer likes to be read: masks and descriptors in hexadecimal. Says nothing about its value, so it does not
/// take part in comparisons.
struct Radix {
  bool hexadecimal = false;
  constexpr bool operator==(const Radix&) const { return true; }
};

/// One operand, or one component of one.
struct Operand {
  enum class Kind : std::uint8_t {
    name,      // register, variable, label, function, special register ("%tid.x"); `value` is an added offset
    integer,   // `value`
    real,      // `text` as written ("0f3F800000", "1.5"); `value` holds the bits of the double or, for 0f, of the float
    vector,    // {a, b}: items
    address,   // [base], [base+4], [map, {x, y}]: items; the base's offset is in items[0].value; `text` is "unified"
               // for [base].unified
    list,      // (a, b): items, of calls
    pair,      // p|q: items
    function,  // generic(x), mask(x): `text` is the name; of initialisers
    sink,      // _
    raw        // text that Kiln cannot take apart, kept as written in `text`
  };

  Kind kind = Kind::name;
  bool negated = false;     // !p
  bool is_unsigned = false; // an integer written or meant as unsigned: 64-bit values above 2^63 print right
  std::int64_t value = 0;
  Radix radix{};
  std::string text{};
  std::vector<Operand> items{};
  At at{};

  // Out of line: every expression of the DSL makes and drops some, and inlined they would be most of a kernel's code.
  Operand();
  Operand(const Operand&);
  Operand(Operand&&) noexcept;
  Operand& operator=(const Operand&);
  Operand& operator=(Operand&&) noexcept;
  ~Operand();

  bool operator==(const Operand&) const = default;

  bool is_name() const { return kind == Kind::name; }
  bool is_integer() const { return kind == Kind::integer; }

  static Operand named(std::string name, std::int64_t offset = 0);
  static Operand number(std::int64_t value);
  static Operand unsigned_number(std::uint64_t value);
  /// A mask, descriptor or other pattern of bits, printed in hexadecimal.
  static Operand bits(std::uint64_t value);
  /// A float literal with exactly these bits: 0fXXXXXXXX.
  static Operand f32_bits(std::uint32_t bits);
  static Operand address(Operand base, std::int64_t offset = 0);
  static Operand vector(std::vector<Operand> items);
};

/// @p or @!p.
struct Guard {
  std::string predicate;
  bool negated = false;
  At at{};
  bool operator==(const Guard&) const = default;
};

/// One instruction. The name is in `opcode`; for an opcode that the table does not know, `unknown_name` has it.
struct Instruction {
  std::optional<Guard> guard{};
  isa::Opcode opcode = isa::Opcode::unknown;
  std::string unknown_name{};
  std::vector<std::string> modifiers{};  // without dots, in the order written
  std::vector<Operand> operands{};
  At at{};        // from the guard to the semicolon
  At mnemonic{};  // opcode and modifiers

  bool operator==(const Instruction&) const = default;
};

/// "add.u32": the name and the modifiers as PTX writes them.
std::string mnemonic(const Instruction&);

struct Label {
  std::string name;
  At at{};
  bool operator==(const Label&) const = default;
};

enum class Linkage : std::uint8_t { internal, visible, external, weak, common };
std::string_view spelling(Linkage);

/// A declared name in any space, registers and parameters included. One declarator each.
struct Variable {
  Linkage linkage = Linkage::internal;
  isa::Space space = isa::Space::reg;
  std::vector<std::string> attributes{};  // ".managed" and the like, as written between parentheses
  int align = 0;                          // 0: not written
  isa::ScalarType type = isa::ScalarType::b32;
  int vector = 1;                         // .v2, .v4
  std::string name{};                     // may be empty in prototypes
  std::optional<std::uint32_t> count{};   // %r<100>: declares %r0 ... %r99
  std::vector<std::optional<std::uint64_t>> dims{};  // [4][] : an unknown extent is empty
  // Parameters of kernels: .ptr .space .align n
  bool is_pointer = false;
  isa::Space pointer_space = isa::Space::generic;
  int pointer_align = 0;
  std::optional<Operand> initializer{};   // a vector operand for braces
  At at{};

  bool operator==(const Variable&) const = default;

  /// Bytes of one element of the array (or of the scalar); 0 for predicates.
  std::uint64_t element_bytes() const;
  /// Bytes of the whole object, `most_bytes` at most; unknown extents count as zero.
  std::uint64_t bytes() const;
  /// More than any memory has; a sum of such objects fits 64 bits.
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 48;
  /// The natural alignment, or a larger one that is written: a smaller one counts for nothing. Measured: ptxas 13.0.
  std::uint64_t alignment() const;
};

/// .loc: the source line of the instructions that follow.
struct Loc {
  int file = 0;
  int line = 0;
  int column = 0;
  std::string rest{};  // ", function_name ..., inlined_at ...", as written
  At at{};
  bool operator==(const Loc&) const = default;
};

/// A directive that no analysis needs, kept as text: .pragma "nounroll"; .file ...; .alias ...; debug sections.
struct Directive {
  std::string text;  // from its dot to the end, the ';' included where it has one
  At at{};
  bool operator==(const Directive&) const = default;
};

/// name: .branchtargets a, b; and .calltargets; and .callprototype, whose signature is kept as text.
struct Table {
  enum class Kind : std::uint8_t { branch_targets, call_targets, call_prototype };
  std::string name;
  Kind kind = Kind::branch_targets;
  std::vector<std::string> targets{};
  At at{};               // the name
  std::string text{};    // of a call_prototype: "(.param .b32 _) _ (.param .b64 _) .noreturn"
  bool operator==(const Table&) const = default;
};

struct Statement;

/// { ... }: names declared inside are not visible outside.
struct Block {
  std::vector<Statement> statements;
  At at{};
  bool operator==(const Block&) const;
};

struct Statement {
  using Node = std::variant<Instruction, Label, Variable, Loc, Directive, Table, Block>;
  Node node;

  // Out of line, here and in Module: each file that names a module would else compile how a variant is copied,
  // destroyed and compared.
  Statement();
  Statement(Node);
  Statement(const Statement&);
  Statement(Statement&&) noexcept;
  Statement& operator=(const Statement&);
  Statement& operator=(Statement&&) noexcept;
  ~Statement();
  bool operator==(const Statement&) const;
};

/// .maxntid 128, 1, 1 and the like: a tuning or launch directive of a function.
struct Performance {
  std::string name;  // without the dot
  std::vector<std::int64_t> values{};
  std::string text{};  // an argument that is not a number list (.pragma strings), as written
  At at{};
  bool operator==(const Performance&) const = default;
};

/// A .entry or .func. Without a body it is a declaration.
struct Function {
  Linkage linkage = Linkage::internal;
  bool entry = false;
  std::vector<std::string> attributes{};
  std::string name{};
  std::vector<Variable> returns{};
  std::vector<Variable> parameters{};
  std::vector<Performance> performance{};
  std::optional<Block> body{};
  At at{};       // the head
  At name_at{};
  bool unread = false;  // a statement of the body could not be read, and is missing
  bool names_unread = false;  // such a statement may have declared a name

  bool operator==(const Function&) const = default;

  /// The values of a performance directive ("reqntid"); null when it is not there.
  const Performance* find(std::string_view directive) const;
  /// Whether a directive says that it is launched in clusters, of one CTA too (PTX ISA, "Cluster Dimension Directives").
  bool is_for_clusters() const;
};

using Item = std::variant<Variable, Function, Directive>;

/// A word of a text that is newer than isa::newest_version, which Kiln does not know: "the directive '.newer'". What it
/// stands in is kept as text.
struct Unknown {
  std::string what;
  At at{};
  bool operator==(const Unknown&) const = default;
};

struct Module {
  isa::PtxVersion version{};
  std::vector<std::string> targets{};  // "sm_100a", "debug", "texmode_unified"
  int address_size = 64;
  std::vector<Item> items{};
  diag::SourcePtr source{};            // the text it was parsed from; null for a module that was built
  At version_at{};
  At target_at{};
  bool unread = false;  // an item could not be read, and is missing
  std::vector<Unknown> unknown{};  // in the order of the text

  Module();
  Module(const Module&);
  Module(Module&&) noexcept;
  Module& operator=(const Module&);
  Module& operator=(Module&&) noexcept;
  ~Module();

  /// Equal when they say the same PTX; the source does not count.
  bool operator==(const Module&) const;

  /// The first `.target` that names an architecture.
  std::optional<isa::Target> target() const;
  const Function* find_function(std::string_view name) const;
};

}  // namespace kiln::ir
