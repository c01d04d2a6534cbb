// Instruction names: which exist, which of their operands are results, which unit executes them.
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::isa {

/// The instruction's name without modifiers. `unknown`: not in the table; the text is kept as it was read.
enum class Opcode : std::uint16_t {
  unknown,
#define OPCODE(id, spelling, writes, unit, family) id,
#include "ptx/isa/opcodes.def"
#undef OPCODE
};

/// Which leading operands an instruction writes. `maybe`: the first, unless it is an address (mbarrier.arrive on a
/// remote barrier returns nothing).
enum class Writes : std::uint8_t { none, first, two, three, maybe };

/// How many leading operands hold results; of `maybe`, how many may.
constexpr std::size_t results(Writes w) { return w == Writes::maybe ? 1 : std::size_t(w); }

enum class Unit : std::uint8_t {
  unknown,
  alu,
  video,
  control,
  memory,
  warp,
  barrier,
  mbarrier,
  async_copy,
  matrix,
  tcgen05,
  texture
};

/// "tcgen05.mma"; empty for `unknown`.
std::string_view spelling(Opcode);
Writes writes(Opcode);
Unit unit(Opcode);

/// The opcode at the start of a dotted mnemonic and how many characters of it are its name.
struct OpcodeMatch {
  Opcode opcode = Opcode::unknown;
  std::size_t length = 0;
};

/// The longest opcode that is a dotted prefix of `mnemonic` ("tcgen05.mma.ws.kind::f16" gives tcgen05_mma_ws). For an
/// unknown name, `length` covers the text up to the first dot.
OpcodeMatch match_opcode(std::string_view mnemonic);

/// True for bra, brx.idx, ret, exit, trap: what may end a basic block.
constexpr bool ends_block(Opcode op) {
  return op == Opcode::bra || op == Opcode::brx_idx || op == Opcode::ret || op == Opcode::exit || op == Opcode::trap;
}

}  // namespace kiln::isa
