#include "lower/engine.hpp"

#include <bit>

#include "lower/cluster.hpp"
#include "lower/columns.hpp"
#include "lower/pair.hpp"
#include "lower/queue.hpp"

namespace kiln::lower {
namespace {

// The engine's loop. In registers all along: %lw_id the thread's number in the engine, %lw_head the ticket that is
// next, %lw_at the slot of the command in hand, and %lw_held, which says which sums are in registers and not in the
// image: D's address, and above its column the number of the share, of which 0 is none. All else is found anew where it
// is needed, since sums leave few registers: %lw_w the warp's number, %lw_l the lane. %lw_c is a command; while its
// last mma.sync run, the next one is fetched if it is there.
class EngineCode {
 public:
  EngineCode(Text& out, const Plan& p) : out_(out), p_(p) {}

  void write() {
    out_.line("lw_engine:");
    out_.line("{{");
    declare();
    fetch();
    for (std::size_t i = 0; i < p_.forms.size(); ++i) multiply(i);
    others();
    commit();
    free();
    for (std::size_t i = 0; i < p_.copies.size(); ++i) copy(i);
    for (std::size_t i = 0; i < p_.shares.size(); ++i) flush(i);
    go_back();
    quit();
    out_.line("}}");
  }

 private:
  void declare() {
    int registers = 0;
    for (const Share& s : p_.shares) registers = std::max(registers, s.registers());
    out_.line(".reg .b32 %lw_d<{}>, %lw_c<4>, %lw_t<6>;", std::max(registers, 1));
    out_.line(".reg .b32 %lw_id, %lw_w, %lw_l, %lw_head, %lw_at, %lw_next, %lw_parity, %lw_signal, %lw_count;");
    out_.line(".reg .b32 %lw_held, %lw_key, %lw_apart, %lw_looked, %lw_back;");
    out_.line(".reg .pred %lw_wp, %lw_p<4>, %lw_first, %lw_ready, %lw_counts;");
    set_registers(out_, p_, p_.engine_registers);
    out_.line("mov.u32 %lw_id, %tid.x;");
    out_.line("sub.u32 %lw_id, %lw_id, {};", p_.first_engine_thread);
    for (const char* r : {"head", "held", "apart", "looked", "back"}) out_.line("mov.b32 %lw_{}, 0;", r);
    out_.line("mov.b32 %lw_at, lw_queue;");
    out_.line("add.u32 %lw_at, %lw_at, {};", (p_.rings.queue - 1) * slot_bytes);
    find_self(out_);
    out_.line("setp.eq.u32 %lw_first, %lw_l, 0;");
  }

  // The slot of the next command, and the phase of its mbarriers. The queue's own address takes longer to find.
  void find_next() {
    out_.line("add.u32 %lw_next, %lw_at, {};", slot_bytes);
    out_.line("and.b32 %lw_parity, %lw_head, {};", p_.rings.queue - 1);
    out_.line("setp.eq.u32 %lw_p3, %lw_parity, 0;");
    out_.line("@%lw_p3 sub.u32 %lw_next, %lw_next, {};", p_.rings.queue * slot_bytes);
    out_.line("shr.u32 %lw_parity, %lw_head, {};", std::countr_zero(p_.rings.queue));
    out_.line("and.b32 %lw_parity, %lw_parity, 1;");
  }

  // The next command into %lw_c.
  void fetch() {
    out_.line("lw_fetch:");
    find_next();
    out_.line("lw_wait:");
    wait_for(out_, "%lw_next", slot_full, "%lw_parity", "lw_wait_full");
    out_.line("ld.shared.v4.b32 {{%lw_c0, %lw_c1, %lw_c2, %lw_c3}}, [%lw_next];");
    out_.line("lw_have:");
    out_.line("bar.warp.sync 0xffffffff;");
    out_.line("mov.b32 %lw_at, %lw_next;");
    out_.line("add.u32 %lw_head, %lw_head, 1;");
    out_.line("and.b32 %lw_t1, %lw_c0, {};", flag_other);
    out_.line("setp.ne.u32 %lw_p0, %lw_t1, 0;");
    out_.line("@%lw_p0 bra lw_other;");
    if (p_.forms.size() < 2) return;
    out_.line("and.b32 %lw_t1, %lw_c0, {};", command_mask);
    for (std::size_t i = 1; i < p_.forms.size(); ++i)
      jump_if("%lw_t1", int(Command::first_form) + int(i), fmt::format("lw_form_{}", i));
  }

