// What an editor shows at an instruction: what it does, and what is known of the words in its operands.
#pragma once

#include <cstdint>
#include <string>

#include "ptx/diag/source.hpp"

namespace kiln::command {

/// A text with an instruction in it.
struct Hover {
  diag::Place place{};     // of the instruction
  std::string markdown{};  // empty: there is nothing to say
};

/// What there is to say at a byte of a PTX text. The descriptors of an MMA are taken apart where the bits that its
/// registers hold are the same each time it is executed.
Hover hover_at(const diag::SourcePtr&, std::uint32_t offset);

}  // namespace kiln::command
