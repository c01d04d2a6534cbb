// Operands of 8 and 32 bits that lie along M or N. ldmatrix turns over elements of 16 bits alone on sm_90, so each
// thread loads its own elements, one by one: slower, and right.
#include <bit>

#include "lower/operand.hpp"

namespace kiln::lower {
namespace {

int element_bytes(const Form& f) { return f.kind == isa::MmaKind::tf32 ? 4 : 1; }

}  // namespace

bool OperandCode::is_gathered() const { return !in_tmem() && !is_k_major() && form_.kind != isa::MmaKind::f16; }

// From one group of lines along K to the next: four lines with atoms of 32 bytes, else eight.
std::uint32_t OperandCode::group_offset() const {
  return *layout().swizzle == isa::Swizzle::none ? *layout().leading : *layout().stride;
}

// %lw_?n: where the line of this thread's first element begins. %lw_?m: its place along M or N. Of 32-bit elements a
// thread has one of four neighbours along K, of bytes four of sixteen.
void OperandCode::begin_gathering() const {
  const int line = isa::span_bytes(*layout().swizzle);
  find_warp("p");
  find_start();
  out_.line("and.b32 %lw_{}t0, %lw_l, 3;", x_);
  if (element_bytes(form_) == 4) {
    out_.line("mad.lo.u32 %lw_{0}n, %lw_{0}t0, {1}, %lw_{0}n;", x_, line);
  } else {
    out_.line("and.b32 %lw_{}t1, %lw_l, 1;", x_);
    out_.line("mad.lo.u32 %lw_{0}n, %lw_{0}t1, {1}, %lw_{0}n;", x_, 4 * line);
    out_.line("shr.u32 %lw_{0}t0, %lw_{0}t0, 1;", x_);
    out_.line("mad.lo.u32 %lw_{0}n, %lw_{0}t0, {1}, %lw_{0}n;", x_, group_offset());
  }
  out_.line("shr.u32 %lw_{}m, %lw_l, 2;", x_);
  out_.line("mad.lo.u32 %lw_{0}m, %lw_{0}p, {1}, %lw_{0}m;", x_, 8 * groups());
}

void OperandCode::load_gathered(int tile, int first, bool half) const {
  const int bytes = element_bytes(form_), line = isa::span_bytes(*layout().swizzle), in_line = line / bytes;
  const std::uint32_t next = *layout().swizzle == isa::Swizzle::none ? *layout().stride : *layout().leading;
  out_.line("{{");
  out_.line(".reg .b32 %lw_u<3>;");
  for (int r = 0; r < (half ? 2 : 4); ++r) {
    const int row = is_a() ? r % 2 : r / 2, chunk = is_a() ? r / 2 : r % 2;
    const std::string to = fmt::format("%lw_f{}{}", x_, first + r);
    out_.line("add.u32 %lw_u0, %lw_{}m, {};", x_, 16 * tile + 8 * row);
    out_.line("shr.u32 %lw_u1, %lw_u0, {};", std::countr_zero(unsigned(in_line)));
    out_.line("and.b32 %lw_u0, %lw_u0, {};", in_line - 1);
    out_.line("mad.lo.u32 %lw_u1, %lw_u1, {}, %lw_{}t0;", next, x_);
    out_.line("mad.lo.u32 %lw_u1, %lw_u0, {}, %lw_u1;", bytes);
    for (int e = 0; e < 4 / bytes; ++e) {
      const int groups_on = bytes == 4 ? chunk : 2 * chunk;
      out_.line("add.s32 %lw_{}t1, %lw_u1, {};", x_, groups_on * std::int64_t(group_offset()) + e * line);
      exchange_bits(1);
      out_.line("ld.shared.{} {}, [%lw_{}t1];", bytes == 4 ? "b32" : "u8", e ? "%lw_u2" : to, x_);
      if (e) out_.line("bfi.b32 {0}, %lw_u2, {0}, {1}, 8;", to, 8 * e);
    }
  }
  out_.line("}}");
}

}  // namespace kiln::lower
