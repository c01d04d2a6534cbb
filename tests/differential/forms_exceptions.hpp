// Where Kiln and ptxas differ on purpose, and why.
#pragma once

#include <atomic>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/isa/ptxas_version.hpp"

namespace kiln::test {

/// A row of tests/data/forms/exceptions.txt:
///
///   accepts | sm_1* | tcgen05.commit.*.shared::cta.* | the reason
///   accepts | * | tcgen05.mma*.row* => got .row | of what Kiln refuses because of .row alone
///   accepts | * | not ldmatrix,tcgen05.cp: *.b8x16* => got .b8x16 | of all instructions but those that have it
///   refuses ..13.3 | * | tcgen05.commit.* | of the ptxas of CUDA 13.3 and before alone
///
/// `accepts`: ptxas takes what is illegal; `refuses`: ptxas refuses what is legal; `hangs`: ptxas does not end, so it
/// is not asked, and Kiln must refuse. A range of versions of ptxas may follow, with either end left out. Then a
/// setting and an instruction, in which * stands for anything (after beginnings of those that are left out), words that the engine which refuses says, where the row
/// is about what is refused with these alone, and the reason.
struct Exception {
  enum class Kind { accepts, refuses, hangs } kind = Kind::accepts;
  isa::PtxasVersion first{}, last = isa::newest_ptxas;
  std::string setting{}, instruction{}, said{}, reason{}, row{};
  std::vector<std::string> left_out{};  // beginnings of instructions
  std::atomic<std::size_t> matched = 0;
};

/// Rows stay where they are, because they count what they match from several threads.
using Exceptions = std::deque<Exception>;

/// The rows of a file that are about a version of ptxas. Throws std::runtime_error naming the row that cannot be read.
Exceptions read_exceptions(const std::string& path, isa::PtxasVersion);

/// Whether a row speaks of an instruction, whatever its kind. A guard of the instruction does not count.
bool is_about(const Exception&, std::string_view setting, std::string_view instruction);

/// What stands in every instruction that a row covers, because a refusal that says "got X" got it there; empty where the
/// row's words are others.
std::string_view needed_word(const Exception&);

/// Whether a refusal, in each of its findings, has a text as whole words.
bool says(std::string_view refusal, std::string_view text);

/// The row of a kind for an instruction that an engine refuses so; null when there is none. Counts the match.
Exception* find_exception(Exceptions&, Exception::Kind, std::string_view setting, std::string_view instruction,
                          std::string_view refusal);

/// Whether a text is `pattern`.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace kiln::test
