#include "lower/messenger.hpp"

#include <bit>
#include <utility>

#include "lower/forward.hpp"
#include "lower/pair.hpp"
#include "lower/queue.hpp"

namespace kiln::lower {
namespace {

// A record of a commit, in both CTAs: an mbarrier for the two messengers, the mbarrier that waits for the commit, and
// the mask of CTAs. The first records are for the commits that the even CTA gives, the others for the odd one's.
constexpr unsigned record_target = 8, record_mask = 12;
enum ToPut : unsigned { nothing, command, quit, end_of_mail };          // %lw_hw
enum Duties : unsigned { incoming = 1, outgoing = 2, all_duties = 3 };  // the peer's commands and copies; the rest
constexpr int copies_a_round = 2;                                       // as a rule A's and B's of one slot

// A round looks at what has come to pass since the last one, without waiting, and has one fence for all of it. In
// registers all along: %lw_hf and %lw_hq the tickets of the command that is next for the peer and of the one that is
// next to be done, %lw_hm and %lw_hi those of mail that goes and of mail that comes, %lw_hc that of the copy, %lw_hr0
// and 1 how many commits of each CTA have been heard of from both, %lw_hp those that have not, %lw_hn what has ended;
// %lw_hk the ticket of what is to be put into the queue, and %lw_hw which of these that is.
class Messenger {
 public:
  Messenger(Text& out, const Plan& p, Duties duties)
      : out_(out), p_(p), duties_(duties), copies_(has(incoming) && p.forwards_copies() ? copies_a_round : 0) {}

  void write() {
    out_.line("{{");
    out_.line(".reg .b32 %lw_h<4>, %lw_hf, %lw_hm, %lw_hi, %lw_hk, %lw_hw, %lw_hq, %lw_hc, %lw_hr<2>, %lw_hp, %lw_hn;");
    out_.line(
        ".reg .b32 %lw_t<4>, %lw_v<4>, %lw_peer, %lw_returned, %lw_letter, %lw_told, %lw_target<2>, %lw_bytes<2>;");
    out_.line(".reg .pred %lw_p<1>;");
    find_peer(out_, "%lw_peer");
    for (const char* r : {"hf", "hm", "hi", "hk", "hw", "hq", "hc", "hr0", "hr1", "hp", "hn"})
      out_.line("mov.b32 %lw_{}, 0;", r);
    out_.line("lw_round:");
    for (const char* r : {"returned", "letter", "told"}) out_.line("mov.b32 %lw_{}, 0;", r);
    if (has(incoming)) take_mail();
    if (has(outgoing)) write_letter();
    if (has(outgoing)) take_command();
    for (int i = 0; i < copies_; ++i)
      take_copy(out_, p_, "%lw_hc", copy("target", i), copy("bytes", i), fmt::format("lw_no_copy_{}", i));
    tell();
    for (int giver = 0; giver < 2 && has(outgoing); ++giver) hear(giver);
    out_.line("mad.lo.u32 %lw_h0, %lw_hp, {}, %lw_hn;", 1 + all_ends);
    out_.line("setp.ne.u32 %lw_p0, %lw_h0, {};", (has(outgoing) ? no_more_commands : 0) |
                                                     (has(incoming) ? no_more_mail : 0) |
                                                     (copies_ ? no_more_copies : 0));
    out_.line("@%lw_p0 bra lw_round;");
    out_.line("bra lw_serve_no_more;");
    out_.line("}}");
  }

 private:
  bool has(Duties d) const { return (duties_ & d) != 0; }
  static std::string copy(const char* what, int i) { return fmt::format("%lw_{}{}", what, i); }

  // The next command of the peer, into the queue; %lw_returned: the free slot of the mail, at the peer's. The ticket is
  // taken before there is room, as every ticket is. Where the peer gives no more, and nor do the own threads, the
  // command is to quit.
  void take_mail() {
    find_slot(out_, mail_ring(p_), "%lw_hi", "%lw_h0", "%lw_h1");
    out_.line("setp.ne.u32 %lw_p0, %lw_hw, {};", nothing);
    out_.line("@%lw_p0 bra lw_put;");
    out_.line("mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %lw_p0, [%lw_h0+{}], %lw_h1;", slot_full);
    out_.line("@!%lw_p0 bra lw_no_mail;");
    out_.line("mov.b32 %lw_hw, {};", command);
    out_.line("ld.shared.b32 %lw_h1, [%lw_h0];");
    out_.line("setp.ne.u32 %lw_p0, %lw_h1, {};", close_command);
    out_.line("@%lw_p0 bra lw_take_ticket;");
    end_mail();
    out_.line("atom.acq_rel.cta.shared::cta.inc.u32 %lw_h1, [lw_ends], 1;");
    out_.line("setp.eq.u32 %lw_p0, %lw_h1, 0;");
    out_.line("@%lw_p0 bra lw_no_mail;");
    out_.line("mov.b32 %lw_hw, {};", quit);
    out_.line("and.b32 %lw_hn, %lw_hn, {};", all_ends & ~no_more_mail);
    out_.line("lw_take_ticket:");
    out_.line("mov.b32 %lw_hk, lw_ticket;");
    out_.line("atom.relaxed.cta.shared::cta.add.u32 %lw_hk, [%lw_hk], 1;");
    put();
    out_.line("lw_no_mail:");
  }

