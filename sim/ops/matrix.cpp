// Matrices between shared memory and the registers of a warp, and between registers. PTX ISA "ldmatrix", "stmatrix",
// "movmatrix".
//
// Lane `rows` * j + r gives the address of row r of matrix j, 16 bytes. What lies where is isa::matrix_byte.
#include <array>
#include <cstring>

#include "ptx/isa/matrix_move.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

using isa::DataShape;

using MatrixRow = std::array<u8, isa::matrix_row_bytes>;

// The lane that gives the address of a row, and what it names.
int lane_of_row(const Inst& i, int matrix, int row) { return matrix * isa::matrix_rows(DataShape(i.mode)) + row; }
Place row_place(Context& c, const Inst& i, int lane) {
  return locate_shared(c, Space(i.space), c.address(i, lane), isa::matrix_row_bytes, isa::matrix_row_bytes, lane);
}

// Elements of fewer than eight bits, packed at the front of a row, become bytes. i.width: their bits.
MatrixRow widened(const Inst& i, const u8* from) {
  MatrixRow out;
  for (int e = 0; e < isa::matrix_row_bytes; ++e) {
    const int bit = e * i.width, at = bit / 8;
    const u32 pair = from[at] | (at + 1 < isa::matrix_row_bytes ? u32(from[at + 1]) << 8 : 0);
    out[std::size_t(e)] = u8(pair >> bit % 8 & ((1u << i.width) - 1));
  }
  return out;
}

using MatrixRows = std::array<MatrixRow, 16>;

// The rows of a matrix out of the register that each lane has of it, and a register of a lane out of the rows.
MatrixRows rows_of(const u32* from, DataShape shape, bool transposed) {
  MatrixRows rows;
  for (int t = 0; t < warp_lanes; ++t)
    for (int b = 0; b < 4; ++b) {
      const isa::MatrixByte at = isa::matrix_byte(shape, transposed, t, 0, b);
      rows[std::size_t(at.row)][std::size_t(at.byte)] = u8(from[t] >> 8 * b);
    }
  return rows;
}
u32 register_of(const MatrixRows& rows, DataShape shape, bool transposed, int lane, int number) {
  u32 word = 0;
  for (int b = 0; b < 4; ++b) {
    const isa::MatrixByte at = isa::matrix_byte(shape, transposed, lane, number, b);
    word |= u32(rows[std::size_t(at.row)][std::size_t(at.byte)]) << 8 * b;
  }
  return word;
}

// Poison of registers as words of which each poison byte is 0xFF, and back.
std::array<u32, warp_lanes> poison_words(const Context& c, u32 offset) {
  std::array<u32, warp_lanes> out{};
  if (!c.warp->poison) return out;
  const Mask* bytes = c.warp->poison->bytes(offset);
  for (int t = 0; t < warp_lanes; ++t)
    for (int b = 0; b < 4; ++b) out[std::size_t(t)] |= bytes[b] >> t & 1 ? 0xFFu << 8 * b : 0;
  return out;
}
void set_poison(RegisterPoison& poison, u32 offset, const std::array<u32, warp_lanes>& words, PoisonSource source) {
  Mask* bytes = poison.bytes(offset);
  for (int b = 0; b < 4; ++b)
    bytes[b] = lanes_where(all_lanes, [&](int t) { return words[std::size_t(t)] >> 8 * b & 1; });
  if (source) poison.source(offset) = source;
}

// What is poison of a row as loaded: elements that are widened are poison together.
MatrixRow poison_row(const Inst& i, const Place& p, u32 read_bytes) {
  MatrixRow out{};
  for (std::size_t e = 0; e < out.size(); ++e)
    if (i.width == 8 ? !p.view.written[e] : !p.view.all_written(read_bytes)) out[e] = 0xFF;
  return out;
}

using Registers = std::array<std::array<u32, warp_lanes>, 4>;

void put_registers(Registers& out, const MatrixRows& rows, const Inst& i, int matrix) {
  const auto shape = DataShape(i.mode);
  const int registers = isa::matrix_registers(shape);
  for (int r = 0; r < registers; ++r)
    for (int t = 0; t < warp_lanes; ++t)
      out[std::size_t(matrix * registers + r)][std::size_t(t)] = register_of(rows, shape, i.flags != 0, t, r);
}

// more: a register for each matrix, or two; mode: the shape; flags: .trans; count: matrices.
void load_matrix(Context& c, const Inst& i, Mask) {
  const auto shape = DataShape(i.mode);
  const auto read_bytes = u32(i.width * isa::matrix_row_bytes / 8);
  Registers out{}, poison{};
  PoisonSource source = 0;
  for (int matrix = 0; matrix < i.count; ++matrix) {
    MatrixRows rows, poison_rows{};
    for (int r = 0; r < isa::matrix_rows(shape); ++r) {
      const int lane = lane_of_row(i, matrix, r);
      const Place p = row_place(c, i, lane);
      observe(c, i, lane, p, isa::matrix_row_bytes, AccessKind::read);
      rows[std::size_t(r)] = widened(i, p.view.data);
      if (p.view.all_written(read_bytes)) continue;
      source = poison_source(*c.grid, i.operation, p, read_bytes);
      poison_rows[std::size_t(r)] = poison_row(i, p, read_bytes);
    }
    put_registers(out, rows, i, matrix);
    if (source) put_registers(poison, poison_rows, i, matrix);
  }
  // The address register may be a result.
  for (unsigned k = 0; k < i.more_count; ++k)
    std::memcpy(c.lanes<u32>(c.slot(i, k).offset), out[k].data(), sizeof out[k]);
  if (!source && !c.warp->poison) return;
  for (unsigned k = 0; k < i.more_count; ++k) set_poison(poison_of(c), c.slot(i, k).offset, poison[k], source);
}

