// Registers that hold one value after another, taken apart. A register that a compiler uses again for something else,
// or that an instruction changes in place, becomes several: one for each set of writes that reach common reads.
#pragma once

#include "ptx/ir/code.hpp"

namespace kiln::flow {

/// The same code with a register for each web: a set of writes and reads of one register such that no write outside of
/// the set reaches a read in it. Every analysis without a thought for paths then tells them apart. The first web keeps
/// the register's number; the others get new ones, of the same name and type. An arithmetic instruction or a shuffle
/// that one write alone reaches, a mov of a number, reads the number: compilers begin several loops with one zero.
/// Registers whose writers go on after their instruction (tcgen05.ld, wgmma) stay whole, since what else writes them
/// meanwhile is a mistake to be found.
ir::Code with_webs(ir::Code);

}  // namespace kiln::flow