  void put() {
    out_.line("lw_put:");
    out_.line("setp.eq.u32 %lw_p0, %lw_hw, {};", end_of_mail);
    out_.line("@%lw_p0 bra lw_no_mail;");
    find_slot(out_, queue_ring(p_), "%lw_hk", "%lw_h1", "%lw_h2");
    out_.line("xor.b32 %lw_h2, %lw_h2, 1;");
    out_.line("mbarrier.test_wait.parity.shared::cta.b64 %lw_p0, [%lw_h1+{}], %lw_h2;", slot_empty);
    out_.line("@!%lw_p0 bra lw_no_mail;");
    out_.line("setp.eq.u32 %lw_p0, %lw_hw, {};", quit);
    out_.line("@%lw_p0 bra lw_put_quit;");
    out_.line("ld.shared.v4.b32 {{%lw_v0, %lw_v1, %lw_v2, %lw_v3}}, [%lw_h0];");
    out_.line("or.b32 %lw_v0, %lw_v0, {};", flag_local);
    out_.line("st.shared.v4.b32 [%lw_h1], {{%lw_v0, %lw_v1, %lw_v2, %lw_v3}};");
    out_.line("ld.shared.v2.b32 {{%lw_v0, %lw_v1}}, [%lw_h0+{}];", slot_more);
    out_.line("st.shared.v2.b32 [%lw_h1+{}], {{%lw_v0, %lw_v1}};", slot_more);
    out_.line("mapa.shared::cluster.u32 %lw_returned, %lw_h0, %lw_peer;");
    out_.line("add.u32 %lw_hi, %lw_hi, 1;");
    out_.line("mov.b32 %lw_hw, {};", nothing);
    out_.line("bra lw_arrive;");
    out_.line("lw_put_quit:");
    out_.line("mov.b32 %lw_v0, {};", quit_command);
    for (int i = 1; i < 4; ++i) out_.line("mov.b32 %lw_v{}, 0;", i);
    out_.line("st.shared.v4.b32 [%lw_h1], {{%lw_v0, %lw_v1, %lw_v2, %lw_v3}};");
    out_.line("st.shared.b32 [%lw_h1+{}], %lw_v1;", slot_count(p_));
    end_mail();
    out_.line("lw_arrive:");
    out_.line("mbarrier.arrive.shared::cta.b64 _, [%lw_h1+{}];", slot_full);
  }

  void end_mail() {
    out_.line("mov.b32 %lw_hw, {};", end_of_mail);
    out_.line("or.b32 %lw_hn, %lw_hn, {};", no_more_mail);
  }

  // The next command that this CTA gives, into the peer's mail, if there is a free slot, which is %lw_letter then.
  void write_letter() {
    find_slot(out_, queue_ring(p_), "%lw_hf", "%lw_h0", "%lw_h1");
    out_.line("mbarrier.test_wait.parity.shared::cta.b64 %lw_p0, [%lw_h0+{}], %lw_h1;", slot_full);
    out_.line("@!%lw_p0 bra lw_no_letter;");
    out_.line("ld.shared.v4.b32 {{%lw_v0, %lw_v1, %lw_v2, %lw_v3}}, [%lw_h0];");
    out_.line("and.b32 %lw_h1, %lw_v0, {};", flag_local);
    out_.line("setp.ne.u32 %lw_p0, %lw_h1, 0;");
    out_.line("@%lw_p0 bra lw_letter_written;");
    find_slot(out_, mail_ring(p_), "%lw_hm", "%lw_h2", "%lw_h3");
    out_.line("xor.b32 %lw_h3, %lw_h3, 1;");
    out_.line("mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %lw_p0, [%lw_h2+{}], %lw_h3;", slot_empty);
    out_.line("@!%lw_p0 bra lw_no_letter;");
    out_.line("mapa.shared::cluster.u32 %lw_letter, %lw_h2, %lw_peer;");
    out_.line("st.shared::cluster.v4.b32 [%lw_letter], {{%lw_v0, %lw_v1, %lw_v2, %lw_v3}};");
    out_.line("ld.shared.v2.b32 {{%lw_v0, %lw_v1}}, [%lw_h0+{}];", slot_more);
    out_.line("st.shared::cluster.v2.b32 [%lw_letter+{}], {{%lw_v0, %lw_v1}};", slot_more);
    out_.line("add.u32 %lw_hm, %lw_hm, 1;");
    out_.line("lw_letter_written:");
    out_.line("add.u32 %lw_hf, %lw_hf, 1;");
    out_.line("lw_no_letter:");
  }

