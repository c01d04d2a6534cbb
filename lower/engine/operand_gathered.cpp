// Operands of 8 and 32 bits that lie along M or N: each thread loads its own elements, one by one.
#include <bit>

#include "lower/engine/operand.hpp"

namespace kiln::lower {
namespace {

int element_bytes(const Form& f) { return f.kind == isa::MmaKind::tf32 ? 4 : 1; }

}  // namespace

// From one group of lines along K to the next: four lines with atoms of 32 bytes, else eight.
std::uint32_t OperandCode::group_offset() const { return is_plain() ? *layout().leading : *layout().stride; }

// start_: where the line of this thread's first element begins. along_mn_: its place along M or N. Of 32-bit elements a
// thread has one of four neighbours along K, of bytes four of sixteen.
void OperandCode::begin_gathering() {
  const int line = isa::span_bytes(*layout().swizzle);
  const Register lane = code_.engine.lane;
  find_warp();
  find_start();
  const Register along_k = b_.b32("and.b32", lane, 3);
  if (element_bytes(form_) == 4) {
    b_.op("mad.lo.u32", start_, along_k, line, start_);
  } else {
    const Register odd = b_.b32("and.b32", lane, 1);
    b_.op("mad.lo.u32", start_, odd, 4 * line, start_);
    b_.op("shr.u32", along_k, along_k, 1);
    b_.op("mad.lo.u32", start_, along_k, group_offset(), start_);
  }
  b_.op("shr.u32", along_mn_, lane, 2);
  b_.op("mad.lo.u32", along_mn_, warp_, 8 * groups(), along_mn_);
}

void OperandCode::load_gathered(int tile, int first, bool half) const {
  const int bytes = element_bytes(form_), line = isa::span_bytes(*layout().swizzle), in_line = line / bytes;
  const Register place = b_.reg(ScalarType::b32), start = b_.reg(ScalarType::b32), byte = b_.reg(ScalarType::b32);
  for (int r = 0; r < (half ? 2 : 4); ++r) {
    const int row = is_a() ? r % 2 : r / 2, chunk = is_a() ? r / 2 : r % 2;
    const Register to = fragment(first + r), address = tile_[1];
    b_.op("add.u32", place, along_mn_, 16 * tile + 8 * row);
    b_.op("shr.u32", start, place, std::countr_zero(unsigned(in_line)));
    b_.op("and.b32", place, place, in_line - 1);
    b_.op("mad.lo.u32", start, start, is_plain() ? *layout().stride : *layout().leading, tile_[0]);
    b_.op("mad.lo.u32", start, place, bytes, start);
    for (int e = 0; e < 4 / bytes; ++e) {
      const int groups_on = bytes == 4 ? chunk : 2 * chunk;
      b_.op("add.s32", address, start, groups_on * std::int64_t(group_offset()) + e * line);
      exchange_bits(address);
      b_.op(bytes == 4 ? "ld.shared.b32" : "ld.shared.u8", e ? byte : to, at(address));
      if (e) b_.op("bfi.b32", to, byte, to, 8 * e, 8);
    }
  }
}

}  // namespace kiln::lower
