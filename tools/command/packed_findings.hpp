// Findings as bytes and back, with the texts that they point into: for another process, and for the cache.
#pragma once

#include <string>
#include <vector>

#include "tools/command/judge.hpp"

namespace kiln::command {

/// A judgement as bytes. The text `known` is left out: the reader has it.
std::string pack(const Judgement&, const diag::SourcePtr& known);

/// The judgement that pack made bytes of, about `known` again. Throws std::exception for other bytes.
Judgement unpack(const std::string& bytes, const diag::SourcePtr& known);

}  // namespace kiln::command
