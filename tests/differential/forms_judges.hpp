// The two engines that judge instructions: ptxas, and Kiln's parser and verifier.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/ptxas/ptxas.hpp"
#include "ptx/isa/ptxas_version.hpp"

namespace kiln::test {

/// What an instruction is judged for.
struct Setting {
  isa::Target target{};
  isa::PtxVersion version{9, 0};
  isa::PtxasVersion ptxas{};  // which ptxas Kiln judges as
};
std::string spelling(const Setting&);

/// Why an instruction is refused; empty when it is accepted.
using Refusal = std::string;

/// A module with a kernel for each instruction, in order, after an empty one. Their names say what is declared.
std::string module_of(const Setting&, std::span<const std::string> instructions);

/// What ptxas says about each instruction. A crash counts as a refusal and says "crash". Throws diag::InputError when
/// ptxas cannot be run or its answer not be understood.
std::vector<Refusal> ask_ptxas(const harness::Ptxas&, const Setting&, std::span<const std::string> instructions);

/// What Kiln says about each instruction alone: syntax, form, target and version. Rules about what a kernel does with
/// an instruction are left out; `incomplete` is not accepting.
std::vector<Refusal> ask_kiln(const Setting&, std::span<const std::string> instructions);

}  // namespace kiln::test
