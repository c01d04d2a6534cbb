// How `kiln check` judges one text: its instructions, its synchronisation, whether a launch fits it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "verifier/explore.hpp"
#include "verifier/work_clock.hpp"

namespace kiln::command {

/// What a text is judged by.
struct JudgeOptions {
  std::string profile = "isa";
  std::string ptxas{};        // judge as this version does
  std::string ptx_version{};  // judge as if this were its .version
  double budget = 10;         // seconds a text
  bool quick = false;         // instructions alone
  bool lint = false;          // and what is legal but costs
  verifier::LaunchFacts facts{};
  std::optional<launch::Contract> launch{};  // explored alone, and must fit
  std::string launch_file{};                 // that it is from; none: it is that of a kernel's problem
};

/// What became of races in global memory, which are not explored; of several texts the latest row that any has.
enum class GlobalMemory : std::uint8_t { out_of_question, simulated, not_judged };

/// What it is said to be, where `command` would judge runs; empty where it is out of question.
std::string spelling(GlobalMemory, std::string_view command);

/// What is wrong with a text.
struct Judgement {
  diag::Sink found{};
  GlobalMemory global = GlobalMemory::out_of_question;
};

/// Whether a finding says that something could not be followed, so that the synchronisation is not proven.
bool is_unfollowed(const diag::Diagnostic&);

/// How long an exploration may take when a file may take `budget` seconds of the thread's work since `begun`: most of
/// what is left, 1 ms at least.
std::chrono::milliseconds time_to_explore(double budget, verifier::WorkClock::time_point begun);

/// Judges a text, within the budget. Throws InputError for a launch that cannot be used.
Judgement judge(const diag::SourcePtr&, const JudgeOptions&);

/// Adds what another look at the same text has found: what is known already is not repeated, and one mistake is one
/// finding.
void join(const diag::SourcePtr&, diag::Sink& known, const diag::Sink& more);

/// The same of a kernel's text, for every launch unless the options have one: what the kernel knows of its launches
/// counts as facts, and what is not proven for every launch names the option that says more.
Judgement judge_kernel(const diag::SourcePtr&, JudgeOptions, verifier::LaunchFacts known);

}  // namespace kiln::command
