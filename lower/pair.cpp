#include "lower/pair.hpp"

#include "lower/columns.hpp"
#include "lower/queue.hpp"

namespace kiln::lower {
namespace {

// A commit's counter is used again after so many commands. No more than the slots of a queue, those of the mail and one
// in the clerk's hands are under way, so that both engines are past it by then.
constexpr std::uint32_t counters = pair_counters;
static_assert(counters > queue_slots + mail_slots + 1);
constexpr unsigned quit_mail = unsigned(Command::quit) | flag_other;
constexpr SlotRing mail_ring{"lw_mail", mail_slots, slot_bytes};

// %lw_v0 to 3: a command; %lw_e0 and 1: its counter and its mask. A slot of the peer's is free when the clerk there has
// said so here, since nobody can wait at an mbarrier of another CTA.
void mail(Text& out) {
  out.line("{{");
  out.line(".reg .b32 %lw_q<4>;");
  out.line(".reg .pred %lw_wp;");
  out.line("mov.b32 %lw_q0, lw_mail_ticket;");
  out.line("atom.relaxed.cta.shared::cta.add.u32 %lw_q0, [%lw_q0], 1;");
  find_slot(out, mail_ring, "%lw_q0", "%lw_q1", "%lw_q2");
  out.line("xor.b32 %lw_q2, %lw_q2, 1;");
  wait_for(out, "%lw_q1", slot_empty, "%lw_q2", "lw_wait_mail", isa::Scope::cluster);
  find_peer(out, "%lw_q3");
  out.line("mapa.shared::cluster.u32 %lw_q1, %lw_q1, %lw_q3;");
  out.line("st.shared::cluster.v4.b32 [%lw_q1], {{%lw_v0, %lw_v1, %lw_v2, %lw_v3}};");
  out.line("st.shared::cluster.b32 [%lw_q1+{}], %lw_e0;", slot_counter);
  out.line("st.shared::cluster.b32 [%lw_q1+{}], %lw_e1;", slot_mask);
  out.line("add.u32 %lw_q1, %lw_q1, {};", slot_full);
  out.line("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%lw_q1];");
  out.line("}}");
}

void lock_allocation(Text& out) {
  out.line("mov.b32 %lw_a0, lw_alloc_lock;");
  out.line("lw_locked:");
  out.line("atom.acquire.cta.shared::cta.cas.b32 %lw_a1, [%lw_a0], 0, 1;");
  out.line("setp.ne.u32 %lw_p1, %lw_a1, 0;");
  out.line("@%lw_p1 bra lw_locked;");
  out.line("ld.shared.b32 %lw_a3, [lw_allocs];");
  out.line("add.u32 %lw_a1, %lw_a3, 1;");
  out.line("st.shared.b32 [lw_allocs], %lw_a1;");
  out.line("and.b32 %lw_a3, %lw_a3, 1;");
}

void wait_for_given(Text& out, const char* mbarrier, const char* label) {
  out.line("mov.b32 %lw_a1, {};", mbarrier);
  wait_for(out, "%lw_a1", 0, "%lw_a3", label, isa::Scope::cluster);
}

void arrive_in_peer(Text& out, const char* mbarrier) {
  out.line("mov.b32 %lw_a1, {};", mbarrier);
  out.line("mapa.shared::cluster.u32 %lw_a1, %lw_a1, %lw_a2;");
  out.line("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%lw_a1];");
}

}  // namespace

void find_peer(Text& out, const char* to) {
  out.line("mov.u32 {}, %cluster_ctarank;", to);
  out.line("xor.b32 {0}, {0}, 1;", to);
}

void declare_pair(Text& out) {
  out.line(".shared .align 16 .b8 lw_mail[{}];", mail_slots * slot_bytes);
  out.line(".shared .align 4 .b8 lw_counters[{}];", counters * 4);
  out.line(".shared .align 8 .b64 lw_given_full;");
  out.line(".shared .align 8 .b64 lw_given_empty;");
  for (const char* name : {"lw_mail_ticket", "lw_counter_ticket", "lw_ends", "lw_alloc_lock", "lw_allocs"})
    out.line(".shared .align 4 .b32 {};", name);
  out.line(".shared .align 4 .b8 lw_given[12];");  // a word, up to a multiple of 16 bytes of all this
}

void make_pair_barriers(Text& out) {
  out.line("mov.b32 %lw_t0, lw_mail;");
  for (std::uint32_t i = 0; i < mail_slots; ++i)
    for (const unsigned at : {slot_full, slot_empty})
      out.line("mbarrier.init.shared::cta.b64 [%lw_t0+{}], 1;", i * slot_bytes + at);
  out.line("mov.b32 %lw_t0, lw_counters;");
  for (std::uint32_t i = 0; i < counters; ++i) out.line("st.shared.b32 [%lw_t0+{}], 0;", 4 * i);
  for (const char* name : {"lw_given_full", "lw_given_empty"}) out.line("mbarrier.init.shared::cta.b64 [{}], 1;", name);
  for (const char* name : {"lw_mail_ticket", "lw_counter_ticket", "lw_ends", "lw_alloc_lock", "lw_allocs"})
    out.line("st.shared.b32 [{}], 0;", name);
}

void push_to_pair(Text& out, const std::vector<std::string>& words, const std::string& mbarrier,
                  const std::string& mask) {
  out.line("{{");
  out.line(".reg .b32 %lw_v<4>, %lw_e<2>;");
  for (std::size_t i = 0; i < 3; ++i) out.line("mov.b32 %lw_v{}, {};", i, i < words.size() ? words[i] : "0");
  out.line("mov.b32 %lw_v3, {};", mbarrier.empty() ? "0" : mbarrier);
  out.line("mov.b32 %lw_e1, {};", mask.empty() ? "0" : mask);
  out.line("mov.b32 %lw_e0, 0;");
  if (!mbarrier.empty()) {
    out.line("{{");
    out.line(".reg .b32 %lw_q<2>;");
    out.line("mov.b32 %lw_q0, lw_counter_ticket;");
    out.line("atom.relaxed.cta.shared::cta.add.u32 %lw_q0, [%lw_q0], 1;");
    out.line("and.b32 %lw_q0, %lw_q0, {};", counters - 1);
    out.line("mov.b32 %lw_q1, lw_counters;");
    out.line("mad.lo.u32 %lw_q1, %lw_q0, 4, %lw_q1;");
    out.line("mov.u32 %lw_q0, %cluster_ctarank;");
    out.line("mapa.shared::cluster.u32 %lw_e0, %lw_q1, %lw_q0;");
    out.line("}}");
  }
  mail(out);
  push(out, {"%lw_v0", "%lw_v1", "%lw_v2", "%lw_v3", "%lw_e0", "%lw_e1"});
  out.line("}}");
}

void allocate_in_pair(Text& out, const Plan& p, const std::string& columns, const std::string& to) {
  out.line("{{");
  out.line(".reg .b32 %lw_a<4>;");
  out.line(".reg .pred %lw_p1, %lw_wp;");
  lock_allocation(out);
  find_peer(out, "%lw_a2");
  out.line("and.b32 %lw_a1, %lw_a2, 1;");
  out.line("setp.eq.u32 %lw_p1, %lw_a1, 0;");
  out.line("@%lw_p1 bra lw_is_odd;");
  take_columns(out, p, columns, to);
  out.line("xor.b32 %lw_a3, %lw_a3, 1;");
  wait_for_given(out, "lw_given_empty", "lw_wait_taken");
  out.line("mov.b32 %lw_a1, lw_given;");
  out.line("mapa.shared::cluster.u32 %lw_a1, %lw_a1, %lw_a2;");
  out.line("st.shared::cluster.b32 [%lw_a1], {};", to);
  arrive_in_peer(out, "lw_given_full");
  out.line("bra lw_unlock;");
  out.line("lw_is_odd:");
  wait_for_given(out, "lw_given_full", "lw_wait_given");
  out.line("ld.shared.b32 {}, [lw_given];", to);
  arrive_in_peer(out, "lw_given_empty");
  out.line("lw_unlock:");
  out.line("atom.release.cta.shared::cta.exch.b32 %lw_a1, [%lw_a0], 0;");
  out.line("}}");
}

// Fences are slow, and so one stands for all that follow it.
void signal_for_pair(Text& out, const char* done) {
  out.line("ld.shared.b32 %lw_t1, [%lw_at+{}];", slot_counter);
  out.line("fence.acq_rel.cluster;");
  out.line("atom.relaxed.cluster.shared::cluster.inc.u32 %lw_t1, [%lw_t1], 1;");
  out.line("setp.eq.u32 %lw_p0, %lw_t1, 0;");
  out.line("@%lw_p0 bra {};", done);
  out.line("fence.acq_rel.cluster;");
  out.line("ld.shared.b32 %lw_t1, [%lw_at+12];");
  out.line("ld.shared.b32 %lw_t4, [%lw_at+{}];", slot_mask);
  arrive_in_each(out, "%lw_t1", "%lw_t4", "relaxed");
  out.line("bra {};", done);
}

void write_clerk(Text& out) {
  out.line("lw_clerk:");
  out.line("{{");
  out.line(".reg .b32 %lw_v<4>, %lw_e<2>, %lw_h<4>;");
  out.line(".reg .pred %lw_p<1>, %lw_wp;");
  out.line("mov.b32 %lw_h0, 0;");
  out.line("lw_next_mail:");
  find_slot(out, mail_ring, "%lw_h0", "%lw_h1", "%lw_h2");
  wait_for(out, "%lw_h1", slot_full, "%lw_h2", "lw_wait_arrival", isa::Scope::cluster);
  out.line("ld.shared.v4.b32 {{%lw_v0, %lw_v1, %lw_v2, %lw_v3}}, [%lw_h1];");
  out.line("ld.shared.b32 %lw_e0, [%lw_h1+{}];", slot_counter);
  out.line("ld.shared.b32 %lw_e1, [%lw_h1+{}];", slot_mask);
  find_peer(out, "%lw_h3");
  out.line("mapa.shared::cluster.u32 %lw_h1, %lw_h1, %lw_h3;");
  out.line("add.u32 %lw_h1, %lw_h1, {};", slot_empty);
  out.line("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%lw_h1];");
  out.line("add.u32 %lw_h0, %lw_h0, 1;");
  out.line("setp.eq.u32 %lw_p0, %lw_v0, {};", quit_mail);
  out.line("@%lw_p0 bra lw_no_more_mail;");
  push(out, {"%lw_v0", "%lw_v1", "%lw_v2", "%lw_v3", "%lw_e0", "%lw_e1"});
  out.line("bra lw_next_mail;");
  out.line("lw_no_more_mail:");
  out.line("atom.acq_rel.cta.shared::cta.inc.u32 %lw_h0, [lw_ends], 1;");
  out.line("setp.eq.u32 %lw_p0, %lw_h0, 0;");
  out.line("@%lw_p0 bra lw_serve_no_more;");
  push(out, {std::to_string(quit_mail)});
  out.line("bra lw_serve_no_more;");
  out.line("}}");
}

void leave_pair(Text& out, const char* left) {
  out.line("{{");
  out.line(".reg .b32 %lw_v<4>, %lw_e<2>, %lw_h;");
  out.line("mov.b32 %lw_v0, {};", quit_mail);
  for (const char* r : {"%lw_v1", "%lw_v2", "%lw_v3", "%lw_e0", "%lw_e1"}) out.line("mov.b32 {}, 0;", r);
  mail(out);
  out.line("atom.acq_rel.cta.shared::cta.inc.u32 %lw_h, [lw_ends], 1;");
  out.line("setp.eq.u32 %lw_p0, %lw_h, 0;");
  out.line("@%lw_p0 bra {};", left);
  out.line("}}");
}

}  // namespace kiln::lower
