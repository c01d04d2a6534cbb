#include "dsl/matrices.hpp"

#include <algorithm>
#include <bit>

#include "dsl/operands.hpp"

namespace kiln::dsl {

namespace {

// What a host constant, a value of the kernel, or both add up to.
struct Sum {
  std::optional<U32> value{};
  int constant = 0;

  void add(const OperandOf<U32>& more, Here at) {
    if (more.value)
      add(*more.value, at);
    else
      constant += int(more.constant);
  }
  void add(const U32& more, Here at) {
    const U32 sum = value ? apply("add", *value, more, at) : more;
    value.emplace(sum);
  }
};

// base + sum * scale
U32 plus(const U32& base, const Sum& sum, int scale, Here at) {
  const U32 first = apply("add", base, std::int64_t(sum.constant) * scale, at);
  return sum.value ? apply("add", first, apply("mul.lo", *sum.value, scale, at), at) : first;
}

std::string mnemonic_of(const MatrixMove& m) {
  const bool widens = m.packed_bits != 0;
  const std::string_view type = m.shape == isa::DataShape::m8n8 ? "b16" : widens ? "b8x16" : "b8";
  const std::string_view packed = !widens ? "" : m.packed_bits == 6 ? "b6x16_p32" : "b4x16_p64";
  return dotted({m.store ? "stmatrix" : "ldmatrix", "sync.aligned", spelling(m.shape), "x" + std::to_string(m.count),
                 m.trans ? "trans" : "", "shared", type, packed});
}

}  // namespace

void Matrices::require_start(const OperandOf<U32>& start, int elements, int extent, int step, Here at) const {
  if (start.value) return;
  rec_->require(rules::tile_slice(elements, start.constant, step), at);
  if (start.constant + extent > elements) rec_->require(rules::tile_slice(elements, start.constant, extent), at);
}

// The address of the 16 bytes that this lane names: lane l those of line l % n of matrix l / n.
U32 Matrices::matrix_row(const MatrixMove& m, const TileShape& tile, const U32& base, const OperandOf<U32>& row,
                         const OperandOf<U32>& column, Here at) {
  role_->accessed_memory(rec_->scope());
  const bool k_inner = tile.order == Major::K;
  const int lines = isa::matrix_rows(m.shape), piece_elements = isa::matrix_row_bytes * 8 / tile.element.bits;
  Sum outer, piece;  // a line of the tile, and 16 bytes of it
  outer.add(k_inner ? row : column, at);
  const OperandOf<U32>& inner = k_inner ? column : row;
  if (inner.value)
    piece.add(apply("div", *inner.value, piece_elements, at), at);
  else
    piece.constant = int(inner.constant) / piece_elements;

  outer.add(apply("and", lane(at), lines - 1, at), at);
  if (m.count > 1) {
    // The lanes beyond the last matrix name rows too, which no instruction reads.
    const U32 matrix = apply("and", apply("shr", lane(at), std::countr_zero(unsigned(lines)), at), m.count - 1, at);
    const int along = m.count / m.stacked;  // the rest follow along the fragment's order
    Sum &across_of = m.trans ? piece : outer, &along_of = m.trans ? outer : piece;
    if (m.stacked > 1)
      across_of.add(apply("mul.lo", apply("rem", matrix, m.stacked, at), m.trans ? 1 : m.lines, at), at);
    if (along > 1) along_of.add(apply("mul.lo", apply("div", matrix, m.stacked, at), m.trans ? m.run : 1, at), at);
  }

  const U32 start = plus(base, outer, tile.row_pitch(), at);
  const int pieces_of_block = std::max(1, tile.row_pitch() / isa::matrix_row_bytes);
  Sum block, within;
  if (tile.blocks() == 1) {
    within.constant = piece.constant;
    if (piece.value) within.add(*piece.value, at);
  } else if (piece.value) {
    const U32 whole = apply("add", *piece.value, piece.constant, at);
    block.add(apply("div", whole, pieces_of_block, at), at);
    if (pieces_of_block > 1) within.add(apply("rem", whole, pieces_of_block, at), at);
  } else {
    block.constant = piece.constant / pieces_of_block;
    within.constant = piece.constant % pieces_of_block;
  }
  const U32 line_start = plus(start, block, tile.block_bytes(), at);
  if (tile.swizzle() == isa::Swizzle::none) return plus(line_start, within, isa::matrix_row_bytes, at);
  const U32 line = plus(*outer.value, {{}, outer.constant}, 1, at);
  const U32 key = row_key(line, tile.swizzle(), tile.row_pitch(), at);
  if (!within.value)
    return apply("add", line_start, apply("xor", key, within.constant * isa::matrix_row_bytes, at), at);
  const U32 bytes = apply("mul.lo", apply("add", *within.value, within.constant, at), isa::matrix_row_bytes, at);
  return apply("add", line_start, apply("xor", bytes, key, at), at);
}

std::vector<Operand> Matrices::load_matrices(const MatrixMove& m, const TileShape& tile, const U32& from,
                                             const OperandOf<U32>& row, const OperandOf<U32>& column, Here at) {
  if (m.shape != isa::DataShape::m8n8) require_feature(isa::Feature::matrix_b8, at);
  const U32 address = matrix_row(m, tile, from, row, column, at);
  std::vector<Operand> regs;
  for (int i = 0; i < m.registers; ++i) regs.push_back(rec_->fresh(ScalarType::b32));
  rec_->emit(mnemonic_of(m), {Operand::vector(regs), address_of(*rec_, address, at)}, at);
  return regs;
}

void Matrices::store_matrices(const MatrixMove& m, const TileShape& tile, const U32& to, const OperandOf<U32>& row,
                              const OperandOf<U32>& column, const std::vector<Operand>& values, Here at) {
  if (m.shape != isa::DataShape::m8n8) require_feature(isa::Feature::matrix_b8, at);
  const U32 address = matrix_row(m, tile, to, row, column, at);
  std::vector<Operand> regs;
  for (const Operand& value : values) regs.push_back(in_register(*rec_, value, at));
  rec_->emit(mnemonic_of(m), {address_of(*rec_, address, at), Operand::vector(std::move(regs))}, at);
}

}  // namespace kiln::dsl