  void others() {
    out_.line("lw_other:");
    out_.line("and.b32 %lw_t1, %lw_c0, {};", command_mask);
    jump_if("%lw_t1", int(Command::quit), "lw_quit");
    jump_if("%lw_t1", int(Command::free), "lw_free");
    for (std::size_t i = 0; i < p_.copies.size(); ++i)
      jump_if("%lw_t1", int(p_.command_of_copy(i)), fmt::format("lw_copy_{}", i));
  }

  // The mbarrier of a command that is a commit too, else 0, where no variable is: the queue comes before the kernel's.
  void keep_signal() {
    out_.line("and.b32 %lw_t2, %lw_c0, {};", flag_commits);
    out_.line("setp.ne.u32 %lw_p0, %lw_t2, 0;");
    out_.line("selp.b32 %lw_signal, %lw_c3, 0, %lw_p0;");
  }

  // This warp has read all that the command names. Of the warps that say so, the last one knows it: then %lw_count is
  // engine_warps - 1. The slot is free again when every warp has said so. Of a pair, the messenger waits for them.
  void count() {
    if (p_.is_pair) {
      out_.line("bar.warp.sync 0xffffffff;");
      return release_slot();
    }
    out_.line("setp.ne.and.u32 %lw_counts, %lw_signal, 0, %lw_first;");
    out_.line("mov.b32 %lw_count, 0;");
    out_.line("bar.warp.sync 0xffffffff;");
    out_.line("@%lw_counts atom.acq_rel.cta.shared::cta.inc.u32 %lw_count, [%lw_at+{}], {};", slot_done,
              p_.engine_warps - 1);
    release_slot();
  }

  void fetch_early() {
    find_next();
    for (int i = 0; i < 4; ++i) out_.line("mov.b32 %lw_c{}, 0;", i);  // else ptxas keeps what was there before
    out_.line("mbarrier.test_wait.parity.shared::cta.b64 %lw_ready, [%lw_next+{}], %lw_parity;", slot_full);
    out_.line("@%lw_ready ld.shared.v4.b32 {{%lw_c0, %lw_c1, %lw_c2, %lw_c3}}, [%lw_next];");
  }

  // The arrival that a commit is, by the last of the warps.
  void signal() {
    if (p_.is_pair) return;
    out_.line("setp.eq.and.u32 %lw_p0, %lw_count, {}, %lw_counts;", p_.engine_warps - 1);
    out_.line("@%lw_p0 mbarrier.arrive{}.b64 _, [%lw_signal];",
              p_.has_clusters ? ".release.cluster.shared::cluster" : ".shared::cta");
  }

  void jump_if(const char* what, int value, const std::string& label) {
    out_.line("setp.eq.u32 %lw_p0, {}, {};", what, value);
    out_.line("@%lw_p0 bra {};", label);
  }

  // Of a pair, the messenger does that when all warps have said so.
  void release_slot() {
    out_.line("@%lw_first mbarrier.arrive.shared::cta.b64 _, [%lw_at+{}];", p_.is_pair ? slot_done : slot_empty);
  }

