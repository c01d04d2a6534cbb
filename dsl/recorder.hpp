// Where values, scopes and handles write: statements of the waist, each with the C++ line that asked for it. The
// recorder knows registers, blocks and lexical scopes; it knows no tensor cores.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/diag/here.hpp"
#include "ptx/ir/module.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::dsl {

using isa::Opcode;
using isa::ScalarType;

/// The lexical scope that made a value: it may be used while that scope is open.
using ScopeId = int;

/// One statement list in the making. A kernel has one for its prologue and two a role: what must come first in the role
/// (loop-carried state) and the rest.
using Statements = std::vector<ir::Statement>;

/// The place of an instruction that no line of the kernel asks for.
inline constexpr Here nowhere = Here::nowhere();

/// A broken verdict in words: "N must be ...; got 252, the nearest legal value is 256 [tcgen05-mma-n]".
std::string explained(const rules::Verdict&);

class Recorder {
 public:
  Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Instructions -----------------------------------------------------------------------------------------------------
  /// Appends `name.modifiers operands` to the current list; `text` is the whole mnemonic ("add.u32").
  void emit(std::string_view mnemonic, std::vector<ir::Operand> operands, Here at);
  void emit_if(const ir::Operand& predicate, bool negated, std::string_view mnemonic, std::vector<ir::Operand> operands,
               Here at);
  /// A result in a fresh register: emits `mnemonic result, operands`. Pure: asked again with the same operands in a
  /// scope that is still open, it answers the same register and emits nothing.
  ir::Operand pure(ScalarType type, std::string_view mnemonic, std::vector<ir::Operand> operands, Here at);
  /// A fresh register of a type, declared.
  ir::Operand fresh(ScalarType type);
  void label(const std::string& name);
  /// Declares a variable here.
  void declare(ir::Variable v) { current_.body->push_back({std::move(v)}); }
  /// Statements in braces: those that `fill` writes.
  template <class Fill>
  void block(Fill fill) {
    Statements inner;
    Statements* outer = std::exchange(current_.body, &inner);
    fill();
    current_.body = outer;
    outer->push_back({ir::Block{std::move(inner), {}}});
  }
  /// A label name that no other label has.
  std::string fresh_label(const std::string& stem);

  // Places -----------------------------------------------------------------------------------------------------------
  /// Directs what follows into another list until leave(): `role_entry` is what state() writes to.
  void enter(Statements& body, Statements& role_entry);
  void leave();
  /// Runs `fill` with the current role's entry list (the prologue's outside of roles) as the current one.
  template <class Fill>
  void at_role_entry(Fill fill) {
    const Target saved = current_;
    current_.body = current_.role_entry;
    // Only the prologue's results are there already when the role begins.
    std::vector<Open> results{std::move(open_results_[0]), Open{}};
    results.swap(open_results_);
    fill();
    results[0] = std::move(open_results_[0]);
    open_results_ = std::move(results);
    current_ = saved;
  }
  /// Tells roles apart: the same for all code of one role.
  const void* role_key() const { return current_.role_entry; }

  // Lexical scopes ---------------------------------------------------------------------------------------------------
  ScopeId open_scope();
  void close_scope();
  ScopeId scope() const { return open_.back(); }
  /// Reports [dsl-value-scope] when a value of `owner` and `scope` may not be used here.
  void check_use(const Recorder* owner, ScopeId scope, Here at);

  // Findings ---------------------------------------------------------------------------------------------------------
  /// Reports a broken verdict at a C++ line; `found` names the offending thing ("ring 'in' has 2 producers").
  void require(rules::Verdict verdict, Here at, const std::string& found = {});
  diag::Sink& findings() { return findings_; }

  // Fences ------------------------------------------------------------------------------------------------------------
  /// The user has written a fence in this line. Others are the DSL's own, of which the verifier says nothing.
  void note_fence(Here at) { fences_.push_back(at); }
  const std::vector<Here>& fences() const { return fences_; }

  // Text for printf --------------------------------------------------------------------------------------------------
  /// The symbol of a text in global memory.
  std::string text_symbol(const std::string& text);
  static std::string symbol_of_text(std::size_t index) { return "kiln_text_" + std::to_string(index); }
  const std::vector<std::string>& texts() const { return texts_; }
  /// A call of printf takes so many bytes of arguments.
  void printed_with(int bytes) { print_bytes_ = std::max(print_bytes_, bytes); }
  /// The most that one takes; 0: nothing is printed.
  int print_bytes() const { return print_bytes_; }

  /// .reg declarations for every register handed out.
  Statements declarations() const;
  /// The files that .loc numbers name, in order from 1.
  const std::vector<std::string>& files() const { return files_; }
  Statements& prologue() { return prologue_; }

 private:
  struct Target {
    Statements* body = nullptr;
    Statements* role_entry = nullptr;
  };
  struct Open {
    std::map<std::string, ir::Operand> known{};  // pure results
  };

  void locate(Here at);

  Statements prologue_;
  Target current_{};
  std::vector<Target> suspended_;
  std::vector<ScopeId> open_;
  std::vector<Open> open_results_;
  std::vector<bool> is_open_;
  std::map<ScalarType, int> registers_;
  std::map<std::string, int> labels_;
  std::vector<std::string> files_;
  std::vector<std::string> texts_;
  std::vector<Here> fences_{};  // of the user
  int print_bytes_ = 0;
  diag::Sink findings_;
};

/// The register-file class that holds a type, and its PTX prefix: "%r" for 32 bits.
ScalarType register_class(ScalarType);

}  // namespace kiln::dsl
