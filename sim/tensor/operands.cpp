#include "sim/tensor/operands.hpp"

#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/memory.hpp"
#include "sim/core/memory_access.hpp"

namespace kiln::sim {
namespace {

using isa::Major;
using isa::MmaKind;
using isa::ScalarType;
using isa::Swizzle;

bool is_packed(MmaKind kind) { return isa::container_bits(kind) == 4; }
bool is_narrow(MmaKind kind, ScalarType type) { return isa::bits(type) < 8 && !is_packed(kind); }

// The bytes of a piece that mean something: under the kinds that mix 8, 6 and 4 bits, 16 elements lie packed at its
// front.
u32 data_bytes(const SharedOperand& o) {
  return is_narrow(o.kind, o.type) ? 2 * u32(isa::bits(o.type)) : swizzle_piece;
}

// The elements of one piece, which follow each other along the operand's contiguous dimension.
void unpack_piece(const SharedOperand& o, const u8* from, u8* out) {
  const int bits = isa::bits(o.type);
  if (is_packed(o.kind)) {
    for (u32 e = 0; e < 2 * swizzle_piece; ++e) out[e] = u8(from[e / 2] >> 4 * (e % 2) & 15);
  } else if (is_narrow(o.kind, o.type)) {
    for (int e = 0; e < 16; ++e) {
      const int bit = e * bits;
      out[e] = u8((from[bit / 8] | from[bit / 8 + 1] << 8) >> bit % 8 & ((1 << bits) - 1));
    }
  } else {
    std::memcpy(out, from, swizzle_piece);
  }
}

// Rows whose bytes stay as they are, through a swizzle that the compiler sees: most of what gathering costs.
template <Swizzle swizzle>
void copy_k_major(const SharedReader& r, const SharedOperand& o, Elements& out, int first) {
  for (int row = 0; row < o.rows; ++row) {
    if (o.skips(row)) continue;
    u8* to = out.row(first + row);
    for (int at = 0; at < o.k_bytes; at += int(swizzle_piece), to += swizzle_piece) {
      const u32 address = isa::k_major_address(o.descriptor, swizzle, o.first_row + row, at);
      const View v = r.cta.shared.view(address);
      if (!v.all_written(swizzle_piece)) out.add_poison(first + row, r.poison(address));
      std::memcpy(to, v.data, swizzle_piece);
    }
  }
}

void copy_k_major(const SharedReader& r, const SharedOperand& o, Elements& out, int first) {
  switch (o.swizzle) {
    case Swizzle::none: return copy_k_major<Swizzle::none>(r, o, out, first);
    case Swizzle::b32: return copy_k_major<Swizzle::b32>(r, o, out, first);
    case Swizzle::b64: return copy_k_major<Swizzle::b64>(r, o, out, first);
    case Swizzle::b128: return copy_k_major<Swizzle::b128>(r, o, out, first);
    case Swizzle::b128_atom32: return copy_k_major<Swizzle::b128_atom32>(r, o, out, first);
    case Swizzle::b128_atom64: return copy_k_major<Swizzle::b128_atom64>(r, o, out, first);
  }
}

void gather_k_major(const SharedReader& r, const SharedOperand& o, Elements& out, int first) {
  if (!is_packed(o.kind) && !is_narrow(o.kind, o.type)) return copy_k_major(r, o, out, first);
  const std::size_t unpacked = is_packed(o.kind) ? 2 * swizzle_piece : swizzle_piece;
  for (int row = 0; row < o.rows; ++row) {
    if (o.skips(row)) continue;
    u8* to = out.row(first + row);
    for (int at = 0; at < o.k_bytes; at += int(swizzle_piece), to += unpacked) {
      const u32 address = isa::k_major_address(o.descriptor, o.swizzle, o.first_row + row, at);
      if (const PoisonSource s = r.poison(address, data_bytes(o))) out.add_poison(first + row, s);
      unpack_piece(o, r.at(address).data, to);
    }
  }
}

// The same rows out of memory where the other dimension is contiguous.
void gather_mn_major(const SharedReader& r, const SharedOperand& o, Elements& out, int first) {
  const int size = o.container_bytes(), per_piece = int(swizzle_piece) / size;
  const bool narrow = is_narrow(o.kind, o.type);  // elements share bytes
  const auto in_operand = [&](int row) { return row >= 0 && row < o.rows && !o.skips(row); };
  for (int k = 0; k < out.k; ++k)
    for (int mn = o.first_row / per_piece * per_piece; mn < o.first_row + o.rows; mn += per_piece) {
      const int row = mn - o.first_row;
      if (!o.reads(row, per_piece)) continue;
      u8 elements[swizzle_piece];
      const u32 address = isa::mn_major_address(o.descriptor, o.swizzle, size, mn, k);
      const View piece = r.at(address);
      const PoisonSource source = r.poison(address, data_bytes(o));
      unpack_piece(o, piece.data, elements);
      for (int j = 0; source && j < per_piece; ++j)
        if (in_operand(row + j) && (narrow || !piece.from(std::size_t(j * size)).all_written(std::size_t(size))))
          out.add_poison(first + row + j, source);
      for (int j = 0; j < per_piece; ++j)
        if (in_operand(row + j))
          std::memcpy(out.row(first + row + j) + k * size, elements + j * size, std::size_t(size));
    }
}

// One row of A out of the cells of its lane: fp4 of the mixed kinds in bits 2 to 5 of its byte, 6 bits wherever
// tcgen05.cp has put them.
void unpack_cells(MmaKind kind, ScalarType type, const u8* from, int bytes, u8* out) {
  if (is_packed(kind))
    for (int e = 0; e < 2 * bytes; ++e) out[e] = u8(from[e / 2] >> 4 * (e % 2) & 15);
  else if (isa::bits(type) == 4)
    for (int e = 0; e < bytes; ++e) out[e] = u8(from[e] >> 2 & 15);
  else
    std::memcpy(out, from, std::size_t(bytes));
}

// Whether some columns of an accumulator were written and others nowhere: D lies across another's end.
bool is_half_there(const MmaTask& t, const Part& part, Cta& cta) {
  std::vector<u8> touched(std::size_t(part.n));
  for (int row = 0; row < part.rows; ++row) {
    const int lane = part.lane_of(row);
    if (is_disabled(t, cta, lane)) continue;
    const u8* marks = cta.tmem.written(lane, int(t.d & 0xFFFF));
    for (std::size_t n = 0; n < touched.size(); ++n) touched[n] |= marks[n] != TensorMemory::unwritten;
  }
  return std::ranges::count(touched, 1) != 0 && std::ranges::count(touched, 0) != 0;
}

}  // namespace

PoisonSource SharedReader::poison(u32 address, u32 bytes) const {
  const View v = at(address);
  if (v.all_written(bytes)) return 0;
  return poison_source(grid, operation, {v, isa::Space::shared_cta, &cta, address}, bytes);
}

SharedOperand operand_a(const MmaTask& t) { return tile::operand_a(t.form, t.shape, t.a, t.a_swizzle); }

SharedOperand operand_b(const MmaTask& t, const std::vector<u8>* zeroed) {
  SharedOperand b = tile::operand_b(t.form, t.shape, t.b, t.b_swizzle);
  b.first_row = t.mask.shift;
  b.zeroed = zeroed;
  return b;
}

std::vector<u8> zeroed_columns(const MmaTask& t) {
  std::vector<u8> zeroed(t.mask.generate ? std::size_t(t.shape.n) : 0);
  for (std::size_t n = 0; n < zeroed.size(); ++n) zeroed[n] = isa::is_zeroed(t.mask, t.shape.m, t.shape.n, int(n));
  return zeroed;
}

void gather_shared(const SharedReader& r, const SharedOperand& o, Elements& out, int first) {
  if (o.major == Major::K)
    gather_k_major(r, o, out, first);
  else
    gather_mn_major(r, o, out, first);
}

void gather_tensor(const MmaTask& t, const Part& part, Cta& cta, Elements& out) {
  const int column = int(t.a_tmem & 0xFFFF), columns = isa::a_columns(t.shape.k96);
  out.forget_poison();
  for (int row = 0; row < part.rows; ++row) {
    const int lane = part.lane_of(row);
    if (isa::bits(t.a_type()) == 6)
      cta.tmem.require_six_bit(lane, column, columns);
    else
      cta.tmem.require_known(lane, column, columns, "A");
    if (const auto at = cta.tmem.poison_at(lane, column, columns))
      out.add_poison(row, poison_source(t, cta, *at, "A", column));
    u8 cells[isa::a_k_bytes(true)];
    std::memcpy(cells, cta.tmem.cell(lane, column), std::size_t(4 * columns));
    unpack_cells(t.form.kind, t.a_type(), cells, 4 * columns, out.row(row));
  }
}

void check_operand(const SharedOperand& o, Cta& cta, const char* what) {
  if (const auto open = tile::undocumented(o, what)) unmodelled(*open);
  const std::size_t size = cta.shared.size();
  if (o.major == Major::K && !o.descriptor.leading_is_absolute) {
    const isa::AddressSpan span = isa::k_major_span(o.descriptor, o.swizzle, o.first_row, o.rows, o.k_bytes);
    if (span.first >= reserved_shared_bytes && span.end <= size) return;
  }
  u32 low = ~0u, high = 0;
  for_pieces(o, [&](int, u32 at) { low = std::min(low, at), high = std::max(high, at); });
  if (low >= reserved_shared_bytes && std::size_t(high) + swizzle_piece <= size) return;
  for_pieces(o, [&](int row, u32 at) {
    require(rules::memory_bounds(at, swizzle_piece, reserved_shared_bytes, size),
            "row {} of operand {} at shared address {:#x}; the CTA's shared memory is {:#x} to {:#x}", row, what, at,
            reserved_shared_bytes, size);
  });
}

void gather_b(Grid& grid, const MmaTask& t, Cta& issuer, Elements& out) {
  const std::vector<u8> zeroed = zeroed_columns(t);
  const SharedOperand operand = operand_b(t, t.mask.generate ? &zeroed : nullptr);
  out.forget_poison();
  for (int k = 0; k < t.members(); ++k)
    gather_shared({grid, t.operation, member(t, issuer, k)}, operand, out, k * operand.rows);
}

void check_accumulator(const MmaTask& task, const Part& part, Cta& cta) {
  const int column = int(task.d & 0xFFFF);
  std::optional<int> poison;
  for (int row = 0; row < part.rows; ++row) {
    const int lane = part.lane_of(row);
    if (is_disabled(task, cta, lane)) continue;
    cta.tmem.require_known(lane, column, part.n, "the accumulator");
    if (!poison) poison = cta.tmem.poison_at(lane, column, part.n);
  }
  if (!poison) return;
  Grid& grid = cta.cluster->grid;
  const PoisonSource source = poison_source(task, cta, *poison, "the accumulator", column);
  grid.poison.store(cta.tmem.line_of(*poison), source);
  if (is_half_there(task, part, cta))
    grid.report_poison(task.operation, source, "an accumulator of which other columns were written");
}

void mark_accumulator(const MmaTask& task, const Part& part, Cta& cta, const Elements& a, const Elements& b) {
  if (task.accumulate && !a.source && !b.source) return;
  const int column = int(task.d & 0xFFFF);
  for (int row = 0; row < part.rows; ++row) {
    const int lane = part.lane_of(row);
    if (is_disabled(task, cta, lane)) continue;
    const bool whole = a.source && a.poison[std::size_t(row)];
    if (!task.accumulate || whole)
      cta.tmem.mark(lane, column, part.n, whole ? TensorMemory::poison : TensorMemory::known);
    for (int n = 0; b.source && n < part.n; ++n)
      if (b.poison[std::size_t(part.first_n + n)]) cta.tmem.mark(lane, column + n, 1, TensorMemory::poison);
  }
  const PoisonSource source = a.source ? a.source : b.source;
  for (int n = 0; source && n < part.n; ++n) cta.cluster->grid.poison.store(cta.tmem.line_of(column + n), source);
}

}  // namespace kiln::sim
