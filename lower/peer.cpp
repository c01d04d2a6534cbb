#include "lower/peer.hpp"

#include <bit>

#include "lower/operand.hpp"
#include "lower/pair.hpp"
#include "lower/queue.hpp"

namespace kiln::lower {

PeerCode::PeerCode(Text& out, const Form& form) : out_(out), form_(form) {}

// Lane l loads row l / 4 of matrix l % 4. %lw_pn: that row's address in the first step, less which of the matrices
// along N or of the steps it is, which %lw_pm says. %lw_pc: the warp's first column.
void PeerCode::declare(int fragments, int under_way) const {
  out_.line(".reg .b32 %lw_fp<{}>, %lw_px<{}>, %lw_pn, %lw_pm, %lw_pc, %lw_pa, %lw_pk;", fragments, 2 * under_way);
  out_.line(".reg .pred %lw_pq<3>;");
}

void PeerCode::begin() const {
  const int tiles = form_.share.half_tiles();
  const std::uint32_t half_of_step = is_plain() ? *form_.b.leading : is_k_major() ? 16 : *form_.b.stride;
  out_.line("shr.u32 %lw_pn, %lw_c0, {};", start_of_b - 4);
  out_.line("and.b32 %lw_pn, %lw_pn, {};", 0x3fff << 4);
  find_peer(out_, "%lw_pa");
  out_.line("mapa.shared::cluster.u32 %lw_pn, %lw_pn, %lw_pa;");
  out_.line("shr.u32 %lw_pa, %lw_l, 2;");
  out_.line("mad.lo.u32 %lw_pn, %lw_pa, {}, %lw_pn;", isa::span_bytes(*form_.b.swizzle));
  out_.line("and.b32 %lw_pa, %lw_l, 1;");
  out_.line("setp.ne.u32 %lw_pq1, %lw_pa, 0;");
  out_.line("mad.lo.u32 %lw_pn, %lw_pa, {}, %lw_pn;", half_of_step);
  out_.line("shr.u32 %lw_pm, %lw_l, 1;");
  out_.line("and.b32 %lw_pm, %lw_pm, 1;");
  out_.line("setp.ne.u32 %lw_pq2, %lw_pm, 0;");
  out_.line("and.b32 %lw_pa, %lw_w, {};", form_.share.warps_n - 1);
  if (is_k_major())
    out_.line("mad.lo.u32 %lw_pn, %lw_pa, {}, %lw_pn;", tiles * std::int64_t(*form_.b.stride));
  else
    out_.line("mul.lo.u32 %lw_pc, %lw_pa, {};", tiles * 8);
}

void PeerCode::load(const PeerMatrices& m, int first, When when) const {
  if (is_k_major())
    find_line(m);
  else
    find_column(m);
  write_exchange(out_, form_.b, "%lw_pa", "%lw_pk");
  out_.line("ld{}.shared::cluster.v4.b32 {}, [%lw_pa];", when == When::here ? ".relaxed.cluster" : "",
            fragment("fp", first, 4));
}

// From a step to the next one, in bytes.
std::int64_t PeerCode::next_step(const PeerMatrices& m) const {
  if (m.others != PeerMatrices::Others::next_step) return 0;
  return form_.steps[std::size_t(m.step) + 1].b - form_.steps[std::size_t(m.step)].b;
}

void PeerCode::find_line(const PeerMatrices& m) const {
  const std::int64_t stride = *form_.b.stride;
  const std::int64_t apart = m.others == PeerMatrices::Others::next_tile ? stride : next_step(m);
  out_.line("mad.lo.s32 %lw_pa, %lw_pm, {}, %lw_pn;", apart);
  out_.line("add.s32 %lw_pa, %lw_pa, {};", m.tile * stride + form_.steps[std::size_t(m.step)].b);
}

// A row of the matrix is 8 elements along N. Without a swizzle, the offsets have changed places.
void PeerCode::find_column(const PeerMatrices& m) const {
  const int in_atom = isa::span_bytes(*form_.b.swizzle) / 2;  // elements
  const std::uint32_t next = is_plain() ? *form_.b.stride : *form_.b.leading;
  out_.line("add.u32 %lw_pk, %lw_pc, {};", 8 * m.tile);
  if (m.others == PeerMatrices::Others::next_tile) out_.line("mad.lo.u32 %lw_pk, %lw_pm, 8, %lw_pk;");
  out_.line("shr.u32 %lw_pa, %lw_pk, {};", std::countr_zero(unsigned(in_atom)));
  out_.line("and.b32 %lw_pk, %lw_pk, {};", in_atom - 1);
  out_.line("mad.lo.u32 %lw_pa, %lw_pa, {}, %lw_pn;", next);
  out_.line("mad.lo.u32 %lw_pa, %lw_pk, 2, %lw_pa;");
  out_.line("mad.lo.s32 %lw_pa, %lw_pm, {}, %lw_pa;", next_step(m));
  out_.line("add.s32 %lw_pa, %lw_pa, {};", form_.steps[std::size_t(m.step)].b);
}

// Four lanes hold a row of each of four matrices, and want a word of each row: 4 x 4 words are turned over.
void PeerCode::settle(int first, int part, int place) const {
  const int word = 2 * place;
  if (part > 0)
    for (const int i : {0, 1}) {
      const int x = part == 1 ? first + 2 * i : first + i;
      receive(part, x, x + part, word + i);
    }
  if (part < 2)
    for (const int i : {0, 1}) {
      const int x = part == 0 ? first + 2 * i : first + i;
      send(part + 1, x, x + part + 1, word + i);
    }
  if (part < 2 || is_k_major()) return;
  for (int r = first; r < first + 4; ++r) out_.line("movmatrix.sync.aligned.m8n8.trans.b16 %lw_fp{0}, %lw_fp{0};", r);
}

// A lane sends the word of the two that the other one wants, and has its word in the place of that.
void PeerCode::send(int distance, int x, int y, int word) const {
  out_.line("selp.b32 %lw_px{}, %lw_fp{}, %lw_fp{}, %lw_pq{};", word, x, y, distance);
  out_.line("shfl.sync.bfly.b32 %lw_px{0}, %lw_px{0}, {1}, 31, 0xffffffff;", word, distance);
}

void PeerCode::receive(int distance, int x, int y, int word) const {
  out_.line("selp.b32 %lw_fp{0}, %lw_px{1}, %lw_fp{0}, %lw_pq{2};", x, word, distance);
  out_.line("selp.b32 %lw_fp{0}, %lw_fp{0}, %lw_px{1}, %lw_pq{2};", y, word, distance);
}

}  // namespace kiln::lower
