// The chains of mma.sync of a pair's form in one CTA: the columns of its own half of B by ldmatrix, those of the peer's
// out of the peer's shared memory. B's fragments of a step are few, and A's come one tile after the other.
#include "lower/engine/multiply.hpp"

#include <algorithm>

#include "lower/engine/operand.hpp"
#include "lower/engine/peer_fragments.hpp"

namespace kiln::lower {
namespace {

// `steps`: how many steps' fragments come from the peer at a time. Each needs registers; with few, the engine waits
// often. `rows`: how many rows of tiles the peer's columns come after the CTA's own, which arrive earlier. Both were
// chosen by what ptxas spills.
struct Lead {
  int steps, rows;
};
constexpr Lead usual{4, 3}, lead_of_few_registers{1, 2};
constexpr std::uint32_t few_registers = 200;

class PairMultiplication {
 public:
  explicit PairMultiplication(const FormCode& c)
      : b_(c.b),
        code_(c),
        f_(c.form),
        lead_(c.plan.engine_registers > few_registers && !f_.as_f16 ? usual : lead_of_few_registers),
        image_(c.b, c.plan),
        of_a_(c, image_, Side::a, raw_a() + 4),
        of_b_(c, image_, Side::b, raw_b() + own_registers()),
        peer_(c, halves_of_peer() + own_registers(), tiles()),
        name_(mma_sync(f_)) {}

  void write() {
    if (f_.a_in_tmem) image_.find();
    code_.engine.find_self(b_);
    of_a_.begin();
    of_b_.begin();
    peer_.begin();
    scale_sums(code_);
    for (from_ = 0; from_ < steps(); from_ = to_) {
      to_ = std::min(steps(), from_ + lead_.steps);
      multiply_steps();
    }
  }

 private:
  using Others = PeerMatrices::Others;

  int steps() const { return int(f_.steps.size()); }
  int rows() const { return f_.share.row_tiles(); }
  int behind() const { return std::min(rows(), lead_.rows); }
  int sets_of_a() const { return behind() + 2; }

  // Elements that become wider are multiplied in two parts, and the CTA's own are loaded again for each part. After the
  // fragments come the registers for loaded words, and for halves of the peer's words.
  int parts() const { return f_.as_f16 ? 2 : 1; }
  int rows_of_step() const { return rows() * parts(); }
  int raw_a() const { return sets_of_a() * 4; }
  int raw_b() const { return 2 * own_registers(); }
  int halves_of_peer() const { return 4 * loads(std::min(steps(), lead_.steps)); }
  int tiles() const { return f_.share.half_tiles(); }  // of 8 columns, in each half
  int own_registers() const { return 4 * ((tiles() + 1) / 2); }

  // Of the peer's tiles two give one load a step, or one gives a load of two steps, which is 64 bytes of a row where B
  // is K-major, and those come faster than 32. Of an odd tile by itself it is two steps in any case.
  bool is_by_steps() const { return f_.b.major == isa::Major::K && lead_.steps % 2 == 0 && steps() % lead_.steps == 0; }
  int in_pairs() const { return is_by_steps() ? 0 : tiles() / 2 * 2; }  // of tiles
  int loads(int steps) const { return in_pairs() / 2 * steps + (tiles() - in_pairs()) * ((steps + 1) / 2); }
  bool begins_two_steps(int s) const { return (s - from_) % 2 == 0; }

  int first_of_peer(int tile, int s) const {
    if (tile < in_pairs()) return 4 * (in_pairs() / 2 * (s - from_) + tile / 2) + 2 * (tile % 2);
    const int before = in_pairs() / 2 * (to_ - from_) + (tiles() - in_pairs()) * ((s - from_) / 2);
    return 4 * (before + tile - in_pairs()) + 2 * ((s - from_) % 2);
  }

  // What these steps need from the peer.
  void ask_peer() const {
    for (int s = from_; s < to_; ++s) {
      const auto when = s == from_ ? PeerFragments::When::here : PeerFragments::When::any;
      for (int t = 0; t < in_pairs(); t += 2) peer_.load({t, s, Others::next_tile}, first_of_peer(t, s), when);
      for (int t = in_pairs(); t < tiles() && begins_two_steps(s); ++t)
        peer_.load({t, s, s + 1 < to_ ? Others::next_step : Others::none}, first_of_peer(t, s), when);
    }
  }

