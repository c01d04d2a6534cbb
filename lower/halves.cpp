#include "lower/halves.hpp"

namespace kiln::lower {

void write_half(Text& out, char letter, isa::ScalarType type, int from, int to, int count, int half) {
  for (int r = 0; r < count; ++r) {
    out.line("{{");
    out.line(".reg .b16 %lw_e<2>;");
    out.line("mov.b32 {{%lw_e0, %lw_e1}}, %lw_f{}{};", letter, from + r);
    out.line("cvt.rn.f16x2.{}x2 %lw_f{}{}, %lw_e{};", isa::spelling(type), letter, to + r, half);
    out.line("}}");
  }
}

}  // namespace kiln::lower
