// The chains of mma.sync of a form with block scaling: each block of elements that share a scale is multiplied alone,
// and what comes out is added to the sums times the product of the two scales, in f32. Scales are powers of two or have
// four bits, so that this product is exact.
#include <algorithm>
#include <bit>

#include "lower/operand.hpp"
#include "lower/scale_cells.hpp"
#include "ptx/isa/scales.hpp"

namespace kiln::lower {
namespace {

// Scales as f32, of the rows of A or of the columns of B: a thread has two for each tile. Each lane makes f32 of those
// whose cells it holds, for all.
class ScaleCode {
 public:
  ScaleCode(Text& out, const Plan& p, const Form& f, char letter)
      : out_(out), f_(f), cells_(out, p, f, letter, ScaledBy::sums), x_(letter) {}

  void declare() const {
    cells_.declare();
    out_.line(".reg .b32 %lw_v{}<{}>;", x_, cells_.held());
  }

  const ScaleCells& cells() const { return cells_; }

  // The scale number `scale` of all that this lane holds.
  void convert(std::size_t step, int scale) const {
    const int byte = cells_.first_byte(step) + scale;
    for (int i = 0; i < cells_.held(); ++i) {
      const std::string cell = cells_.cell(i), out = fmt::format("%lw_v{}{}", x_, i);
      if (f_.scale_type == isa::ScalarType::ue8m0)
        convert_exponent(cell, byte, out);
      else
        convert_number(cell, byte, out);
    }
  }

  // The scales of a tile, from register `first` of `to` on. Rows l / 4 and 8 further on are held by one of four lanes,
  // columns 2 (l % 4) and the next by one of the eight that have the same ones.
  void fetch(int tile, const char* to, int first) const {
    const int set = tile / cells_.tiles_at_once(), place = tile % cells_.tiles_at_once();
    const bool is_a = x_ == 'a';
    if (!is_a) out_.line("or.b32 %lw_x0, %lw_quad, {};", 4 * place);
    for (int i = 0; i < 2; ++i)
      out_.line("shfl.sync.idx.b32 %lw_{}{}, %lw_v{}{}, {}, {}, 0xffffffff;", to, first + i, x_, 2 * set + i,
                is_a ? std::to_string(place) : "%lw_x0", is_a ? "0x1c1f" : "31");
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
  char x_;
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
    out_.line("and.b32 %lw_quad, %lw_l, 3;");
    if (f_.is_packed()) unpacking_.begin();
    if (is_rolled(f_))
      write_loop(when_read);
    else
      for (std::size_t s = 0; s < f_.steps.size(); ++s) {
        begin_step(s);
        if (s + 1 == f_.steps.size())
          last_pair(when_read);
        else
          last_pair([] {});
      }
    out_.line("}}");
  }

 private:
  static constexpr int lane_shift = std::countr_zero(unsigned(image_lane_bytes));

  // Of the two times 16 bytes that a row of an MMA has, those with a block of packed elements.
  int chunk(int block) const { return 2 * block / f_.scales; }
  // mma.sync that a block of packed elements takes.
  int parts() const { return f_.scales == 4 ? 1 : 2; }
  int pairs() const { return (f_.share.column_tiles() + 1) / 2; }

  // Elements that are unpacked at once are not kept as they were.
  int first_of_a(int tile) const { return f_.is_packed() ? 4 * (tile % 2) : 4 * tile; }

  void declare() const {
    const int rows = f_.share.row_tiles();
    out_.line(".reg .b32 %lw_x<3>, %lw_m<4>, %lw_none, %lw_ra<{}>, %lw_rb<2>, %lw_r, %lw_quad;", 2 * rows);
    out_.line(".reg .b16 %lw_h<2>;");
    out_.line(".reg .{} %lw_cell;", ImageAccess(p_).reg());
    if (!is_rolled(f_)) ImageAccess(p_).find(out_);
    if (f_.is_packed()) out_.line(".reg .b32 %lw_ua<{}>, %lw_ub<{}>;", 4 * parts() * rows, 2 * parts());
    a_.declare(4 * rows);
    b_.declare(4);
    sfa_.declare();
    sfb_.declare();
    out_.line("mov.b32 %lw_none, 0;");
  }

