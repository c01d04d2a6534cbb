// The chains of mma.sync of a form with block scaling: each block of elements that share a scale is multiplied alone,
// and what comes out is added to the sums times the product of the two scales, in f32. Scales are powers of two or have
// four bits, so that this product is exact.
#include <algorithm>

#include "lower/operand.hpp"
#include "lower/scale_cells.hpp"

namespace kiln::lower {
namespace {

// Scales as f32, of the rows of A or of the columns of B: a thread has two for each tile.
class ScaleCode {
 public:
  ScaleCode(Text& out, const Plan& p, const Form& f, char letter)
      : out_(out), f_(f), cells_(out, p, f, letter, ScaledBy::sums) {}

  const ScaleCells& cells() const { return cells_; }

  // The scale number `scale` of both rows of a tile, from register `first` of `to` on.
  void convert(std::size_t step, int tile, int scale, const char* to, int first) const {
    const int byte = cells_.first_byte(step) + scale;
    for (int i = 0; i < cells_.per_tile(); ++i) {
      const std::string cell = cells_.cell(tile, i), out = fmt::format("%lw_{}{}", to, first + i);
      if (f_.scale_type == isa::ScalarType::ue8m0)
        convert_exponent(cell, byte, out);
      else
        convert_number(cell, byte, out);
    }
  }

 private:
  // ue8m0 is the exponent of f32, but for the lowest, which is subnormal there, and the highest, which is a NaN.
  void convert_exponent(const std::string& cell, int byte, const std::string& to) const {
    out_.line("sh{}.b32 {}, {}, {};", byte == 3 ? "r" : "l", to, cell, byte == 3 ? 1 : 23 - 8 * byte);
    out_.line("and.b32 {0}, {0}, 0x7f800000;", to);
    out_.line("add.u32 %lw_x0, {}, 0x00800000;", to);  // the sign of the highest alone
    out_.line("shr.u32 %lw_x0, %lw_x0, 9;");
    out_.line("and.b32 %lw_x0, %lw_x0, 0x00400000;");
    out_.line("or.b32 {0}, {0}, %lw_x0;", to);
    out_.line("max.u32 {0}, {0}, 0x00400000;", to);
  }

  // ue4m3 is e4m3 without a sign.
  void convert_number(const std::string& cell, int byte, const std::string& to) const {
    out_.line("bfe.u32 {}, {}, {}, 8;", to, cell, 8 * byte);
    out_.line("mov.b32 {{%lw_h0, %lw_h1}}, {};", to);
    out_.line("cvt.rn.f16x2.e4m3x2 {}, %lw_h0;", to);
    out_.line("mov.b32 {{%lw_h0, %lw_h1}}, {};", to);
    out_.line("cvt.f32.f16 {}, %lw_h0;", to);
  }

  Text& out_;
  const Form& f_;
  ScaleCells cells_;
};

// Elements of 4 bits, eight to a register, as f16. In which order they follow each other along K is free as long as it
// is the same for A and B, and each block stays together: where a block has 16 elements, two of four threads have all
// of them, and exchange halves with the other two.
class Unpacking {
 public:
  Unpacking(Text& out, const Form& f) : out_(out), exchanges_(f.scales == 4) {}

  void begin() const {
    if (!exchanges_) return;
    out_.line(".reg .b32 %lw_halves;");
    out_.line("and.b32 %lw_x0, %lw_l, 2;");
    out_.line("setp.eq.u32 %lw_p2, %lw_x0, 0;");
    out_.line("selp.b32 %lw_halves, 0x5410, 0x3276, %lw_p2;");
  }

  // Of the eight elements of `from`, those that the block has, four at a time into two registers that are `apart`
  // places from each other.
  void write(const std::string& from, int block, const char* to, int first, int apart, int next) const {
    if (exchanges_) {
      out_.line("shfl.sync.bfly.b32 %lw_x0, {}, 2, 31, 0xffffffff;", from);
      out_.line("prmt.b32 %lw_x2, {}, %lw_x0, %lw_halves;", from);
    } else {
      out_.line("mov.b32 %lw_x2, {};", from);
    }
    if (!exchanges_ || block % 2 == 0) write_half(to, first, first + apart);
    out_.line("shr.u32 %lw_x2, %lw_x2, 16;");
    if (!exchanges_ || block % 2 == 1) write_half(to, first + next, first + next + apart);
  }

 private:
  // The tables have the upper bytes of f16 for 0, 0.5, 1, 1.5, 2, 3, 4 and 6, and for a sign.
  void write_half(const char* to, int low, int high) const {
    out_.line("and.b32 %lw_x0, %lw_x2, 0x7777;");
    out_.line("prmt.b32 %lw_x0, 0x3e3c3800, 0x46444240, %lw_x0;");
    out_.line("shr.u32 %lw_x1, %lw_x2, 3;");
    out_.line("and.b32 %lw_x1, %lw_x1, 0x1111;");
    out_.line("prmt.b32 %lw_x1, 0x8000, 0, %lw_x1;");
    out_.line("or.b32 %lw_x0, %lw_x0, %lw_x1;");
    out_.line("prmt.b32 %lw_{}{}, %lw_x0, 0, 0x1404;", to, low);
    out_.line("prmt.b32 %lw_{}{}, %lw_x0, 0, 0x3424;", to, high);
  }

  Text& out_;
  bool exchanges_;
};

class ScaledMultiplication {
 public:
  ScaledMultiplication(Text& out, const Plan& p, const Form& f)
      : out_(out),
        p_(p),
        f_(f),
        a_(out, p, f, 'a'),
        b_(out, p, f, 'b'),
        sfa_(out, p, f, 'a'),
        sfb_(out, p, f, 'b'),
        unpacking_(out, f) {}