  // Sums that are in registers already stay there. Others go to the image first; those to which is added come from it.
  // Where the sums are shared out in another way than the last ones were, one warp may need what another has just
  // written.
  void multiply(std::size_t i) {
    const Form& form = p_.forms[i];
    const std::size_t share = p_.share_of(form) + 1;
    out_.line("lw_form_{}:", i);
    if (form.reads_image()) out_.line("mov.b32 %lw_looked, 1;");
    out_.line("and.b32 %lw_t2, %lw_c0, {};", flag_first);
    out_.line("setp.ne.u32 %lw_p1, %lw_t2, 0;");
    out_.line("or.b32 %lw_key, %lw_c1, {};", share << held_share);
    out_.line("setp.eq.u32 %lw_p0, %lw_held, %lw_key;");
    out_.line("@%lw_p0 bra lw_kept_{};", i);
    out_.line("mov.b32 %lw_back, {};", i + 1);
    out_.line("setp.ne.u32 %lw_p2, %lw_held, 0;");
    out_.line("@%lw_p2 bra lw_flush;");
    out_.line("lw_flushed_{}:", i);
    out_.line("or.b32 %lw_held, %lw_c1, {};", share << held_share);
    synchronise(form, i);
    skip_idle(form.share, "lw_committed");
    out_.line("@!%lw_p1 bra lw_zero_{};", i);
    write_transfer(out_, p_, form.share, "ld");
    out_.line("bra lw_multiply_{};", i);
    out_.line("lw_kept_{}:", i);
    if (form.reads_image()) synchronise(form, i + p_.forms.size());
    skip_idle(form.share, "lw_committed");
    out_.line("@%lw_p1 bra lw_multiply_{};", i);
    out_.line("lw_zero_{}:", i);
    for (int r = 0; r < form.share.registers(); ++r) out_.line("mov.b32 %lw_d{}, 0;", r);
    out_.line("lw_multiply_{}:", i);
    if (!p_.is_pair) keep_signal();
    write_multiplication(out_, p_, form, [this] {
      count();
      fetch_early();
    });
    signal();
    out_.line("@%lw_ready bra lw_have;");
    out_.line("bra lw_wait;");
  }

  // Warps that have no part of a small accumulator.
  void skip_idle(const Share& s, const char* to) {
    if (s.warps() >= int(p_.engine_warps)) return;
    out_.line("setp.ge.u32 %lw_p0, %lw_id, {};", s.warps() * 32);
    out_.line("@%lw_p0 bra {};", to);
  }

  // What other warps of the engine have written to the image, this one may read: A, its metadata, or sums that were
  // shared out otherwise. %lw_apart: something was written since they met.
  void synchronise(const Form& form, std::size_t label) {
    if (p_.shares.size() < 2 && !form.reads_image()) return;
    out_.line("setp.eq.u32 %lw_p2, %lw_apart, 0;");
    out_.line("@%lw_p2 bra lw_met_{};", label);
    out_.line("bar.sync {}, {};", p_.barrier, p_.engine_warps * 32);
    out_.line("mov.b32 %lw_apart, 0;");
    out_.line("lw_met_{}:", label);
  }

  // Warps that are behind may still read what lay there.
  void copy(std::size_t i) {
    out_.line("lw_copy_{}:", i);
    out_.line("setp.eq.u32 %lw_p2, %lw_looked, 0;");
    out_.line("@%lw_p2 bra lw_copy_now_{};", i);
    out_.line("bar.sync {}, {};", p_.barrier, p_.engine_warps * 32);
    out_.line("mov.b32 %lw_looked, 0;");
    out_.line("lw_copy_now_{}:", i);
    write_copy(out_, p_, i);
    out_.line("mov.b32 %lw_apart, 1;");
    out_.line("bar.warp.sync 0xffffffff;");
    out_.line("bra lw_leave_slot;");
  }

  // To `label` unless this is the last warp to do this command; then on, in one thread.
  void all_but_the_last(const char* label) {
    out_.line("bar.warp.sync 0xffffffff;");
    out_.line("@!%lw_first bra {};", label);
    out_.line("atom.acq_rel.cta.shared::cta.inc.u32 %lw_t1, [%lw_at+{}], {};", slot_count(p_), p_.engine_warps - 1);
    out_.line("setp.ne.u32 %lw_p0, %lw_t1, {};", p_.engine_warps - 1);
    out_.line("@%lw_p0 bra {};", label);
  }

  void flush_where_asked() {
    out_.line("and.b32 %lw_t2, %lw_c0, {};", flag_first);
    out_.line("setp.ne.u32 %lw_p0, %lw_t2, 0;");
    out_.line("setp.ne.and.u32 %lw_p0, %lw_held, 0, %lw_p0;");
    out_.line("mov.b32 %lw_back, 0;");
    out_.line("@%lw_p0 bra lw_flush;");
  }

  // An arrival, by the last warp that has done everything before it: on the mbarrier, or on that of each CTA in the
  // mask. Warps that have no part of an MMA come to lw_committed too.
  void commit() {
    if (!p_.shares.empty()) flush_where_asked();
    out_.line("lw_committed:");
    if (p_.is_pair) {
      count();
      out_.line("bra lw_fetch;");
    } else {
      commit_alone();
    }
    out_.line("lw_leave_slot:");
    release_slot();
    out_.line("bra lw_fetch;");
  }

