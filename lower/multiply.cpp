// The chains of mma.sync that one command stands for. All K-major operands look alike to ldmatrix: an MMA has 32 bytes of
// K, which are two 8 x 16-byte matrices, whatever the elements.
#include <algorithm>

#include "lower/engine.hpp"

namespace kiln::lower {
namespace {

using isa::Swizzle;

// The shift and the mask that make the bits to exchange out of an address.
struct Exchange {
  int shift = 0;
  int mask = 0;
};
constexpr Exchange exchange(Swizzle s) {
  switch (s) {
    case Swizzle::b32: return {3, 0x10};
    case Swizzle::b64: return {3, 0x30};
    case Swizzle::b128: return {3, 0x70};
    case Swizzle::b128_atom32: return {2, 0x60};
    default: return {};
  }
}

// One operand of a form: its addresses and its fragments. Registers are named by `letter`.
class OperandCode {
 public:
  OperandCode(Text& out, const Layout& layout, char letter, int tiles)
      : out_(out), layout_(layout), x_(letter), tiles_(tiles) {}

  void declare() const {
    out_.line(".reg .b32 %lw_{0}n, %lw_{0}s, %lw_{0}t<{1}>;", x_, tiles_ + 2);
  }

  // %lw_?n: what this lane adds to the operand's start for its part of the first tile. Tiles are of 16 rows, from row
  // `tile_rows` * `position` on.
  void begin(const char* word, const char* row, const char* chunk, const std::string& position, int rows) const {
    const std::uint32_t pitch = std::uint32_t(isa::span_bytes(*layout_.swizzle));
    const std::uint32_t step = *layout_.swizzle == Swizzle::none ? *layout_.leading : 16;
    out_.line("and.b32 %lw_{}s, {}, 0x3fff;", x_, word);
    out_.line("shl.b32 %lw_{0}s, %lw_{0}s, 4;", x_);
    out_.line("and.b32 %lw_{}t0, {}, 7;", x_, row);
    out_.line("mad.lo.u32 %lw_{0}n, %lw_{0}t0, {1}, %lw_{0}s;", x_, pitch);
    out_.line("shr.u32 %lw_{}t0, {}, 3;", x_, row);
    out_.line("mad.lo.u32 %lw_{0}t0, {1}, {2}, %lw_{0}t0;", x_, position, rows / 8);
    out_.line("mad.lo.u32 %lw_{0}n, %lw_{0}t0, {1}, %lw_{0}n;", x_, *layout_.stride);
    out_.line("mad.lo.u32 %lw_{0}n, {1}, {2}, %lw_{0}n;", x_, chunk, step);
  }

  // %lw_?t: addresses of all tiles at a step, or of the first when the others follow from it.
  void address(std::int64_t offset) const {
    const int distinct = same_key() ? 1 : tiles_;
    for (int i = 0; i < distinct; ++i) {
      out_.line("add.s32 %lw_{0}t{1}, %lw_{0}n, {2};", x_, i, offset + tile_offset(i));
      exchange_bits(i);
    }
  }

  std::string place(int tile) const {
    return same_key() ? fmt::format("[%lw_{}t0+{}]", x_, tile_offset(tile)) : fmt::format("[%lw_{}t{}]", x_, tile);
  }

 private:
  std::int64_t tile_offset(int tile) const { return std::int64_t(tile) * 2 * *layout_.stride; }

  // The exchanged bits of a row are those of the row 16 further on.
  bool same_key() const { return 2 * *layout_.stride % std::uint32_t(isa::period_bytes(*layout_.swizzle)) == 0; }

  void exchange_bits(int tile) const {
    const Exchange e = exchange(*layout_.swizzle);
    if (e.mask == 0) return;
    const std::string key = fmt::format("%lw_{}t{}", x_, tiles_ + 1), at = fmt::format("%lw_{}t{}", x_, tile);
    if (*layout_.base_offset != 0) out_.line("sub.u32 {}, {}, {};", key, at, *layout_.base_offset * 128);
    out_.line("shr.u32 {}, {}, {};", key, *layout_.base_offset != 0 ? key : at, e.shift);
    out_.line("and.b32 {0}, {0}, {1};", key, e.mask);
    out_.line("xor.b32 {0}, {0}, {1};", at, key);
  }

  Text& out_;
  const Layout& layout_;
  char x_;
  int tiles_;
};

// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32".
std::string instruction(const Form& f) {
  const auto d = isa::spelling(f.share.d_type);
  return fmt::format("mma.sync.aligned.m16n8k16.row.col.{0}.{1}.{2}.{0}", d, isa::spelling(f.a_type),
                     isa::spelling(f.b_type));
}

class Multiplication {
 public:
  Multiplication(Text& out, const Form& f)
      : out_(out), f_(f), a_(out, f.a, 'a', f.share.row_tiles()), b_(out, f.b, 'b', pairs()) {}