  // The next command, once all warps of the engine have done it. %lw_told: the record of a commit. That of an earlier
  // one may still be in use.
  void take_command() {
    out_.line("setp.eq.u32 %lw_p0, %lw_hq, %lw_hf;");
    out_.line("@%lw_p0 bra lw_no_command;");
    find_slot(out_, queue_ring(p_), "%lw_hq", "%lw_h0", "%lw_h1");
    out_.line("mbarrier.test_wait.parity.shared::cta.b64 %lw_p0, [%lw_h0+{}], %lw_h1;", slot_done);
    out_.line("@!%lw_p0 bra lw_no_command;");
    out_.line("ld.shared.b32 %lw_h1, [%lw_h0];");
    out_.line("setp.eq.u32 %lw_p0, %lw_h1, {};", quit_command);
    out_.line("@%lw_p0 or.b32 %lw_hn, %lw_hn, {};", no_more_commands);
    out_.line("and.b32 %lw_h1, %lw_h1, {};", flag_commits);
    out_.line("setp.eq.u32 %lw_p0, %lw_h1, 0;");
    out_.line("@%lw_p0 bra lw_command_taken;");
    out_.line("ld.shared.v2.b32 {{%lw_h2, %lw_h3}}, [%lw_h0+{}];", slot_record);
    out_.line("mov.b32 %lw_h1, lw_records;");
    out_.line("mad.lo.u32 %lw_h2, %lw_h2, {}, %lw_h1;", record_bytes);
    out_.line("ld.shared.b32 %lw_h1, [%lw_h2+{}];", record_mask);
    out_.line("setp.ne.u32 %lw_p0, %lw_h1, 0;");
    out_.line("@%lw_p0 bra lw_no_command;");
    out_.line("ld.shared.b32 %lw_h1, [%lw_h0+12];");
    out_.line("st.shared.v2.b32 [%lw_h2+{}], {{%lw_h1, %lw_h3}};", record_target);
    out_.line("mov.b32 %lw_told, %lw_h2;");
    out_.line("add.u32 %lw_hp, %lw_hp, 1;");
    out_.line("lw_command_taken:");
    out_.line("mbarrier.arrive.shared::cta.b64 _, [%lw_h0+{}];", slot_empty);
    out_.line("add.u32 %lw_hq, %lw_hq, 1;");
    out_.line("lw_no_command:");
  }

  void tell() {
    out_.line("or.b32 %lw_h0, %lw_told, %lw_letter;");
    out_.line("or.b32 %lw_h0, %lw_h0, %lw_returned;");
    for (int i = 0; i < copies_; ++i) out_.line("or.b32 %lw_h0, %lw_h0, {};", copy("bytes", i));
    out_.line("setp.eq.u32 %lw_p0, %lw_h0, 0;");
    out_.line("@%lw_p0 bra lw_told_all;");
    out_.line("fence.acq_rel.cluster;");
    for (int i = 0; i < copies_; ++i) forward_copy(out_, copy("target", i), copy("bytes", i));
    for (const auto& [slot, at] : {std::pair("returned", slot_empty), std::pair("letter", slot_full)}) {
      out_.line("setp.ne.u32 %lw_p0, %lw_{}, 0;", slot);
      out_.line("add.u32 %lw_{0}, %lw_{0}, {1};", slot, at);
      out_.line("@%lw_p0 mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%lw_{}];", slot);
    }
    out_.line("setp.eq.u32 %lw_p0, %lw_told, 0;");
    out_.line("@%lw_p0 bra lw_told_all;");
    out_.line("mapa.shared::cluster.u32 %lw_h1, %lw_told, %lw_peer;");
    out_.line("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%lw_h1];");
    out_.line("mbarrier.arrive.shared::cta.b64 _, [%lw_told];");
    out_.line("lw_told_all:");
  }

