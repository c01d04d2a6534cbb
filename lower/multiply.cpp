// The chains of mma.sync that one command stands for.
#include <algorithm>

#include "lower/engine.hpp"
#include "lower/halves.hpp"
#include "lower/operand.hpp"

namespace kiln::lower {
namespace {

// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32".
std::string instruction(const Form& f) {
  if (f.as_f16) return fmt::format("mma.sync.aligned.m16n8k16.row.col.{0}.f16.f16.{0}", isa::spelling(f.share.d_type));
  const char* k = f.kind == isa::MmaKind::tf32 ? "k8" : f.kind == isa::MmaKind::f16 ? "k16" : "k32";
  return fmt::format("mma.sync.aligned.m16n8{0}.row.col{1}.{2}.{3}.{4}.{2}", k, f.saturates ? ".satfinite" : "",
                     isa::spelling(f.share.d_type), isa::spelling(multiplied_as(f.a_type)),
                     isa::spelling(multiplied_as(f.b_type)));
}

std::string registers(const char* letter, int first, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += fmt::format("{}%lw_{}{}", i ? ", " : "", letter, first + i);
  return "{" + out + "}";
}

class Multiplication {
 public:
  Multiplication(Text& out, const Plan& p, const Form& f)
      : out_(out), p_(p), f_(f), a_(out, p, f, 'a'), b_(out, p, f, 'b'), name_(instruction(f)) {}

  void write(const std::function<void()>& when_read) {
    out_.line("{{");
    if (f_.a_in_tmem) ImageAccess(p_).find(out_);
    a_.declare(raw_a() + 4);
    b_.declare(raw_b + 4);
    a_.begin();
    b_.begin();
    scale();
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

  // A's fragments have one set of registers: those of the next step come when the last MMAs of this one have theirs.
  void load_a(int step, int tile) {
    if (tile == 0) a_.address(std::size_t(step / parts()));
    if (!f_.as_f16) return a_.load(tile, 4 * tile);
    a_.load(tile, raw_a());
    write_half(out_, 'a', multiplied_as(f_.a_type), raw_a(), 4 * tile, 4, step % 2);
  }

  void load_b(int step, int pair) {
    const bool half = 2 * pair + 1 >= f_.share.column_tiles();
    if (pair == 0) b_.address(std::size_t(step / parts()));
    if (!f_.as_f16) return b_.load(pair, 4 * set_of_b(step, pair), half);
    b_.load(pair, raw_b, half);
    write_half(out_, 'b', multiplied_as(f_.b_type), raw_b, 4 * set_of_b(step, pair), half ? 2 : 4, step % 2);
  }

  // scale-input-d: what is added to counts 2 to the minus so many.
  void scale() {
    if (f_.scale_input_d == 0) return;
    const std::uint32_t factor = std::uint32_t(127 - f_.scale_input_d) << 23;
    for (int r = 0; r < f_.share.registers(); ++r) out_.line("mul.rn.f32 %lw_d{0}, %lw_d{0}, 0f{1:08X};", r, factor);
  }

  void multiply(int step, int pair, int tile) {
    const Share& s = f_.share;
    for (int j = 2 * pair; j < std::min(2 * pair + 2, s.column_tiles()); ++j) {
      const std::string d = registers("d", (tile * s.column_tiles() + j) * s.tile_registers(), s.tile_registers());
      out_.line("{} {}, {}, {}, {};", name_, d, registers("fa", 4 * tile, 4),
                registers("fb", 4 * set_of_b(step, pair) + 2 * (j % 2), 2), d);
    }
  }

  Text& out_;
  const Plan& p_;
  const Form& f_;
  OperandCode a_, b_;
  std::string name_;
};

}  // namespace

void write_multiplication(Text& out, const Plan& plan, const Form& form, const std::function<void()>& when_read) {
  if (form.scaled_by_mma) return write_block_scaled_multiplication(out, plan, form, when_read);
  if (form.scales) return write_scaled_multiplication(out, plan, form, when_read);
  Multiplication(out, plan, form).write(when_read);
}

}  // namespace kiln::lower
