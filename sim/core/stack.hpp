// The stack of a thread: bytes in use, after the variables in its local memory.
#pragma once

#include <cstdint>

namespace kiln::sim {

struct Context;

/// Room for what one thread takes with alloca: bytes, and the alignment of the first. A thread that needs more ends the
/// run as incomplete.
inline constexpr std::uint32_t stack_room = 4096;
inline constexpr std::uint32_t stack_alignment = 128;

/// Bytes in use. Only in a program that has a stack.
std::uint32_t stack_used(const Context&, int lane);
/// Allocates or frees; freed bytes count as unwritten.
void set_stack_used(Context&, int lane, std::uint32_t used);

}  // namespace kiln::sim
