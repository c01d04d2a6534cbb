// The queue of commands in shared memory: who gives one takes a ticket, waits until its slot is free, writes the words
// and arrives; the engine's warps read them in the order of the tickets.
#pragma once

#include <string>
#include <vector>

#include "lower/plan.hpp"
#include "lower/text.hpp"

namespace kiln::lower {

/// Of the first word of a command.
inline constexpr unsigned command_mask = 0xff, flag_first = 0x100, flag_second = 0x200;

/// Words of a command: 32-bit registers or numbers, at most six. For one thread of whoever is there.
void push(Text&, const std::vector<std::string>& words);

/// `lw_slot8`, eight times the slot of a ticket, and `lw_parity`, how often the queue was gone round before, modulo 2:
/// into registers of these names.
void find_slot(Text&, const char* ticket, const char* slot8, const char* parity);

/// The loop that waits for a phase of the mbarrier at a register's address. The label is the block's own.
void wait_for(Text&, const char* barrier, const char* parity, const char* label);

}  // namespace kiln::lower
