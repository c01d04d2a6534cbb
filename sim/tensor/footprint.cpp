#include "sim/tensor/footprint.hpp"

#include <algorithm>

#include "ptx/isa/sparse.hpp"
#include "sim/tensor/operands.hpp"
#include "sim/tensor/sides.hpp"

namespace kiln::sim {
namespace {

struct Teller {
  Context& c;
  const Inst& i;
  int lane;
  AsyncId id;

  void tell(const Range& r, AccessKind k, Proxy p) const {
    c.grid->observer->access(c.agent(1u << lane), *i.operation, r, k, p, id);
  }
  void cells(const Cta& cta, int first_lane, int lanes, int column, int columns, AccessKind k, Operand o) const {
    tell({isa::Space::reg, cta.index, isa::pack(isa::TmemAddress{first_lane, column}), u64(4 * columns), u32(lanes), o},
         k, Proxy::tensor_memory);
  }
  // The pieces of an operand, joined where they follow each other.
  void operand(const Cta& cta, const SharedOperand& o, Operand which) const {
    std::vector<u32> pieces;
    pieces.reserve(std::size_t(o.rows * o.k_bytes) / swizzle_piece);
    for_pieces(o, [&](int, u32 at) {
      pieces.push_back(at & ~(swizzle_piece - 1));
      // Rows mostly ascend, and a swizzle only turns the pieces of each around.
      if (const std::size_t n = pieces.size(); n > 1 && pieces[n - 1] < pieces[n - 2])
        std::swap(pieces[n - 1], pieces[n - 2]);
    });
    if (!std::is_sorted(pieces.begin(), pieces.end())) std::sort(pieces.begin(), pieces.end());
    pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
    for (std::size_t k = 0; k < pieces.size();) {
      std::size_t end = k + 1;
      while (end < pieces.size() && pieces[end] == pieces[end - 1] + swizzle_piece) ++end;
      tell({isa::Space::shared_cta, cta.index, pieces[k], u64(swizzle_piece) * (end - k), 1, which}, AccessKind::read,
           Proxy::async);
      k = end;
    }
  }
};

bool is_written(const MmaTask& t, const Cta& cta, int lane) {
  const std::size_t half = t.form.group == isa::CtaGroup::two ? (cta.rank & 1) * 4 : 0;
  return !(t.disabled[half + std::size_t(lane / 32)] >> lane % 32 & 1);
}

// D of a part where its lanes are not disabled. That it is read too says nothing beyond its being written.
void tell_accumulator(const Teller& to, const MmaTask& t, const Part& part, const Cta& cta) {
  const int column = int(t.d & 0xFFFF);
  for (int row = 0; row < part.rows;) {
    const int lane = part.lane_of(row);
    int lanes = 0;
    for (; row < part.rows && part.lane_of(row) == lane + lanes && is_written(t, cta, lane + lanes); ++row) ++lanes;
    if (lanes == 0) {
      ++row;
      continue;
    }
    to.cells(cta, lane, lanes, column, part.n, AccessKind::write, Operand::accumulator);
  }
}

void tell_share(const Teller& to, const MmaTask& t, const Cta& cta) {
  for (const Part& part : parts_of(t)) {
    tell_accumulator(to, t, part, cta);
    for (int row = 0; row < part.rows; row += part.run()) {
      const int lane = part.lane_of(row);
      if (t.form.a_in_tmem)
        to.cells(cta, lane, part.run(), int(t.a_tmem & 0xFFFF), isa::a_columns(t.shape.k96), AccessKind::read,
                 Operand::a);
      if (t.form.sparse)
        to.cells(cta, lane, part.run(), t.metadata_column(), isa::metadata_columns(t.form.kind), AccessKind::read,
                 Operand::metadata);
    }
  }
  for (const isa::ScaleSide side : {isa::ScaleSide::A, isa::ScaleSide::B}) {
    const u32 address = side == isa::ScaleSide::A ? t.sfa : t.sfb;
    if (t.scale_vector)
      to.cells(cta, 0, isa::tmem_lanes, int(address & (isa::tmem_columns - 1)), scale_footprint(t, side),
               AccessKind::read, side == isa::ScaleSide::A ? Operand::scales_a : Operand::scales_b);
  }
}

}  // namespace

void tell_mma(Context& c, const Inst& i, int lane, const MmaTask& t, AsyncId id) {
  const Teller to{c, i, lane, id};
  const std::vector<u8> zeroed = zeroed_columns(t);
  for (int k = 0; k < t.members(); ++k) {
    const Cta& cta = member(t, *c.cta, k);
    if (!t.form.a_in_tmem) to.operand(cta, operand_a(t), Operand::a);
    to.operand(cta, operand_b(t, zeroed.empty() ? nullptr : &zeroed), Operand::b);
    tell_share(to, t, cta);
  }
}

}  // namespace kiln::sim