  void write() {
    out_.line("{{");
    declare();
    begin();
    for (int i = 0; i < f_.share.row_tiles(); ++i) load_a(0, i);
    load_b(0, 0);
    const int steps = int(f_.steps.size());
    for (int s = 0; s < steps; ++s)
      for (int j = 0; j < pairs(); ++j) {
        const bool last = j + 1 == pairs(), more = s + 1 < steps;
        if (!last) load_b(s, j + 1);
        else if (more) load_b(s + 1, 0);
        for (int i = 0; i < f_.share.row_tiles(); ++i) {
          multiply(s, j, i);
          if (last && more) load_a(s + 1, i);
        }
      }
    out_.line("}}");
  }

 private:
  int pairs() const { return (f_.share.column_tiles() + 1) / 2; }  // of 8 columns
  int set_of_b(int step, int pair) const { return (step * pairs() + pair) % 2; }

  void declare() {
    out_.line(".reg .b32 %lw_fa<{}>, %lw_fb<8>, %lw_ra, %lw_ca, %lw_rb, %lw_cb, %lw_pa, %lw_pb;",
              4 * f_.share.row_tiles());
    a_.declare();
    b_.declare();
  }

  // Lane l gives ldmatrix.x4 row l % 8 of matrix l / 8. A: rows 0-7 and 8-15, then both again 16 bytes on; B: the other
  // way round.
  void begin() {
    out_.line("and.b32 %lw_ra, %lw_l, 15;");
    out_.line("shr.u32 %lw_ca, %lw_l, 4;");
    out_.line("and.b32 %lw_rb, %lw_l, 7;");
    out_.line("mad.lo.u32 %lw_rb, %lw_ca, 8, %lw_rb;");
    out_.line("shr.u32 %lw_cb, %lw_l, 3;");
    out_.line("and.b32 %lw_cb, %lw_cb, 1;");
    out_.line("div.u32 %lw_pa, %lw_w, {};", f_.share.warps_n);
    out_.line("rem.u32 %lw_pb, %lw_w, {};", f_.share.warps_n);
    a_.begin("%lw_c2", "%lw_ra", "%lw_ca", "%lw_pa", 16 * f_.share.row_tiles());
    b_.begin("%lw_c4", "%lw_rb", "%lw_cb", "%lw_pb", 8 * f_.share.column_tiles());
  }

  // A's fragments have one set of registers: those of the next step come when the last MMAs of this one have theirs.
  void load_a(int step, int tile) {
    if (tile == 0) a_.address(f_.steps[std::size_t(step)].a);
    const int r = 4 * tile;
    out_.line("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%lw_fa{}, %lw_fa{}, %lw_fa{}, %lw_fa{}}}, {};", r, r + 1, r + 2,
              r + 3, a_.place(tile));
    if (f_.negates)
      for (int k = 0; k < 4; ++k) out_.line("xor.b32 %lw_fa{0}, %lw_fa{0}, 0x80008000;", r + k);
  }

  void load_b(int step, int pair) {
    if (pair == 0) b_.address(f_.steps[std::size_t(step)].b);
    const int r = 4 * set_of_b(step, pair);
    if (2 * pair + 1 < f_.share.column_tiles())
      out_.line("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%lw_fb{}, %lw_fb{}, %lw_fb{}, %lw_fb{}}}, {};", r, r + 1,
                r + 2, r + 3, b_.place(pair));
    else
      out_.line("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {{%lw_fb{}, %lw_fb{}}}, {};", r, r + 1, b_.place(pair));
  }

  void multiply(int step, int pair, int tile) {
    const Share& s = f_.share;
    for (int j = 2 * pair; j < std::min(2 * pair + 2, s.column_tiles()); ++j) {
      const int d = (tile * s.column_tiles() + j) * s.tile_registers();
      const int a = 4 * tile, b = 4 * set_of_b(step, pair) + 2 * (j % 2);
      out_.line("{0} {{%lw_d{1}, %lw_d{2}, %lw_d{3}, %lw_d{4}}}, {{%lw_fa{5}, %lw_fa{6}, %lw_fa{7}, %lw_fa{8}}}, "
                "{{%lw_fb{9}, %lw_fb{10}}}, {{%lw_d{1}, %lw_d{2}, %lw_d{3}, %lw_d{4}}};",
                instruction(f_), d, d + 1, d + 2, d + 3, a, a + 1, a + 2, a + 3, b, b + 1);
    }
  }

  Text& out_;
  const Form& f_;
  OperandCode a_, b_;
};

}  // namespace

void write_multiplication(Text& out, const Plan&, const Form& form) { Multiplication(out, form).write(); }

}  // namespace kiln::lower
