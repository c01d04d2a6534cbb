// The parts of PTX's grammar, one function each; parse() puts them together. Each reads what it is named after from the
// next token on, or reports why it cannot and returns nothing or false.
//
// Constant expressions are folded while they are read: operators as in C, on 64 bits and three types. Where PTX ISA
// "Integer Constant Expression Evaluation" and ptxas differ, ptxas is followed: & | ^ convert like +, the result of %
// is .u64, a shift count is taken modulo 64, and a choice keeps the type of what was chosen.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/ir/module.hpp"
#include "ptx/parse/literal.hpp"
#include "ptx/parse/tokens.hpp"

namespace kiln::parse {

// Constant expressions

/// True when the next token can only begin a constant: a number, a sign, an operator, WARP_SZ or '('.
bool starts_constant(const Tokens&);

/// Reads and folds one expression; reports and returns nothing when it cannot.
std::optional<Constant> parse_constant(Tokens&);

/// The same where only an integer will do; `what` names it in the message ("alignment").
std::optional<std::int64_t> parse_integer(Tokens&, std::string_view what);
/// A single number, not an expression, in [low, high]: PTX wants no arithmetic in most directives.
std::optional<std::int64_t> parse_number(Tokens&, std::string_view what, std::int64_t low, std::int64_t high);

/// An integer or real operand. Literals keep their spelling; folded reals are written as 0d and their bits.
std::optional<ir::Operand> parse_constant_operand(Tokens&);

// Operands of instructions and initialisers of variables

/// What '(' begins: the argument list of a call, or a constant expression everywhere else.
enum class Parenthesis : std::uint8_t { expression, list };

/// One operand, or nothing after reporting why not.
std::optional<ir::Operand> parse_operand(Tokens&, Parenthesis);

/// The initialiser after the '=' of a variable: a constant, an address, generic(x)+4, 0xFF00(x), or a list of those.
std::optional<ir::Operand> parse_initializer(Tokens&);

// Instructions, from their guard to their semicolon

/// Mnemonics already taken apart: a module uses few different ones, and each many times.
class Mnemonics {
 public:
  struct Parts {
    isa::Opcode opcode = isa::Opcode::unknown;
    std::string unknown_name{};
    std::vector<std::string> modifiers{};
  };

  const Parts& parts(const std::string& mnemonic);

 private:
  std::unordered_map<std::string, Parts> known_{};
};

/// The next token is the guard or the opcode. Operands of an opcode that isa/opcodes.def does not know are read like
/// any others; where they cannot be, they are kept as one raw operand.
std::optional<ir::Instruction> parse_instruction(Tokens&, Mnemonics&);

// Variables of every space, registers and parameters included

/// In a newer text: whether a declaration, from the next token to its ';', or of a parameter to its ',' or ')', has a
/// word that Kiln does not know. Such words are remembered.
bool declares_newer(Tokens&, bool is_parameter);

/// ".visible" and its like; nothing for any other word.
std::optional<ir::Linkage> parse_linkage(std::string_view word);

/// Whether names may be missing or be '_', as in prototypes.
enum class Names : std::uint8_t { required, optional };

/// One declaration from its first directive to its semicolon; appends a variable for each name.
bool parse_variables(Tokens&, std::vector<ir::Variable>& out);

/// "(a, b)": the parameters or results of a function. The next token is '('.
bool parse_parameters(Tokens&, Names, std::vector<ir::Variable>& out);

/// ".attribute(a, b)" after its keyword: appends "a" and "b".
bool parse_attributes(Tokens&, std::vector<std::string>& out);

// Directives that are neither declarations nor functions: lines of debug information, pragmas, tables of targets

/// .loc file line column {, function_name label {, inlined_at file line column}}
std::optional<ir::Loc> parse_loc(Tokens&);

/// .file 1 "name" {, time, size}
std::optional<ir::Directive> parse_file(Tokens&);
/// .pragma "a", "b"; and .alias a, b;
std::optional<ir::Directive> parse_pragma(Tokens&);
std::optional<ir::Directive> parse_alias(Tokens&);
/// .section name { ... }: the text between the braces is kept to the byte.
std::optional<ir::Directive> parse_section(Tokens&);
/// A line of @@DWARF.
ir::Directive parse_dwarf(Tokens&);

/// True for the words after "name:" that make a table and not a label.
bool is_table_directive(std::string_view word);
/// .branchtargets a, b; or .calltargets f, g; or .callprototype (r) _ (a, b);
std::optional<ir::Table> parse_table(Tokens&, std::string name, ir::At at);

/// True for the directives that stand between a function's head and its body.
bool is_performance_directive(std::string_view word);
/// `after_name`: the function's name stands before it, so that no parameters follow.
std::optional<ir::Performance> parse_performance(Tokens&, bool after_name);

// Kernels and device functions: their heads, their directives, their bodies

/// The next token is '.entry' or '.func'; `begin` is where the linkage before it starts.
std::optional<ir::Function> parse_function(Tokens&, Mnemonics&, ir::Linkage, std::uint32_t begin);

}  // namespace kiln::parse
