// The chains of mma.sync of a pair's form in one CTA: the columns of its own half of B by ldmatrix, those of the peer's
// out of the peer's shared memory. B's fragments of a step are few, and A's come one tile after the other.
#include <algorithm>
#include <vector>

#include "lower/engine.hpp"
#include "lower/operand.hpp"
#include "lower/peer.hpp"

namespace kiln::lower {
namespace {

// Steps whose fragments come from the peer at a time: each needs registers, and to wait for few is to wait often.
constexpr int most_steps_of_peer = 4;

class PairMultiplication {
 public:
  PairMultiplication(Text& out, const Plan& p, const Form& f)
      : out_(out), p_(p), f_(f), a_(out, p, f, 'a'), b_(out, p, f, 'b'), peer_(out, f), name_(mma_sync(f)) {}

  void write(const std::function<void()>& when_read) {
    out_.line("{{");
    if (f_.a_in_tmem) ImageAccess(p_).find(out_);
    find_self(out_);
    a_.declare(2 * 4);
    b_.declare(2 * own_registers());
    peer_.declare(4 * loads(0, std::min(steps(), most_steps_of_peer)));
    a_.begin();
    b_.begin();
    peer_.begin();
    scale_sums(out_, f_);
    for (int s = 0; s < steps(); ++s) step(s, when_read);
    out_.line("}}");
  }

 private:
  using Others = PeerMatrices::Others;

  int steps() const { return int(f_.steps.size()); }
  int rows() const { return f_.share.row_tiles(); }
  int tiles() const { return f_.share.half_tiles(); }  // of 8 columns, in each half
  int own_registers() const { return 4 * ((tiles() + 1) / 2); }

  // Of the peer's tiles two give one load a step; of an odd one, two steps do.
  int loads(int from, int to) const { return tiles() / 2 * (to - from) + tiles() % 2 * ((to - from + 1) / 2); }

  int first_of_peer(int tile, int s) const {
    const int from = s / most_steps_of_peer * most_steps_of_peer;
    if (tile + 1 == tiles() && tiles() % 2 == 1) {
      const int to = std::min(steps(), from + most_steps_of_peer);
      return 4 * (tiles() / 2 * (to - from) + (s - from) / 2) + 2 * ((s - from) % 2);
    }
    return 4 * (tiles() / 2 * (s - from) + tile / 2) + 2 * (tile % 2);
  }

  // What the steps from this one on need from the peer.
  void ask_peer(int from) {
    const int to = std::min(steps(), from + most_steps_of_peer);
    asked_ = loads(from, to);
    for (int s = from; s < to; ++s) {
      for (int t = 0; t + 1 < tiles(); t += 2) peer_.load({t, s, Others::next_tile}, first_of_peer(t, s));
      if (tiles() % 2 == 1 && (s - from) % 2 == 0)
        peer_.load({tiles() - 1, s, s + 1 < to ? Others::next_step : Others::none}, first_of_peer(tiles() - 1, s));
    }
  }

  void load_own(int s) {
    b_.address(std::size_t(s));
    for (int t = 0; t < tiles(); t += 2) b_.load(t / 2, s % 2 * own_registers() + 2 * t, t + 1 == tiles());
  }

  int set_of_a(int s, int row) const { return (s * rows() + row) % 2 * 4; }
  void load_a(int s, int row) {
    if (row == 0) a_.address(std::size_t(s));
    a_.load(row, set_of_a(s, row));
  }

  void step(int s, const std::function<void()>& when_read) {
    const bool asks = s % most_steps_of_peer == 0, last = s + 1 == steps();
    if (asks) ask_peer(s);
    if (s == 0) load_own(0);
    if (s == 0) load_a(0, 0);
    for (int i = 0; i < rows(); ++i) {
      if (i + 1 < rows())
        load_a(s, i + 1);
      else if (!last)
        load_a(s + 1, 0);
      if (i == 0 && !last) load_own(s + 1);
      for (int t = 0; t < tiles(); ++t) multiply(s, i, t, fragment("fb", s % 2 * own_registers() + 2 * t, 2));
      for (int g = 0; asks && i == 0 && g < asked_; ++g) peer_.settle(4 * g);
      for (int t = 0; t < tiles(); ++t) multiply(s, i, tiles() + t, fragment("fp", first_of_peer(t, s), 2));
      if (last && i == std::max(rows() - 2, 0)) when_read();
    }
  }

  void multiply(int s, int row, int tile, const std::string& b) {
    const Share& share = f_.share;
    const int sums = share.tile_registers();
    const std::string d = fragment("d", (row * share.column_tiles() + tile) * sums, sums);
    out_.line("{} {}, {}, {}, {};", name_, d, fragment("fa", set_of_a(s, row), 4), b, d);
  }

  Text& out_;
  const Plan& p_;
  const Form& f_;
  OperandCode a_, b_;
  PeerCode peer_;
  std::string name_;
  int asked_ = 0;
};

}  // namespace

void write_pair_multiplication(Text& out, const Plan& plan, const Form& form, const std::function<void()>& when_read) {
  PairMultiplication(out, plan, form).write(when_read);
}

}  // namespace kiln::lower
