// The chains of mma.sync that one command stands for.
#include <algorithm>

#include "lower/engine.hpp"
#include "lower/halves.hpp"
#include "lower/mask.hpp"
#include "lower/operand.hpp"
#include "lower/sparse.hpp"
#include "ptx/isa/tcgen05.hpp"

namespace kiln::lower {

std::string mma_sync(const Form& f) {
  const bool is_sp = f.sparse && !f.expands;
  if (f.as_f16) return fmt::format("mma.sync.aligned.m16n8k16.row.col.{0}.f16.f16.{0}", isa::spelling(f.share.d_type));
  return fmt::format("mma{0}.sync.aligned.m16n8k{1}.row.col{2}.{3}.{4}.{5}.{3}", is_sp ? ".sp::ordered_metadata" : "",
                     isa::mma_k(f.kind, is_sp), f.saturates ? ".satfinite" : "", isa::spelling(f.share.d_type),
                     isa::spelling(multiplied_as(f.a_type)), isa::spelling(multiplied_as(f.b_type)));
}

std::string fragment(const char* letter, int first, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += fmt::format("{}%lw_{}{}", i ? ", " : "", letter, first + i);
  return "{" + out + "}";
}

void scale_sums(Text& out, const Form& f) {
  if (f.scale_input_d == 0) return;
  const std::uint32_t factor = std::uint32_t(127 - f.scale_input_d) << 23;
  for (int r = 0; r < f.share.registers(); ++r) out.line("mul.rn.f32 %lw_d{0}, %lw_d{0}, 0f{1:08X};", r, factor);
}

namespace {

class Multiplication {
 public:
  Multiplication(Text& out, const Plan& p, const Form& f)
      : out_(out),
        p_(p),
        f_(f),
        a_(out, p, f, 'a'),
        b_(out, p, f, 'b'),
        second_b_(out, p, f, 'e'),
        metadata_(out, p, f),
        expansion_(out, f),
        mask_(out, f),
        name_(mma_sync(f)) {}

  void write(const std::function<void()>& when_read) {
    out_.line("{{");
    if (f_.reads_image()) ImageAccess(p_).find(out_);
    find_self(out_);
    if (f_.masks_columns) mask_.begin();
    a_.declare(raw_a() + 4);
    b_.declare(raw_b + 4);
    a_.begin();
    b_.begin();
    if (f_.sparse) begin_sparse();
    scale_sums(out_, f_);
    for (int i = 0; i < f_.share.row_tiles(); ++i) load_a(0, i);
    load_b(0, 0);
    const int steps = int(f_.steps.size()) * parts();
    for (int s = 0; s < steps; ++s)
      for (int j = 0; j < pairs(); ++j) {
        const bool last = j + 1 == pairs(), more = s + 1 < steps;
        if (f_.as_f16) out_.line("bar.warp.sync 0xffffffff;");  // loads stay behind it: ptxas would move them all up
        if (!last)
          load_b(s, j + 1);
        else if (more)
          load_b(s + 1, 0);
        if (!more && j == std::max(pairs() - 2, 0)) when_read();
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

  // Elements that become wider are multiplied in two parts, for each of which they are loaded anew.
  int parts() const { return f_.as_f16 ? 2 : 1; }
  int raw_a() const { return 4 * f_.share.row_tiles(); }
  static constexpr int raw_b = 8;

  void begin_sparse() {
    second_b_.declare(8);
    second_b_.begin();
    metadata_.declare();
    metadata_.begin();
    if (!f_.expands) return;
    expansion_.declare();
    expansion_.begin();
  }

  // A's fragments have one set of registers: those of the next step come when the last MMAs of this one have theirs.
  void load_a(int step, int tile) {
    if (tile == 0) a_.address(std::size_t(step / parts()));
    if (f_.as_f16) {
      a_.load(tile, raw_a());
      return write_half(out_, 'a', multiplied_as(f_.a_type), raw_a(), 4 * tile, 4, step % 2);
    }
    a_.load(tile, f_.expands ? 0 : 4 * tile);
    if (!f_.sparse) return;
    if (tile == 0) metadata_.address(std::size_t(step));
    metadata_.load(tile);
    if (f_.expands) expansion_.expand(tile, metadata_.fragment(tile));
  }

  void load_b(int step, int pair) {
    const bool half = 2 * pair + 1 >= f_.share.column_tiles();
    const int first = 4 * set_of_b(step, pair);
    for (const OperandCode* b : {&b_, &second_b_}) {
      if (b == &second_b_ && !f_.sparse) continue;
      if (pair == 0) b->address(std::size_t(step / parts()));
      b->load(pair, f_.as_f16 ? raw_b : first, half);
    }
    if (f_.as_f16) write_half(out_, 'b', multiplied_as(f_.b_type), raw_b, first, half ? 2 : 4, step % 2);
    for (int j = 2 * pair; f_.masks_columns && j < std::min(2 * pair + 2, f_.share.column_tiles()); ++j)
      mask_.apply(j, fragments_of_b(step, pair, j));
  }

  std::vector<std::string> fragments_of_b(int step, int pair, int column) const {
    const int first = 4 * set_of_b(step, pair) + 2 * (column % 2);
    std::vector<std::string> out;
    for (const char* half : {"fb", "fe"})
      for (int r = first; r < first + 2 && (half[1] == 'b' || f_.sparse); ++r)
        out.push_back(fmt::format("%lw_{}{}", half, r));
    return out;
  }

  void multiply(int step, int pair, int tile) {
    const Share& s = f_.share;
    for (int j = 2 * pair; j < std::min(2 * pair + 2, s.column_tiles()); ++j) {
      const std::string d = fragment("d", (tile * s.column_tiles() + j) * s.tile_registers(), s.tile_registers());
      const int b = 4 * set_of_b(step, pair) + 2 * (j % 2);
      if (f_.expands)
        for (const bool second : {false, true})
          out_.line("{} {}, {}, {}, {};", name_, d, fragment("g", 8 * tile + 4 * second, 4),
                    fragment(second ? "fe" : "fb", b, 2), d);
      else if (f_.sparse)
        out_.line("{} {}, {}, {{%lw_fb{}, %lw_fb{}, %lw_fe{}, %lw_fe{}}}, {}, {}, 0x0;", name_, d,
                  fragment("fa", 4 * tile, 4), b, b + 1, b, b + 1, d, metadata_.fragment(tile));
      else
        out_.line("{} {}, {}, {}, {};", name_, d, fragment("fa", 4 * tile, 4), fragment("fb", b, 2), d);
    }
  }

  Text& out_;
  const Plan& p_;
  const Form& f_;
  OperandCode a_, b_, second_b_;
  MetadataCode metadata_;
  ExpansionCode expansion_;
  ColumnMask mask_;
  std::string name_;
};

}  // namespace

void write_multiplication(Text& out, const Plan& plan, const Form& form, const std::function<void()>& when_read) {
  if (form.share.halves == 2) return write_pair_multiplication(out, plan, form, when_read);
  if (form.scaled_by_mma) return write_block_scaled_multiplication(out, plan, form, when_read);
  if (form.scales) return write_scaled_multiplication(out, plan, form, when_read);
  Multiplication(out, plan, form).write(when_read);
}

}  // namespace kiln::lower