  void commit_alone() {
    if (p_.has_clusters) {
      out_.line("and.b32 %lw_t2, %lw_c0, {};", flag_multicast);
      out_.line("setp.ne.u32 %lw_p0, %lw_t2, 0;");
      out_.line("@%lw_p0 bra lw_multicast;");
    }
    keep_signal();
    count();
    signal();
    out_.line("bra lw_fetch;");
    if (p_.has_clusters) multicast();
  }

  void multicast() {
    out_.line("lw_multicast:");
    all_but_the_last("lw_leave_slot");
    arrive_in_each(out_, "%lw_c3", "%lw_c2", "release");
  }

  // Columns %lw_c1 and on, as many as %lw_c2 says, are nobody's now, and neither are sums that belong there.
  void free() {
    out_.line("lw_free:");
    out_.line("and.b32 %lw_t2, %lw_held, {};", held_column);
    out_.line("sub.u32 %lw_t2, %lw_t2, %lw_c1;");
    out_.line("setp.lt.u32 %lw_p0, %lw_t2, %lw_c2;");
    out_.line("@%lw_p0 mov.b32 %lw_held, 0;");
    all_but_the_last("lw_leave_slot");
    out_.line("shr.u32 %lw_t2, %lw_c1, 5;");
    out_.line("shr.u32 %lw_t3, %lw_c2, 5;");
    out_.line("bfi.b32 %lw_t2, 0xffffffff, 0, %lw_t2, %lw_t3;");
    free_columns(out_, p_, "%lw_t2");
    out_.line("bra lw_leave_slot;");
  }

  void flush(std::size_t i) {
    if (i == 0) out_.line("lw_flush:");
    if (i + 1 < p_.shares.size()) jump_unless_share(i);
    skip_idle(p_.shares[i], "lw_flushed");
    write_transfer(out_, p_, p_.shares[i], "st");
    if (i + 1 < p_.shares.size()) {
      out_.line("bra lw_flushed;");
      out_.line("lw_not_{}:", i);
    }
  }

  void jump_unless_share(std::size_t i) {
    out_.line("shr.u32 %lw_t2, %lw_held, {};", held_share);
    out_.line("and.b32 %lw_t2, %lw_t2, {};", 0xffff >> held_share);
    out_.line("setp.ne.u32 %lw_p0, %lw_t2, {};", i + 1);
    out_.line("@%lw_p0 bra lw_not_{};", i);
  }

  // Back to who wanted the sums written: 0 is a commit, i + 1 form i.
  void go_back() {
    out_.line("lw_flushed:");
    out_.line("mov.b32 %lw_apart, 1;");
    out_.line("mov.b32 %lw_held, 0;");
    for (std::size_t i = 0; i < p_.forms.size(); ++i) jump_if("%lw_back", int(i) + 1, fmt::format("lw_flushed_{}", i));
    out_.line("bra lw_committed;");
  }

  void quit() {
    if (p_.is_pair) {
      out_.line("lw_odd:");
      out_.line("trap;");
    }
    out_.line("lw_quit:");
    if (p_.is_pair) release_slot();
    if (p_.image == Place::global) {
      all_but_the_last("lw_gone");
      out_.line("ld.shared.b32 %lw_t0, [lw_slot];");
      out_.line("{{");
      out_.line(".reg .b64 %lw_at<2>;");
      out_.line("mov.b64 %lw_at0, lw_taken;");
      out_.line("mad.wide.u32 %lw_at0, %lw_t0, 4, %lw_at0;");
      out_.line("st.release.gpu.global.b32 [%lw_at0], 0;");
      out_.line("}}");
      out_.line("lw_gone:");
    }
    if (p_.meets_in_cluster()) meet_in_cluster(out_);
    out_.line("ret;");
  }

  Text& out_;
  const Plan& p_;
};

}  // namespace

void find_self(Text& out) {
  out.line("shr.u32 %lw_w, %lw_id, 5;");
  out.line("and.b32 %lw_l, %lw_id, 31;");
}

void write_engine(Text& out, const Plan& p) { EngineCode(out, p).write(); }

}  // namespace kiln::lower
