#include "lower/engine/engine.hpp"

#include <algorithm>
#include <bit>

#include "lower/engine/columns.hpp"
#include "lower/engine/home.hpp"
#include "lower/engine/image.hpp"
#include "lower/engine/multiply.hpp"
#include "lower/engine/queue.hpp"
#include "lower/engine/registers.hpp"

namespace kiln::lower {
namespace {

// The engine's loop. While the last mma.sync of a command run, the next command is fetched if it is there.
class EngineCode {
 public:
  EngineCode(Builder& b, const Plan& p) : b_(b), p_(p), home_(b, p), e_(b, p) {
    for (std::size_t i = 0; i < p.forms.size(); ++i) forms_.push_back({b.label("form"), b.label("flushed")});
    for (std::size_t i = 0; i < p.copies.size(); ++i) copies_.push_back(b.label("copy"));
  }

  void write(JumpTarget begin) {
    b_.place(begin);
    this->begin();
    fetch();
    for (std::size_t i = 0; i < p_.forms.size(); ++i) multiply(i);
    others();
    commit();
    free();
    for (std::size_t i = 0; i < p_.copies.size(); ++i) copy(i);
    for (std::size_t i = 0; i < p_.shares.size(); ++i) flush(i);
    go_back();
    quit();
  }

 private:
  void begin() {
    set_registers(b_, p_, p_.engine_registers);
    b_.op("mov.u32", e_.thread, "%tid.x");
    b_.op("sub.u32", e_.thread, e_.thread, p_.first_engine_thread);
    for (const Register r : {e_.ticket, e_.held, e_.image_written, e_.image_read, e_.return_to}) b_.op("mov.b32", r, 0);
    if (p_.barrier == 0) b_.op("mov.b32", e_.meetings, 0);
    home_.find();
    home_.find_queue(e_.slot);
    b_.op(dotted({"add", home_.address_name()}), e_.slot, e_.slot, (p_.rings.queue - 1) * slot_bytes);
    e_.find_self(b_);
    b_.op("setp.eq.u32", e_.is_first_lane, e_.lane, 0);
  }

  // The slot of the next command, and the phase of its mbarriers. The queue's own address takes longer to find.
  void find_next() {
    b_.op(dotted({"add", home_.address_name()}), e_.next_slot, e_.slot, slot_bytes);
    b_.op("and.b32", e_.parity, e_.ticket, p_.rings.queue - 1);
    b_.op_if(b_.pred("setp.eq.u32", e_.parity, 0), dotted({"sub", home_.address_name()}), e_.next_slot, e_.next_slot,
             p_.rings.queue * slot_bytes);
    b_.op("shr.u32", e_.parity, e_.ticket, std::countr_zero(p_.rings.queue));
    home_.phase_of_full(e_.parity, e_.parity);
  }

  void fetch() {
    b_.place(fetch_);
    find_next();
    b_.place(wait_);
    home_.wait(e_.next_slot, slot_full, e_.parity);
    b_.op(home_.access("ld", "v4.b32"), vec(e_.command, 0, 4), at(e_.next_slot));
    b_.place(have_);
    meet_in_warp(b_);
    b_.op(home_.is_global() ? "mov.b64" : "mov.b32", e_.slot, e_.next_slot);
    b_.op("add.u32", e_.ticket, e_.ticket, 1);
    b_.jump_if(has(flag_other), others_);
    if (p_.forms.size() < 2) return;
    const Register command = b_.b32("and.b32", e_.command[0], command_mask);
    for (std::size_t i = 1; i < p_.forms.size(); ++i)
      jump_if_equal(command, unsigned(Command::first_form) + unsigned(i), forms_[i].begin);
  }

  void others() {
    b_.place(others_);
    const Register command = b_.b32("and.b32", e_.command[0], command_mask);
    jump_if_equal(command, unsigned(Command::quit), quit_);
    jump_if_equal(command, unsigned(Command::free), free_);
    for (std::size_t i = 0; i < p_.copies.size(); ++i) jump_if_equal(command, p_.command_of_copy(i), copies_[i]);
  }

  void jump_if_equal(Register value, unsigned to, JumpTarget target) {
    b_.jump_if(compare("setp.eq.u32", value, to), target);
  }

  // A condition that is used at once.
  template <class... A>
  Register compare(std::string_view name, const A&... operands) {
    b_.op(name, e_.condition, operands...);
    return e_.condition;
  }

  // Whether the command has a flag.
  Register has(unsigned flag) { return compare("setp.ne.u32", b_.b32("and.b32", e_.command[0], flag), 0); }

  // No mbarrier of the kernel's is there: the queue comes before its variables.
  Term no_signal() const { return home_.is_global() ? Term(-1) : Term(0); }
  void keep_signal() { b_.op("selp.b32", e_.signal, e_.command[3], no_signal(), has(flag_commits)); }