  // A commit to which both engines have come: the mbarriers in the mask hear of it, each from a CTA that has the same
  // place in its pair; as a rule that is its own one.
  void hear(int giver) {
    out_.line("mov.b32 %lw_h0, lw_records;");
    out_.line("and.b32 %lw_h1, %lw_hr{}, {};", giver, p_.rings.records - 1);
    out_.line("mad.lo.u32 %lw_h0, %lw_h1, {}, %lw_h0;", record_bytes);
    out_.line("shr.u32 %lw_h1, %lw_hr{}, {};", giver, std::countr_zero(p_.rings.records));
    out_.line("and.b32 %lw_h1, %lw_h1, 1;");
    const std::uint32_t first = std::uint32_t(giver) * p_.rings.records * record_bytes;
    out_.line("mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %lw_p0, [%lw_h0+{}], %lw_h1;", first);
    out_.line("@!%lw_p0 bra lw_heard_{};", giver);
    out_.line("ld.shared.v2.b32 {{%lw_h1, %lw_h2}}, [%lw_h0+{}];", first + record_target);
    out_.line("st.shared.b32 [%lw_h0+{}], 0;", first + record_mask);
    out_.line("add.u32 %lw_hr{0}, %lw_hr{0}, 1;", giver);
    out_.line("sub.u32 %lw_hp, %lw_hp, 1;");
    out_.line("mov.u32 %lw_h0, %cluster_ctarank;");
    out_.line("and.b32 %lw_h3, %lw_h0, 1;");
    out_.line("shl.b32 %lw_h3, {}, %lw_h3;", 0x5555);
    out_.line("and.b32 %lw_h2, %lw_h2, %lw_h3;");
    out_.line("setp.eq.u32 %lw_p0, %lw_h2, 0;");
    out_.line("@%lw_p0 bra lw_heard_{};", giver);
    out_.line("shl.b32 %lw_h3, 1, %lw_h0;");
    out_.line("setp.ne.u32 %lw_p0, %lw_h2, %lw_h3;");
    out_.line("@%lw_p0 bra lw_elsewhere_{};", giver);
    out_.line("mapa.shared::cluster.u32 %lw_h1, %lw_h1, %lw_h0;");
    out_.line("mbarrier.arrive.shared::cta.b64 _, [%lw_h1];");
    out_.line("bra lw_heard_{};", giver);
    out_.line("lw_elsewhere_{}:", giver);
    out_.line("{{");
    arrive_in_each(out_, "%lw_h1", "%lw_h2", "release");
    out_.line("}}");
    out_.line("lw_heard_{}:", giver);
  }

  Text& out_;
  const Plan& p_;
  Duties duties_;
  int copies_;  // that are looked at in a round
};

}  // namespace

void declare_records(Text& out, const Plan& p) {
  out.line(".shared .align 16 .b8 lw_records[{}];", 2 * p.rings.records * record_bytes);
}

void make_records(Text& out, const Plan& p) {
  out.line("mov.b32 %lw_t0, lw_records;");
  for (std::uint32_t i = 0; i < 2 * p.rings.records; ++i) {
    out.line("mbarrier.init.shared::cta.b64 [%lw_t0+{}], 2;", i * record_bytes);
    out.line("st.shared.b32 [%lw_t0+{}], 0;", i * record_bytes + record_mask);
  }
}

void take_record(Text& out, const Plan& p, const char* to) {
  out.line("{{");
  out.line(".reg .b32 %lw_q<1>;");
  out.line("mov.b32 {}, lw_record_ticket;", to);
  out.line("atom.relaxed.cta.shared::cta.add.u32 {0}, [{0}], 1;", to);
  out.line("mov.u32 %lw_q0, %cluster_ctarank;");
  out.line("and.b32 %lw_q0, %lw_q0, 1;");
  out.line("and.b32 {0}, {0}, {1};", to, p.rings.records - 1);
  out.line("mad.lo.u32 {0}, %lw_q0, {1}, {0};", to, p.rings.records);
  out.line("}}");
}

void write_messengers(Text& out, const Plan& plan) {
  const bool shared = plan.service_warps == 2;
  out.line("lw_messenger:");
  Messenger(out, plan, shared ? outgoing : all_duties).write();
  if (!shared) return;
  out.line("lw_second_messenger:");
  Messenger(out, plan, incoming).write();
}

}  // namespace kiln::lower
