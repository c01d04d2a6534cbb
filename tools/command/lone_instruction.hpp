// One instruction on its own, in a function that gives every name in it a type, so that the verifier can judge it for
// any target.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "ptx/isa/mma_form.hpp"

namespace kiln::command {

/// What the verifier says of the instruction on a target.
struct TargetAnswer {
  isa::Target target;
  std::optional<isa::PtxVersion> lowest{};   // the lowest .version that takes it; none: no version does
  std::vector<diag::Diagnostic> findings{};  // at the newest version: errors, or that something is not modelled
};

/// Registers with their declared types.
using RegisterTypes = std::map<std::string, isa::ScalarType>;

class LoneInstruction {
 public:
  /// A name that is not among `declared` gets the type of the place where it stands. Throws InputError for text that is
  /// not one instruction.
  explicit LoneInstruction(std::string text, const RegisterTypes& declared = {});

  const ir::Instruction& instruction() const;
  /// As it was written, without what stood around it.
  const std::string& text() const { return text_; }
  /// One operand of it, as it was written.
  std::string written(const ir::Operand&) const;
  /// The form of a tcgen05.mma with all its operands; nothing for others.
  std::optional<isa::MmaForm> mma_form() const;
  /// Asks the verifier.
  TargetAnswer ask(isa::Target) const;

 private:
  std::vector<diag::Diagnostic> findings(isa::Target, isa::PtxVersion) const;

  std::string text_;
  ir::Module module_;
};

}  // namespace kiln::command
