// A kernel of the table as a text, and the launch of its problem: for commands that judge texts.
#pragma once

#include <optional>
#include <string>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "tools/command/report/kernel_choice.hpp"
#include "tools/command/subcommands.hpp"
#include "verifier/launch_facts.hpp"

namespace kiln::command {

/// Whether a word of the command line means a kernel of the table, and not a file: it has no suffix and no folder, and
/// is the name of a kernel or of no file.
bool names_kernel(const std::string& word);

/// What may be said about a kernel in the place of a file.
struct KernelToJudge {
  KernelChoice choice{};
  bool problem = false;  // --problem: for the launch of these sizes alone
};

/// Adds --target, --problem and the kernel's sizes where the command line names a kernel; else says how to see them.
void add_kernel_to_judge(CLI::App&, KernelToJudge&, const Builder&);

/// A kernel of the table, written as PTX.
struct KernelText {
  diag::SourcePtr source{};                   // none: the DSL or the verifier of what it built found why not
  diag::Sink findings{};                      // those
  std::optional<launch::Contract> problem{};  // the launch, with --problem
  verifier::LaunchFacts facts{};              // what is known of every launch
};

/// What is known of every launch of a kernel: the CTA, dynamic shared memory, the boxes of its tiles' tensor maps. The
/// box of a bare map is the launch's.
verifier::LaunchFacts launch_facts(const dsl::Kernel&);

/// Builds the kernel of that name. Throws InputError for sizes and targets that it does not take.
KernelText kernel_text(KernelToJudge, const std::string& name);

}  // namespace kiln::command