void store_matrix(Context& c, const Inst& i, Mask) {
  const auto shape = DataShape(i.mode);
  for (int matrix = 0; matrix < i.count; ++matrix) {
    const u32 from = c.slot(i, unsigned(matrix)).offset;
    const MatrixRows rows = rows_of(c.lanes<u32>(from), shape, i.flags != 0);
    const bool poisoned = c.warp->poison && c.warp->poison->any(c.slot(i, unsigned(matrix)));
    const MatrixRows poison = poisoned ? rows_of(poison_words(c, from).data(), shape, i.flags != 0) : MatrixRows{};
    for (int r = 0; r < isa::matrix_rows(shape); ++r) {
      const int lane = lane_of_row(i, matrix, r);
      const Place p = row_place(c, i, lane);
      const u8* bytes = rows[std::size_t(r)].data();
      observe(c, i, lane, p, isa::matrix_row_bytes, kind_of_write(p.view, bytes, isa::matrix_row_bytes));
      std::memcpy(p.view.data, bytes, isa::matrix_row_bytes);
      p.view.mark(isa::matrix_row_bytes);
      for (u32 b = 0; poisoned && b < isa::matrix_row_bytes; ++b)
        if (poison[std::size_t(r)][b]) {
          p.view.written[b] = 0;
          c.grid->poison.store(p.view.data + b, c.warp->poison->source(from));
        }
    }
  }
}

// d, a: 8x8 elements of 16 bits, held row by row as ldmatrix leaves them; the result is the transpose.
void transpose(Context& c, const Inst& i, Mask) {
  const MatrixRows rows = rows_of(c.lanes<u32>(i.a), DataShape::m8n8, false);
  u32* to = c.lanes<u32>(i.d);
  for (int t = 0; t < warp_lanes; ++t) to[t] = register_of(rows, DataShape::m8n8, true, t, 0);
  if (!c.warp->poison) return;
  const MatrixRows poison = rows_of(poison_words(c, i.a).data(), DataShape::m8n8, false);
  std::array<u32, warp_lanes> words;
  for (int t = 0; t < warp_lanes; ++t) words[std::size_t(t)] = register_of(poison, DataShape::m8n8, true, t, 0);
  set_poison(*c.warp->poison, i.d, words, c.warp->poison->source(i.a));
}

// Shapes that go with their direction, element and transposition.
bool is_known(const isa::Modifiers& m, bool loads) {
  const bool formats = m.cp_source_format != isa::CpSourceFormat::none;
  switch (m.shape) {
    case DataShape::m8n8: return m.type() == ScalarType::b16;
    case DataShape::m16n16: return loads && m.trans && (formats || m.type() == ScalarType::b8);
    case DataShape::m8n16: return loads && !m.trans && formats;
    case DataShape::m16n8: return !loads && m.trans && m.type() == ScalarType::b8;
    default: return false;
  }
}

void bind(Binder& binder, const ir::Operation& op, const ops::MatrixAccess& x, Inst& inst, bool loads) {
  const isa::Modifiers& m = op.modifiers;
  if (!is_known(m, loads)) throw Gap{"this matrix shape"};
  binder.access(inst, op, x.address);
  binder.append_all(inst, x.registers, ScalarType::b32);
  inst.count = u8(isa::repeat_count(m.repeat));
  const bool fits = int(inst.more_count) == inst.count * isa::matrix_registers(m.shape) && inst.more_count <= 4;
  if (!fits) throw Gap{"this matrix count"};
  inst.mode = u8(m.shape);
  inst.flags = m.trans;
  inst.width = u8(isa::packed_element_bits(m.cp_source_format));
  inst.run = loads ? warp_wide<load_matrix> : warp_wide<store_matrix>;
}

}  // namespace

void bind_matrix_load(Binder& binder, const ir::Operation& op, const ops::MatrixAccess& x, Inst& inst) {
  bind(binder, op, x, inst, true);
}

void bind_matrix_store(Binder& binder, const ir::Operation& op, const ops::MatrixAccess& x, Inst& inst) {
  bind(binder, op, x, inst, false);
}

void bind_matrix_transpose(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  if (m.shape != DataShape::m8n8 || m.type() != ScalarType::b16 || !m.trans) throw Gap{"this matrix shape"};
  operands(binder, alu, inst, ScalarType::b32, 1);
  inst.run = warp_wide<transpose>;
}

}  // namespace kiln::sim
