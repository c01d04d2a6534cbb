#include "lower/engine/peer_fragments.hpp"

#include <bit>

#include "lower/engine/operand.hpp"
#include "lower/engine/queue.hpp"

namespace kiln::lower {

PeerFragments::PeerFragments(const FormCode& c, int fragments, int under_way)
    : b_(c.b),
      code_(c),
      form_(c.form),
      fragments_(c.b.regs(ScalarType::b32, fragments)),
      words_(c.b.regs(ScalarType::b32, 2 * under_way)) {
  for (Register* r : {&start_, &matrix_, &column_, &address_, &key_}) *r = b_.reg(ScalarType::b32);
  for (Register* r : {&is_odd_, &is_second_}) *r = b_.reg(ScalarType::pred);
}

// Lane l loads row l / 4 of matrix l % 4.
void PeerFragments::begin() const {
  const EngineRegisters& e = code_.engine;
  const int tiles = form_.share.half_tiles();
  const std::uint32_t half_of_step = is_plain() ? *form_.b.leading : is_k_major() ? 16 : *form_.b.stride;
  b_.op("shr.u32", start_, e.command[0], start_of_b - 4);
  b_.op("and.b32", start_, start_, 0x3fff << 4);
  const Register peer = find_peer(b_);
  b_.op("mapa.shared::cluster.u32", start_, start_, peer);
  const Register row = b_.b32("shr.u32", e.lane, 2);
  b_.op("mad.lo.u32", start_, row, isa::span_bytes(*form_.b.swizzle), start_);
  const Register odd = b_.b32("and.b32", e.lane, 1);
  b_.op("setp.ne.u32", is_odd_, odd, 0);
  b_.op("mad.lo.u32", start_, odd, half_of_step, start_);
  b_.op("shr.u32", matrix_, e.lane, 1);
  b_.op("and.b32", matrix_, matrix_, 1);
  b_.op("setp.ne.u32", is_second_, matrix_, 0);
  const Register warp = b_.b32("and.b32", e.warp, form_.share.warps_n - 1);
  if (is_k_major())
    b_.op("mad.lo.u32", start_, warp, tiles * std::int64_t(*form_.b.stride), start_);
  else
    b_.op("mul.lo.u32", column_, warp, tiles * 8);
}

void PeerFragments::load(const PeerMatrices& m, int first, When when) const {
  if (is_k_major())
    find_line(m);
  else
    find_column(m);
  write_exchange(b_, form_.b, address_, key_);
  b_.op(when == When::here ? "ld.relaxed.cluster.shared::cluster.v4.b32" : "ld.shared::cluster.v4.b32",
        fragments(first, 4), at(address_));
}

// From a step to the next one, in bytes.
std::int64_t PeerFragments::next_step(const PeerMatrices& m) const {
  if (m.others != PeerMatrices::Others::next_step) return 0;
  return form_.steps[std::size_t(m.step) + 1].b - form_.steps[std::size_t(m.step)].b;
}

void PeerFragments::find_line(const PeerMatrices& m) const {
  const std::int64_t stride = *form_.b.stride;
  const std::int64_t apart = m.others == PeerMatrices::Others::next_tile ? stride : next_step(m);
  b_.op("mad.lo.s32", address_, matrix_, apart, start_);
  b_.op("add.s32", address_, address_, m.tile * stride + form_.steps[std::size_t(m.step)].b);
}

// A row of the matrix is 8 elements along N. Without a swizzle, the offsets have changed places.
void PeerFragments::find_column(const PeerMatrices& m) const {
  const int in_atom = isa::span_bytes(*form_.b.swizzle) / 2;  // elements
  b_.op("add.u32", key_, column_, 8 * m.tile);
  if (m.others == PeerMatrices::Others::next_tile) b_.op("mad.lo.u32", key_, matrix_, 8, key_);
  b_.op("shr.u32", address_, key_, std::countr_zero(unsigned(in_atom)));
  b_.op("and.b32", key_, key_, in_atom - 1);
  b_.op("mad.lo.u32", address_, address_, is_plain() ? *form_.b.stride : *form_.b.leading, start_);
  b_.op("mad.lo.u32", address_, key_, 2, address_);
  b_.op("mad.lo.s32", address_, matrix_, next_step(m), address_);
  b_.op("add.s32", address_, address_, form_.steps[std::size_t(m.step)].b);
}

// Four lanes hold a row of each of four matrices, and each needs a word of each row: 4 x 4 words are transposed.
void PeerFragments::exchange(int first, int part, int place) const {
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
  for (int r = first; r < first + 4; ++r) b_.op("movmatrix.sync.aligned.m8n8.trans.b16", fragment(r), fragment(r));
}

// A lane sends the word of the two that the other lane needs, and receives its word in the place of that.
void PeerFragments::send(int distance, int x, int y, int word) const {
  const Register w = words_[std::size_t(word)];
  b_.op("selp.b32", w, fragment(x), fragment(y), distance == 1 ? is_odd_ : is_second_);
  b_.op("shfl.sync.bfly.b32", w, w, distance, 31, all_lanes());
}

void PeerFragments::receive(int distance, int x, int y, int word) const {
  const Register w = words_[std::size_t(word)], keeps_second = distance == 1 ? is_odd_ : is_second_;
  b_.op("selp.b32", fragment(x), w, fragment(x), keeps_second);
  b_.op("selp.b32", fragment(y), fragment(y), w, keeps_second);
}

}  // namespace kiln::lower
