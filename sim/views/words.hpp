// Names of instructions, waits and operands as views show them.
#pragma once

#include <string>
#include <string_view>

#include "sim/core/machine.hpp"

namespace kiln::sim {

/// What an instruction does in a word: "mma", "load", "arrive", "compute".
std::string_view activity(const ir::Operation&);

/// What a blocked thread of a CTA waits for: "wait full[2]", "wait barrier 1".
std::string wait_name(const Cta&, const Wait&);

/// "accumulator", "A", "scales of A"; empty for none.
std::string_view spelling(Operand);

/// The buffer that a global address lies in; empty for a gap.
std::string buffer_name(const Grid&, std::uint64_t address);

}  // namespace kiln::sim