  // This warp has read all that the command names. The last of the warps finds engine_warps - 1 in the count. The slot
  // is free again when every warp has counted. Of a pair, the messenger waits for them.
  void count() {
    if (p_.is_pair) {
      meet_in_warp(b_);
      return release_slot();
    }
    b_.op("setp.ne.and.u32", e_.counts, e_.signal, no_signal(), e_.is_first_lane);
    b_.op("mov.b32", e_.count, 0);
    meet_in_warp(b_);
    b_.op_if(e_.counts, home_.ordered("atom.acq_rel.cta", "inc.u32"), e_.count, at(e_.slot, slot_done),
             p_.engine_warps - 1);
    release_slot();
  }

  void fetch_early() {
    find_next();
    for (const Register r : e_.command) b_.op("mov.b32", r, 0);  // else ptxas keeps what was there before
    home_.test(e_.is_ready, e_.next_slot, slot_full, e_.parity);
    b_.op_if(e_.is_ready, home_.access("ld", "v4.b32"), vec(e_.command, 0, 4), at(e_.next_slot));
  }

  // The arrival of a commit, by the last of the warps.
  void signal() {
    if (p_.is_pair) return;
    b_.op_if(compare("setp.eq.and.u32", e_.count, p_.engine_warps - 1, e_.counts),
             dotted({"mbarrier.arrive", p_.has_clusters ? "release.cluster.shared::cluster" : "shared::cta", "b64"}),
             "_", at(e_.signal));
  }

  // Of a pair, the messenger does that when all warps have counted.
  void release_slot() { home_.arrive_if(e_.is_first_lane, e_.slot, p_.is_pair ? slot_done : slot_empty); }

  // Sums that are in registers already stay there. Others go to the image first; those that are added to come from it.
  // Where the sums are shared out otherwise than the last ones, one warp may need what another has just written.
  void multiply(std::size_t i) {
    const Form& form = p_.forms[i];
    const std::size_t share = p_.share_of(form) + 1;
    const JumpTarget kept = b_.label("kept"), zero = b_.label("zero"), multiply = b_.label("multiply");
    b_.place(forms_[i].begin);
    if (form.reads_image()) b_.op("mov.b32", e_.image_read, 1);
    b_.op("setp.ne.u32", adds_, b_.b32("and.b32", e_.command[0], flag_first), 0);
    b_.op("or.b32", e_.wanted, e_.command[1], share << held_share);
    b_.jump_if(compare("setp.eq.u32", e_.held, e_.wanted), kept);
    b_.op("mov.b32", e_.return_to, i + 1);
    b_.jump_if(b_.pred("setp.ne.u32", e_.held, 0), flush_);
    b_.place(forms_[i].flushed);
    b_.op("or.b32", e_.held, e_.command[1], share << held_share);
    synchronise(form);
    skip_idle(form.share, committed_);
    b_.jump_if(!adds_, zero);
    load_sums(b_, p_, e_, form.share);
    b_.jump(multiply);
    b_.place(kept);
    if (form.reads_image()) synchronise(form);
    skip_idle(form.share, committed_);
    b_.jump_if(adds_, multiply);
    b_.place(zero);
    for (int r = 0; r < form.share.registers(); ++r) b_.op("mov.b32", e_.sums[std::size_t(r)], 0);
    b_.place(multiply);
    if (!p_.is_pair) keep_signal();
    write_multiplication({b_, p_, e_, form, odd_, [this] {
                            count();
                            fetch_early();
                          }});
    signal();
    b_.jump_if(e_.is_ready, have_);
    b_.jump(wait_);
  }

  // Warps that have no part of a small accumulator.
  void skip_idle(const Share& s, JumpTarget to) {
    if (s.warps() >= int(p_.engine_warps)) return;
    b_.jump_if(compare("setp.ge.u32", e_.thread, s.warps() * 32), to);
  }

  // This warp may read what other warps of the engine have written to the image: A, its metadata, or sums that were
  // shared out otherwise.
  void synchronise(const Form& form) {
    if (p_.shares.size() > 1 || form.reads_image()) meet_if(e_.image_written);
  }

  // The engine's warps meet where a register is not zero, and clear it.
  void meet_if(Register pending) {
    b_.when(!b_.pred("setp.eq.u32", pending, 0), [&] {
      home_.meet(e_.meetings, e_.is_first_lane);
      b_.op("mov.b32", pending, 0);
    });
  }

  // Warps that are late may still read what lay there.
  void copy(std::size_t i) {
    b_.place(copies_[i]);
    meet_if(e_.image_read);
    write_copy(b_, p_, e_, i);
    b_.op("mov.b32", e_.image_written, 1);
    meet_in_warp(b_);
    b_.jump(leave_slot_);
  }

  // To `target` unless this is the last warp to do this command; then on, in one thread.
  void all_but_the_last(JumpTarget target) {
    meet_in_warp(b_);
    b_.jump_if(!e_.is_first_lane, target);
    const Register count =
        b_.b32(home_.ordered("atom.acq_rel.cta", "inc.u32"), at(e_.slot, slot_count(p_)), p_.engine_warps - 1);
    b_.jump_if(compare("setp.ne.u32", count, p_.engine_warps - 1), target);
  }

  void flush_where_asked() {
    const Register asked = has(flag_first);
    b_.op("setp.ne.and.u32", asked, e_.held, 0, asked);
    b_.op("mov.b32", e_.return_to, 0);
    b_.jump_if(asked, flush_);
  }

