#include "sim/tensor/sides.hpp"

#include <fmt/format.h>

#include "ptx/isa/scales.hpp"
#include "ptx/isa/sparse.hpp"

namespace kiln::sim {
namespace {

using isa::ScaleSide;

// Where one side's scales lie, and which lanes hold copies of them.
struct Scales {
  int base = 0;           // column
  int id = 0;             // byte of a row's first scale
  int group_columns = 0;  // from one group of four scales to the next
  int rows = 0;
  int half = 0;    // rows in each half of the lanes; 0: all four quarters hold the same
  int copies = 4;  // quarters with the same cells
};

Scales scales_of(const MmaTask& t, ScaleSide side) {
  const bool a = side == ScaleSide::A;
  Scales s;
  s.base = int((a ? t.sfa : t.sfb) & (isa::tmem_columns - 1));
  s.id = a ? t.shape.sfa_id : t.shape.sfb_id;
  s.group_columns = isa::scale_group_columns(side, t.shape.m, t.shape.n, t.form.group);
  s.rows = a ? t.rows() : t.shape.n;
  if (!a && isa::scales_lie_in_halves(t.form.group, t.shape.m)) s.half = t.shape.n / 2, s.copies = 2;
  return s;
}

void check_selectors(isa::MmaKind kind, int row, u32 four) {
  for (int bit = 0; bit < 16; bit += 4)
    if (const u32 nibble = four >> bit & 15; !isa::is_selector(kind, nibble))
      unmodelled(fmt::format("the metadata {:#x} of row {}, which keeps no half of its elements", nibble, row));
}

}  // namespace

// No document says which copy serves which rows, so copies that differ have no known meaning.
std::vector<u8> gather_scales(const MmaTask& t, Cta& cta, ScaleSide side, Elements& scaled) {
  const Scales s = scales_of(t, side);
  std::vector<u8> out;
  out.reserve(std::size_t(s.rows * t.scale_vector));
  for (int row = 0; row < s.rows; ++row)
    for (int k = 0; k < t.scale_vector; ++k) {
      const auto [lane, column, byte] = isa::scale_cell(s.half ? row % s.half : row, s.id + k, s.group_columns);
      const int first = lane + (s.half ? isa::tmem_lanes / 2 * (row / s.half) : 0), at = s.base + column;
      const auto value = u8(*cta.tmem.cell(first, at) >> 8 * byte);
      bool poison = false;
      for (int copy = 0; copy < s.copies; ++copy) {
        const int there = first + isa::tmem_lanes_per_warp * copy;
        cta.tmem.require_known(there, at, 1, "scale factors");
        poison |= TensorMemory::is_poison(*cta.tmem.written(there, at));
        if (u8(*cta.tmem.cell(there, at) >> 8 * byte) != value && !poison)
          unmodelled("scale factors that differ between the quarters of the lanes");
      }
      if (poison) scaled.add_poison(row, poison_source(t, cta, at, "scale factors", s.base));
      out.push_back(value);
    }
  return out;
}

int scale_footprint(const MmaTask& t, ScaleSide side) {
  const Scales s = scales_of(t, side);
  const bool spills = s.id + t.scale_vector > isa::scales_per_cell;
  return isa::scale_columns(s.half ? s.half : s.rows) + (spills ? s.group_columns : 0);
}

int metadata_words(isa::MmaKind kind) { return isa::mma_k(kind, true) / isa::metadata_chunk(kind) / 8; }

std::vector<u32> gather_metadata(const MmaTask& t, const Part& part, Cta& cta, Elements& a) {
  const isa::MmaKind kind = t.form.kind;
  const int words = metadata_words(kind), base = t.metadata_column();
  std::vector<u32> out(std::size_t(part.rows * words));
  for (int row = 0; row < part.rows; ++row)
    for (int chunk = 0; chunk < 8 * words; chunk += 4) {  // four lie side by side in every kind
      const isa::MetadataCell at = isa::metadata_cell(kind, row, chunk);
      const int lane = part.lane_of(at.row), column = base + at.column;
      cta.tmem.require_known(lane, column, 1, "metadata");
      const u32 four = *cta.tmem.cell(lane, column) >> at.bit & 0xFFFF;
      if (TensorMemory::is_poison(*cta.tmem.written(lane, column)))
        a.add_poison(row, poison_source(t, cta, column, "metadata", base));
      else
        check_selectors(kind, row, four);
      out[std::size_t(row * words + chunk / 8)] |= four << chunk % 8 * 4;
    }
  return out;
}

}  // namespace kiln::sim
