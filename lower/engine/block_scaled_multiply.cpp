#include "lower/engine/multiply.hpp"

#include <algorithm>

#include "lower/engine/operand.hpp"
#include "lower/engine/scale_cells.hpp"

namespace kiln::lower {
namespace {

class BlockScaled {
 public:
  explicit BlockScaled(const FormCode& c)
      : b_(c.b),
        code_(c),
        f_(c.form),
        image_(c.b, c.plan),
        of_a_(c, image_, Side::a, 4 * f_.share.row_tiles()),
        of_b_(c, image_, Side::b, 8),
        sfa_(c, image_, true, ScaledBy::mma_sync),
        sfb_(c, image_, false, ScaledBy::mma_sync) {}

  void write() {
    image_.find();
    of_a_.begin();
    of_b_.begin();
    sfa_.begin();
    sfb_.begin();
    const int pairs = (f_.share.column_tiles() + 1) / 2;  // of 8 columns
    for (std::size_t s = 0; s < f_.steps.size(); ++s) {
      sfa_.load(s);
      sfb_.load(s);
      of_a_.find_step(s);
      of_b_.find_step(s);
      for (int i = 0; i < f_.share.row_tiles(); ++i) of_a_.load(i, 4 * i);
      for (int j = 0; j < pairs; ++j) {
        of_b_.load(j, 4 * (j % 2), 2 * j + 1 >= f_.share.column_tiles());
        if (s + 1 == f_.steps.size() && j + 1 == pairs) code_.when_read();
        for (int tile = 2 * j; tile < std::min(2 * j + 2, f_.share.column_tiles()); ++tile)
          for (int i = 0; i < f_.share.row_tiles(); ++i) multiply(s, i, tile);
      }
    }
  }

 private:
  std::string name() const {
    const auto type = [&](isa::ScalarType t) { return f_.is_packed() ? "e2m1" : isa::spelling(multiplied_as(t)); };
    return dotted({"mma.sync.aligned", f_.is_packed() ? "m16n8k64" : "m16n8k32", "row.col", isa::spelling(f_.kind),
                   "block_scale", "scale_vec::" + std::to_string(f_.scales) + "X", "f32", type(f_.a_type),
                   type(f_.b_type), "f32", isa::spelling(f_.scale_type)});
  }

  void multiply(std::size_t step, int i, int tile) const {
    const Term sums = sums_of_tile(code_, i, tile);
    b_.op(name_, sums, of_a_.fragments(4 * i, 4), of_b_.fragments(4 * (tile / 2 % 2) + 2 * (tile % 2), 2), sums,
          sfa_.cell(i), vec(sfa_.first_byte(step), 0), sfb_.cell(tile), vec(sfb_.first_byte(step), 0));
  }

  Builder& b_;
  const FormCode& code_;
  const Form& f_;
  Image image_;
  OperandCode of_a_, of_b_;
  ScaleCells sfa_, sfb_;
  std::string name_ = name();
};

}  // namespace

void write_block_scaled_multiplication(const FormCode& c) { BlockScaled(c).write(); }

}  // namespace kiln::lower
