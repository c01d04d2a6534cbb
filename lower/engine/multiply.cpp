#include "lower/engine/multiply.hpp"

#include <algorithm>

#include "lower/engine/column_mask.hpp"
#include "lower/engine/operand.hpp"
#include "lower/engine/sparse.hpp"

namespace kiln::lower {
namespace {

class Multiplication {
 public:
  explicit Multiplication(const FormCode& c)
      : b_(c.b),
        code_(c),
        f_(c.form),
        image_(c.b, c.plan),
        of_a_(c, image_, Side::a, raw_a() + 4),
        of_b_(c, image_, Side::b, raw_b + 4),
        mask_(c),
        name_(mma_sync(c.form)) {
    if (f_.sparse) {
      rest_of_b_.emplace(c, image_, Side::second_half_of_b, 8);
      metadata_.emplace(c, image_);
    }
    if (f_.expands) expansion_.emplace(c);
  }

  void write() {
    if (f_.reads_image()) image_.find();
    code_.engine.find_self(b_);
    if (f_.masks_columns) begin_mask();
    of_a_.begin();
    of_b_.begin();
    if (f_.sparse) rest_of_b_->begin();
    if (f_.sparse) metadata_->begin();
    if (f_.expands) expansion_->begin();
    scale_sums(code_);
    for (int i = 0; i < f_.share.row_tiles(); ++i) load_a(0, i);
    load_b(0, 0);
    const int steps = int(f_.steps.size()) * parts();
    for (int s = 0; s < steps; ++s)
      for (int j = 0; j < pairs(); ++j) {
        const bool last = j + 1 == pairs(), more = s + 1 < steps;
        if (f_.as_f16) meet_in_warp(b_);  // keeps the loads that follow in their place: ptxas would move them all up
        if (!last)
          load_b(s, j + 1);
        else if (more)
          load_b(s + 1, 0);
        if (!more && j == std::max(pairs() - 2, 0)) code_.when_read();
        for (int i = 0; i < f_.share.row_tiles(); ++i) {
          multiply(s, j, i);
          if (last && more) load_a(s + 1, i);
        }
      }
  }

 private:
  int pairs() const { return (f_.share.column_tiles() + 1) / 2; }  // of 8 columns
  int set_of_b(int step, int pair) const { return (step * pairs() + pair) % 2; }

  // Elements that become wider are multiplied in two parts, and loaded again for each. After the fragments come the
  // registers for loaded words.
  int parts() const { return f_.as_f16 ? 2 : 1; }
  int raw_a() const { return 4 * f_.share.row_tiles(); }
  static constexpr int raw_b = 8;

  void begin_mask() {
    mask_.begin();
    of_b_.set_shift(mask_.shift());
    if (rest_of_b_) rest_of_b_->set_shift(mask_.shift());
  }

  // A's fragments have one set of registers: those of the next step come when the last MMAs of this one have theirs.
  void load_a(int step, int tile) {
    if (tile == 0) of_a_.find_step(std::size_t(step / parts()));
    if (f_.as_f16) {
      of_a_.load(tile, raw_a());
      return write_half(b_, of_a_.registers(), multiplied_as(f_.a_type), raw_a(), 4 * tile, 4, step % 2);
    }
    of_a_.load(tile, f_.expands ? 0 : 4 * tile);
    if (!f_.sparse) return;
    if (tile == 0) metadata_->find_step(std::size_t(step));
    metadata_->load(tile);
    if (f_.expands) expansion_->expand(tile, of_a_, metadata_->word(tile));
  }

  void load_b(int step, int pair) {
    const bool half = 2 * pair + 1 >= f_.share.column_tiles();
    const int first = 4 * set_of_b(step, pair);
    for (OperandCode* b : {&of_b_, rest_of_b_ ? &*rest_of_b_ : nullptr}) {
      if (!b) continue;
      if (pair == 0) b->find_step(std::size_t(step / parts()));
      b->load(pair, f_.as_f16 ? raw_b : first, half);
    }
    if (f_.as_f16) write_half(b_, of_b_.registers(), multiplied_as(f_.b_type), raw_b, first, half ? 2 : 4, step % 2);
    for (int j = 2 * pair; f_.masks_columns && j < std::min(2 * pair + 2, f_.share.column_tiles()); ++j)
      mask_.clear(j, fragments_of_b(step, pair, j));
  }

  Registers fragments_of_b(int step, int pair, int column) const {
    const int first = 4 * set_of_b(step, pair) + 2 * (column % 2);
    Registers out{of_b_.fragment(first), of_b_.fragment(first + 1)};
    if (rest_of_b_) out.insert(out.end(), {rest_of_b_->fragment(first), rest_of_b_->fragment(first + 1)});
    return out;
  }

  void multiply(int step, int pair, int tile) {
    for (int j = 2 * pair; j < std::min(2 * pair + 2, f_.share.column_tiles()); ++j) {
      const Term d = sums_of_tile(code_, tile, j);
      const Registers b = fragments_of_b(step, pair, j);
      if (f_.expands)
        for (const bool second : {false, true})
          b_.op(name_, d, expansion_->fragments(tile, second), vec(b, 2 * second, 2), d);
      else if (f_.sparse)
        b_.op(name_, d, of_a_.fragments(4 * tile, 4), vec(b, 0, 4), d, metadata_->word(tile), bits(0));
      else
        b_.op(name_, d, of_a_.fragments(4 * tile, 4), vec(b, 0, 2), d);
    }
  }

  Builder& b_;
  const FormCode& code_;
  const Form& f_;
  Image image_;
  OperandCode of_a_, of_b_;
  std::optional<OperandCode> rest_of_b_{};
  std::optional<MetadataCode> metadata_{};
  std::optional<ExpansionCode> expansion_{};
  ColumnMask mask_;
  std::string name_;
};

}  // namespace

void write_multiplication(const FormCode& c) {
  c.b.scope([&] {
    if (c.form.share.halves == 2)
      write_pair_multiplication(c);
    else if (c.form.scaled_by_mma)
      write_block_scaled_multiplication(c);
    else if (c.form.scales)
      write_scaled_multiplication(c);
    else
      Multiplication(c).write();
  });
}

}  // namespace kiln::lower