  // A part of the exchange of what a step is the first to need.
  void settle(int s, int part) const {
    if (in_pairs() == 0 && !begins_two_steps(s)) return;
    meet_in_warp(b_);  // above which ptxas moves no load
    for (int t = 0; t < in_pairs(); t += 2) peer_.exchange(first_of_peer(t, s), part, t / 2);
    for (int t = in_pairs(); t < tiles() && begins_two_steps(s); ++t) peer_.exchange(first_of_peer(t, s), part, t);
  }

  // The exchange, in the rows before the first MMAs that need it.
  void settle_for(int q) const {
    for (int s = from_; s < to_; ++s)
      for (int part = 0; part < PeerFragments::parts; ++part) {
        const int before = std::min(behind(), PeerFragments::parts - part);
        if (q != (s - from_) * rows_of_step() + behind() - before) continue;
        if (s == from_ && part == 0) begin_block();
        settle(s, part);
      }
  }

  // ptxas does not move code up across this branch. Otherwise it would wait for the peer's words before it multiplies
  // by the CTA's own. D's column is even.
  void begin_block() const {
    const Register column = b_.b32("and.b32", code_.engine.command[1], 1);
    b_.jump_if(b_.pred("setp.ne.u32", column, 0), code_.odd_column);
  }

  // Rows of tiles are counted through these steps.
  int step_of(int q) const { return from_ + q / rows_of_step(); }
  int part_of(int q) const { return q / rows() % parts(); }
  int set_of_a(int q) const { return q % sets_of_a() * 4; }
  int set_of_b(int q) const { return q / rows() % 2 * own_registers(); }

  void load_a(int q) {
    if (q % rows() == 0) of_a_.find_step(std::size_t(step_of(q)));
    of_a_.load(q % rows(), f_.as_f16 ? raw_a() : set_of_a(q));
    if (f_.as_f16) write_half(b_, of_a_.registers(), multiplied_as(f_.a_type), raw_a(), set_of_a(q), 4, part_of(q));
  }

  void load_own(int q) {
    of_b_.find_step(std::size_t(step_of(q)));
    for (int t = 0; t < tiles(); t += 2)
      of_b_.load(t / 2, (f_.as_f16 ? raw_b() : set_of_b(q)) + 2 * t, t + 1 == tiles());
    if (f_.as_f16)
      write_half(b_, of_b_.registers(), multiplied_as(f_.b_type), raw_b(), set_of_b(q), 2 * tiles(), part_of(q));
  }

  // Of what the peer sent, the part that is multiplied from this row on.
  void take_half(int q) const {
    for (int t = 0; t < tiles(); ++t)
      write_half(b_, peer_.registers(), multiplied_as(f_.b_type), first_of_peer(t, step_of(q)),
                 halves_of_peer() + 2 * t, 2, part_of(q));
  }

  void multiply_steps() {
    const int all = (to_ - from_) * rows_of_step();
    ask_peer();
    load_own(0);
    load_a(0);
    for (int q = 0; q < all + behind(); ++q) {
      if (q + 1 < all) load_a(q + 1);
      if (q % rows() == 0 && q + rows() < all) load_own(q + rows());
      if (q < all) multiply_own(q);
      settle_for(q);
      if (q >= behind()) multiply_others(q - behind());
      if (to_ == steps() && q == std::max(all - 2, 0)) code_.when_read();
    }
  }

  void multiply_own(int q) const {
    for (int t = 0; t < tiles(); ++t) multiply(q, t, of_b_.fragments(set_of_b(q) + 2 * t, 2));
  }
  void multiply_others(int q) const {
    if (f_.as_f16 && q % rows() == 0) take_half(q);
    for (int t = 0; t < tiles(); ++t)
      multiply(q, tiles() + t, peer_.fragments(f_.as_f16 ? halves_of_peer() + 2 * t : first_of_peer(t, step_of(q)), 2));
  }

  void multiply(int q, int tile, Term b) const {
    const Term d = sums_of_tile(code_, q % rows(), tile);
    b_.op(name_, d, of_a_.fragments(set_of_a(q), 4), b, d);
  }

  Builder& b_;
  const FormCode& code_;
  const Form& f_;
  Lead lead_;
  Image image_;
  OperandCode of_a_, of_b_;
  PeerFragments peer_;
  std::string name_;
  int from_ = 0, to_ = 0;  // the steps in hand
};

}  // namespace

void write_pair_multiplication(const FormCode& c) { PairMultiplication(c).write(); }

}  // namespace kiln::lower
