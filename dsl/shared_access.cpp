#include "dsl/shared_access.hpp"

#include <algorithm>

#include "dsl/operands.hpp"

namespace kiln::dsl {

namespace {

constexpr int piece_bytes = 16, line_bytes = 128;  // a swizzle's key counts lines

}  // namespace

U32 SharedAccess::row_key(const U32& row, isa::Swizzle s, int pitch, Here at) {
  const int unit = isa::swizzle_key(s, line_bytes);  // what one line more exchanges
  const U32 lines = apply("div", row, line_bytes / pitch, at);
  return apply("mul.lo", apply("and", lines, isa::period_bytes(s) / line_bytes - 1, at), unit, at);
}

template <class Move>
void SharedAccess::each_piece(const Row& row, const FirstPiece& first, int count, Move move, Here at) {
  role_->accessed_memory(rec_->scope());
  // A row of a block is one span, so all its pieces share one key.
  const U32 start = apply("add", row.tile, apply("mul.lo", row.row, row.pitch, at), at);
  const bool swizzled = row.swizzle != isa::Swizzle::none;
  const U32 keyed = swizzled ? apply("or", start, row_key(row.row, row.swizzle, row.pitch, at), at) : start;
  const int pieces_of_block = std::max(1, row.pitch / piece_bytes);
  if (first.computed) {
    for (int i = 0; i < count; ++i) {
      const U32 piece = apply("add", *first.computed, i, at);
      const U32 within = row.blocks == 1 ? piece : apply("rem", piece, pieces_of_block, at);
      const U32 place = apply(swizzled ? "xor" : "add", keyed, apply("mul.lo", within, piece_bytes, at), at);
      const U32 block = apply("mul.lo", apply("div", piece, pieces_of_block, at), row.block_bytes, at);
      move(Operand::address(use(*rec_, row.blocks == 1 ? place : apply("add", place, block, at), at)), i);
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    const int piece = first.number + i, block = piece / pieces_of_block, within = piece % pieces_of_block * piece_bytes;
    const U32 place = apply(swizzled ? "xor" : "add", keyed, within, at);
    move(Operand::address(use(*rec_, place, at), block * row.block_bytes), i);
  }
}

std::vector<Operand> SharedAccess::load_vectors(const Row& from, const FirstPiece& first, int count, Here at) {
  std::vector<Operand> regs;
  for (int i = 0; i < 4 * count; ++i) regs.push_back(rec_->fresh(ScalarType::b32));
  each_piece(
      from, first, count,
      [&](const Operand& address, int i) {
        const auto begin = regs.begin() + 4L * i;
        rec_->emit("ld.shared.v4.b32", {Operand::vector({begin, begin + 4}), address}, at);
      },
      at);
  return regs;
}

void SharedAccess::store_vectors(const Row& to, const FirstPiece& first, const std::vector<Operand>& values,
                                 Here at, const Pred* there) {
  if (there && there->is_constant() && !there->constant()) return;
  const bool everywhere = !there || there->is_constant();
  each_piece(
      to, first, int(values.size()) / 4,
      [&](const Operand& address, int i) {
        const auto begin = values.begin() + 4L * i;
        const std::vector<Operand> operands{address, Operand::vector({begin, begin + 4})};
        if (everywhere)
          rec_->emit("st.shared.v4.b32", operands, at);
        else
          rec_->emit_if(use(*rec_, *there, at), false, "st.shared.v4.b32", operands, at);
      },
      at);
}

}  // namespace kiln::dsl