  void write(const std::function<void()>& when_read) {
    out_.line("{{");
    declare();
    a_.begin();
    b_.begin();
    sfa_.cells().begin();
    sfb_.cells().begin();
    if (f_.is_packed()) unpacking_.begin();
    for (std::size_t s = 0; s < f_.steps.size(); ++s) {
      sfa_.cells().load(s);
      sfb_.cells().load(s);
      a_.address(s);
      b_.address(s);
      for (int block = 0; block < f_.scales; ++block) {
        begin_block(s, block);
        for (int j = 0; j < pairs(); ++j) {
          out_.line("bar.warp.sync 0xffffffff;");  // else ptxas loads ahead until registers spill
          b_.load(j, 0, 2 * j + 1 >= f_.share.column_tiles());
          if (s + 1 == f_.steps.size() && block + 1 == f_.scales && j + 1 == pairs()) when_read();
          for (int tile = 2 * j; tile < std::min(2 * j + 2, f_.share.column_tiles()); ++tile) column(s, block, tile);
        }
      }
    }
    out_.line("}}");
  }

 private:
  // Of the two times 16 bytes that a row of an MMA has, those with a block of packed elements.
  int chunk(int block) const { return 2 * block / f_.scales; }
  // mma.sync that a block of packed elements takes.
  int parts() const { return f_.scales == 4 ? 1 : 2; }
  int pairs() const { return (f_.share.column_tiles() + 1) / 2; }

  // Elements that are unpacked at once are not kept as they were.
  int first_of_a(int tile) const { return f_.is_packed() ? 4 * (tile % 2) : 4 * tile; }

  void declare() const {
    const int rows = f_.share.row_tiles();
    out_.line(".reg .b32 %lw_x<3>, %lw_m<4>, %lw_none, %lw_ra<{}>, %lw_rb<2>, %lw_r;", 2 * rows);
    out_.line(".reg .b16 %lw_h<2>;");
    out_.line(".reg .{} %lw_cell;", ImageAccess(p_).reg());
    if (f_.is_packed()) out_.line(".reg .b32 %lw_ua<{}>, %lw_ub<{}>;", 4 * parts() * rows, 2 * parts());
    ImageAccess(p_).find(out_);
    a_.declare(4 * rows);
    b_.declare(4);
    sfa_.cells().declare();
    sfb_.cells().declare();
    out_.line("mov.b32 %lw_none, 0;");
  }

  // The rows' side of a block: elements and scales.
  void begin_block(std::size_t step, int block) const {
    for (int i = 0; i < f_.share.row_tiles(); ++i) {
      a_.load(i, first_of_a(i));
      for (int row = 0; f_.is_packed() && row < 2; ++row)
        unpacking_.write(fmt::format("%lw_fa{}", first_of_a(i) + 2 * chunk(block) + row), block, "ua",
                         4 * parts() * i + row, 2, 4 * (parts() - 1));
      sfa_.convert(step, i, block, "ra", 2 * i);
    }
  }

  // Eight columns of a block against all rows of the warp.
  void column(std::size_t step, int block, int tile) const {
    const int b = 2 * (tile % 2);
    if (f_.is_packed())
      unpacking_.write(fmt::format("%lw_fb{}", b + chunk(block)), block, "ub", 0, 1, 2 * (parts() - 1));
    sfb_.convert(step, tile, block, "rb", 0);
    for (int i = 0; i < f_.share.row_tiles(); ++i) {
      if (f_.is_packed())
        multiply_packed(i);
      else
        multiply(k32(), fragment("fa", 4 * i, 4), fragment("fb", b, 2), true);
      add(i, tile);
    }
  }

  std::string k32() const {
    return fmt::format("m16n8k32.row.col.f32.{}.{}.f32", isa::spelling(multiplied_as(f_.a_type)),
                       isa::spelling(multiplied_as(f_.b_type)));
  }

  void multiply_packed(int i) const {
    for (int part = 0; part < parts(); ++part)
      multiply("m16n8k16.row.col.f32.f16.f16.f32", fragment("ua", 4 * (parts() * i + part), 4),
               fragment("ub", 2 * part, 2), part == 0);
  }

  void multiply(const std::string& name, const std::string& a, const std::string& b, bool alone) const {
    out_.line("mma.sync.aligned.{} {{%lw_m0, %lw_m1, %lw_m2, %lw_m3}}, {}, {}, {};", name, a, b,
              alone ? "{%lw_none, %lw_none, %lw_none, %lw_none}" : "{%lw_m0, %lw_m1, %lw_m2, %lw_m3}");
  }

  void add(int i, int tile) const {
    const int d = 4 * (i * f_.share.column_tiles() + tile);
    for (int r = 0; r < 4; ++r) {
      out_.line("mul.rn.f32 %lw_r, %lw_ra{}, %lw_rb{};", 2 * i + r / 2, r % 2);
      out_.line("fma.rn.f32 %lw_d{0}, %lw_m{1}, %lw_r, %lw_d{0};", d + r, r);
    }
  }

  Text& out_;
  const Plan& p_;
  const Form& f_;
  OperandCode a_, b_;
  ScaleCode sfa_, sfb_;
  Unpacking unpacking_;
};

}  // namespace

void write_scaled_multiplication(Text& out, const Plan& plan, const Form& form,
                                 const std::function<void()>& when_read) {
  ScaledMultiplication(out, plan, form).write(when_read);
}

}  // namespace kiln::lower
