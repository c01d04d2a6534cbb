// The chains of mma.sync of a form with block scaling on sm_120a, whose mma.sync scales the blocks itself.
#include <algorithm>

#include "lower/operand.hpp"
#include "lower/scale_cells.hpp"

namespace kiln::lower {
namespace {

class BlockScaled {
 public:
  BlockScaled(Text& out, const Plan& p, const Form& f)
      : out_(out),
        p_(p),
        f_(f),
        a_(out, p, f, 'a'),
        b_(out, p, f, 'b'),
        sfa_(out, p, f, 'a', ScaledBy::mma_sync),
        sfb_(out, p, f, 'b', ScaledBy::mma_sync) {}

  void write(const std::function<void()>& when_read) {
    out_.line("{{");
    declare();
    a_.begin();
    b_.begin();
    sfa_.begin();
    sfb_.begin();
    for (std::size_t s = 0; s < f_.steps.size(); ++s) {
      sfa_.load(s);
      sfb_.load(s);
      a_.address(s);
      b_.address(s);
      for (int i = 0; i < f_.share.row_tiles(); ++i) a_.load(i, 4 * i);
      for (int j = 0; j < pairs(); ++j) {
        b_.load(j, 4 * (j % 2), 2 * j + 1 >= f_.share.column_tiles());
        if (s + 1 == f_.steps.size() && j + 1 == pairs()) when_read();
        for (int tile = 2 * j; tile < std::min(2 * j + 2, f_.share.column_tiles()); ++tile)
          for (int i = 0; i < f_.share.row_tiles(); ++i) multiply(s, i, tile);
      }
    }
    out_.line("}}");
  }

 private:
  int pairs() const { return (f_.share.column_tiles() + 1) / 2; }  // of 8 columns

  void declare() const {
    out_.line(".reg .b32 %lw_x<3>;");
    out_.line(".reg .{} %lw_cell;", ImageAccess(p_).reg());
    ImageAccess(p_).find(out_);
    a_.declare(4 * f_.share.row_tiles());
    b_.declare(8);
    sfa_.declare();
    sfb_.declare();
  }

  std::string instruction() const {
    return fmt::format("mma.sync.aligned.m16n8{}.row.col.{}.block_scale.scale_vec::{}X.f32.{}.{}.f32.{}",
                       f_.is_packed() ? "k64" : "k32", isa::spelling(f_.kind), f_.scales,
                       f_.is_packed() ? "e2m1" : isa::spelling(multiplied_as(f_.a_type)),
                       f_.is_packed() ? "e2m1" : isa::spelling(multiplied_as(f_.b_type)), isa::spelling(f_.scale_type));
  }

  void multiply(std::size_t step, int i, int tile) const {
    const int d = 4 * (i * f_.share.column_tiles() + tile), b = 4 * (tile / 2 % 2) + 2 * (tile % 2);
    const std::string sums = fragment("d", d, 4);
    out_.line("{} {}, {}, {}, {}, {}, {{{}, 0}}, {}, {{{}, 0}};", instruction(), sums, fragment("fa", 4 * i, 4),
              fragment("fb", b, 2), sums, sfa_.cell(i), sfa_.first_byte(step), sfb_.cell(tile), sfb_.first_byte(step));
  }

  Text& out_;
  const Plan& p_;
  const Form& f_;
  OperandCode a_, b_;
  ScaleCells sfa_, sfb_;
};

}  // namespace

void write_block_scaled_multiplication(Text& out, const Plan& plan, const Form& form,
                                       const std::function<void()>& when_read) {
  BlockScaled(out, plan, form).write(when_read);
}

}  // namespace kiln::lower