  // In a loop ptxas cannot mix steps with each other. %lw_places: where the scales of A and of B are, each in
  // image_lane_bytes, and above that the steps that are left. Behind the last step, the columns may be none.
  void write_loop(const std::function<void()>& when_read) const {
    constexpr int bits = ScaleCells::place_bits;
    const Step &x = f_.steps[0], &y = f_.steps[1];
    const auto both = [&](std::int64_t a, std::int64_t b) {
      return a * isa::scale_column_rows + (b * isa::scale_column_rows << bits);
    };
    park("st");
    out_.line(".reg .b32 %lw_places;");
    out_.line("shr.u32 %lw_places, {}, {};", sfa_.cells().place(), lane_shift);
    out_.line("shl.b32 %lw_x0, {}, {};", sfb_.cells().place(), bits - lane_shift);
    out_.line("or.b32 %lw_places, %lw_places, %lw_x0;");
    out_.line("or.b32 %lw_places, %lw_places, 0x{:x};", std::uint32_t(f_.steps.size()) << 2 * bits);
    out_.line("lw_step:");
    begin_step(0);
    last_pair([] {});
    out_.line("add.s32 %lw_an, %lw_an, {};", y.a - x.a);
    out_.line("add.s32 %lw_bn, %lw_bn, {};", y.b - x.b);
    out_.line("setp.ge.u32 %lw_p2, %lw_places, 0x{:x};", 2u << 2 * bits);
    out_.line("add.s32 %lw_places, %lw_places, {};",
              both(y.sfa - x.sfa, y.sfb - x.sfb) - (std::int64_t(1) << 2 * bits));
    out_.line("@%lw_p2 bra lw_step;");
    park("ld");
    when_read();
  }

  void find_places() const {
    constexpr int bits = ScaleCells::place_bits;
    ImageAccess(p_).find(out_);
    for (const auto& [cells, at] : {std::pair(&sfa_.cells(), 0), std::pair(&sfb_.cells(), bits)}) {
      out_.line("bfe.u32 {}, %lw_places, {}, {};", cells->place(), at, bits);
      out_.line("shl.b32 {0}, {0}, {1};", cells->place(), lane_shift);
    }
    out_.line("bar.warp.sync 0xffffffff;");  // nor what stands before the loads
  }

  // What the engine keeps from one command to the next, between registers and shared memory. A warp's lanes all have
  // the same.
  void park(const char* way) const {
    const bool stores = way[0] == 's';
    const char* const kept[][2] = {{"head", "at"}, {"held", "apart"}, {"looked", "signal"}};
    out_.line("shr.u32 %lw_x0, %lw_id, 5;");
    out_.line("mov.b32 %lw_x1, lw_parked;");
    out_.line("mad.lo.u32 %lw_x0, %lw_x0, {}, %lw_x1;", parked_bytes_of_warp);
    for (int i = 0; i < 3; ++i)
      if (stores)
        out_.line("@%lw_first st.shared.v2.b32 [%lw_x0+{}], {{%lw_{}, %lw_{}}};", 8 * i, kept[i][0], kept[i][1]);
      else
        out_.line("ld.shared.v2.b32 {{%lw_{}, %lw_{}}}, [%lw_x0+{}];", kept[i][0], kept[i][1], 8 * i);
    if (stores) out_.line("bar.warp.sync 0xffffffff;");
  }

  // A step but for the last columns of its last block.
  void begin_step(std::size_t s) const {
    out_.line("{{");
    if (is_rolled(f_)) find_places();
    sfa_.cells().load(s);
    sfb_.cells().load(s);
    out_.line("}}");
    a_.address(s);
    b_.address(s);
    for (int block = 0; block < f_.scales; ++block) {
      begin_block(s, block);
      for (int j = 0; j < pairs() - (block + 1 == f_.scales); ++j) columns(block, j, [] {});
    }
  }
  void last_pair(const std::function<void()>& when_read) const { columns(f_.scales - 1, pairs() - 1, when_read); }

  // Sixteen columns of a block.
  void columns(int block, int j, const std::function<void()>& when_read) const {
    out_.line("bar.warp.sync 0xffffffff;");  // else ptxas loads ahead until registers spill
    b_.load(j, 0, 2 * j + 1 >= f_.share.column_tiles());
    when_read();
    for (int tile = 2 * j; tile < std::min(2 * j + 2, f_.share.column_tiles()); ++tile) column(block, tile);
  }

  // The rows' side of a block: elements and scales.
  void begin_block(std::size_t step, int block) const {
    sfa_.convert(step, block);
    sfb_.convert(step, block);
    if (is_rolled(f_)) out_.line("bar.warp.sync 0xffffffff;");  // as before each load of B
    for (int i = 0; i < f_.share.row_tiles(); ++i) {
      a_.load(i, first_of_a(i));
      for (int row = 0; f_.is_packed() && row < 2; ++row)
        unpacking_.write(fmt::format("%lw_fa{}", first_of_a(i) + 2 * chunk(block) + row), block, "ua",
                         4 * parts() * i + row, 2, 4 * (parts() - 1));
      sfa_.fetch(i, "ra", 2 * i);
    }
  }

  // Eight columns of a block against all rows of the warp.
  void column(int block, int tile) const {
    const int b = 2 * (tile % 2);
    if (f_.is_packed())
      unpacking_.write(fmt::format("%lw_fb{}", b + chunk(block)), block, "ub", 0, 1, 2 * (parts() - 1));
    sfb_.fetch(tile, "rb", 0);
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