  // An arrival, by the last warp that has done everything before it: on the mbarrier, or on that of each CTA in the
  // mask. Warps that have no part of an MMA come to committed_ too.
  void commit() {
    if (!p_.shares.empty()) flush_where_asked();
    b_.place(committed_);
    if (p_.is_pair) {
      count();
      b_.jump(fetch_);
    } else {
      commit_alone();
    }
    b_.place(leave_slot_);
    release_slot();
    b_.jump(fetch_);
  }

  void commit_alone() {
    const JumpTarget multicast = b_.label("multicast");
    if (p_.has_clusters) b_.jump_if(has(flag_multicast), multicast);
    keep_signal();
    count();
    signal();
    b_.jump(fetch_);
    if (!p_.has_clusters) return;
    b_.place(multicast);
    all_but_the_last(leave_slot_);
    arrive_in_each(b_, e_.command[3], e_.command[2]);
  }

  // Frees columns: word 1 of the command has the first, word 2 their number. Sums that belong there are dropped.
  void free() {
    b_.place(free_);
    const Register first = b_.b32("and.b32", e_.held, held_column);
    b_.op("sub.u32", first, first, e_.command[1]);
    b_.op_if(compare("setp.lt.u32", first, e_.command[2]), "mov.b32", e_.held, 0);
    all_but_the_last(leave_slot_);
    const Register mask = b_.b32("shr.u32", e_.command[1], 5), units = b_.b32("shr.u32", e_.command[2], 5);
    b_.op("bfi.b32", mask, all_lanes(), 0, mask, units);
    free_columns(b_, p_, mask);
    b_.jump(leave_slot_);
  }

  // Sums may go where an earlier MMA, which other warps may still be at, has its A.
  void flush(std::size_t i) {
    if (i == 0) {
      b_.place(flush_);
      if (std::any_of(p_.forms.begin(), p_.forms.end(), [](const Form& f) { return f.reads_image(); }))
        meet_if(e_.image_read);
    }
    const bool is_last = i + 1 == p_.shares.size();
    const JumpTarget next = b_.label("next_share");
    if (!is_last) jump_unless_share(i, next);
    skip_idle(p_.shares[i], flushed_);
    store_sums(b_, p_, e_, p_.shares[i]);
    if (is_last) return;
    b_.jump(flushed_);
    b_.place(next);
  }

  void jump_unless_share(std::size_t i, JumpTarget next) {
    const Register share = b_.b32("shr.u32", e_.held, held_share);
    b_.op("and.b32", share, share, 0xffff >> held_share);
    b_.jump_if(compare("setp.ne.u32", share, i + 1), next);
  }

  // Back to the code that wanted the sums written.
  void go_back() {
    b_.place(flushed_);
    b_.op("mov.b32", e_.image_written, 1);
    b_.op("mov.b32", e_.held, 0);
    for (std::size_t i = 0; i < p_.forms.size(); ++i) jump_if_equal(e_.return_to, unsigned(i) + 1, forms_[i].flushed);
    b_.jump(committed_);
  }

  void quit() {
    if (p_.is_pair) {
      b_.place(odd_);
      b_.op("trap");
    }
    b_.place(quit_);
    if (p_.is_pair) release_slot();
    if (p_.image != Place::global) return;
    const JumpTarget gone = b_.label("gone");
    all_but_the_last(gone);
    const Register number = home_.is_global() ? b_.b32("mov.b32", variable::home_number)
                                              : b_.b32("ld.shared.b32", at(variable::image_number));
    const Register taken = b_.b64("mov.b64", variable::taken);
    b_.op("mad.wide.u32", taken, number, 4, taken);
    b_.op("st.release.gpu.global.b32", at(taken), 0);
    b_.place(gone);
  }

  struct FormLabels {
    JumpTarget begin, flushed;
  };

  Builder& b_;
  const Plan& p_;
  Home home_;
  EngineRegisters e_;
  Register adds_ = b_.reg(ScalarType::pred);  // MMAs add to D
  std::vector<FormLabels> forms_{};
  std::vector<JumpTarget> copies_{};
  JumpTarget fetch_ = b_.label("fetch"), wait_ = b_.label("wait"), have_ = b_.label("have"),
             others_ = b_.label("other"), committed_ = b_.label("committed"), leave_slot_ = b_.label("leave_slot"),
             free_ = b_.label("free"), flush_ = b_.label("flush"), flushed_ = b_.label("flushed"),
             quit_ = b_.label("quit"), odd_ = b_.label("odd");
};

}  // namespace

void write_engine(Builder& b, const Plan& p, JumpTarget begin) {
  b.scope([&] { EngineCode(b, p).write(begin); });
}

void set_registers(Builder& b, const Plan& p, std::uint32_t count) {
  if (count == 0 || count == p.first_registers()) return;
  b.op(count > p.first_registers() ? "setmaxnreg.inc.sync.aligned.u32" : "setmaxnreg.dec.sync.aligned.u32", count);
}

}  // namespace kiln::lower
