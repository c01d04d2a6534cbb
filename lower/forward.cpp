#include "lower/forward.hpp"

#include <string>

#include "lower/messenger.hpp"
#include "lower/queue.hpp"

namespace kiln::lower {
namespace {

// In a slot: an mbarrier for the copy's bytes, one for when the slot is free, the target and the bytes.
constexpr unsigned at_full = 0, at_empty = 8, at_target = 16;
SlotRing ring(const Plan& p) { return {"lw_copies", p.rings.copies, copy_bytes}; }

void take_slot(Text& out, const Plan& p, const char* to, const std::string& target, std::uint64_t bytes) {
  out.line("{{");
  out.line(".reg .b32 %lw_q<3>;");
  out.line(".reg .pred %lw_wp;");
  out.line("mov.b32 %lw_q0, lw_copy_ticket;");
  out.line("atom.relaxed.cta.shared::cta.add.u32 %lw_q0, [%lw_q0], 1;");
  find_slot(out, ring(p), "%lw_q0", "%lw_q1", "%lw_q2");
  out.line("xor.b32 %lw_q2, %lw_q2, 1;");
  wait_for(out, "%lw_q1", at_empty, "%lw_q2", "lw_wait_copied");
  out.line("mov.b32 %lw_q0, {};", bytes);
  out.line("st.shared.v2.b32 [%lw_q1+{}], {{{}, %lw_q0}};", at_target, target);
  out.line("mov.b32 {}, %lw_q1;", to);
  out.line("}}");
}

}  // namespace

void declare_forwarding(Text& out, const Plan& p) {
  out.line(".shared .align 16 .b8 lw_copies[{}];", p.rings.copies * copy_bytes);
  out.line(".shared .align 4 .b8 lw_copy_ticket[16];");  // a word, up to a multiple of 16 bytes
}

void make_forwarding(Text& out, const Plan& p) {
  out.line("mov.b32 %lw_t0, lw_copies;");
  for (std::uint32_t i = 0; i < p.rings.copies; ++i)
    for (const unsigned at : {at_full, at_empty})
      out.line("mbarrier.init.shared::cta.b64 [%lw_t0+{}], 1;", i * copy_bytes + at);
  out.line("st.shared.b32 [lw_copy_ticket], 0;");
}

Text branch_if_elsewhere() {
  Text out;
  out.line("getctarank.shared::cluster.u32 %lw_g1, %lw_g0;");
  out.line("mov.u32 %lw_g2, %cluster_ctarank;");
  out.line("setp.ne.u32 %lw_p0, %lw_g1, %lw_g2;");
  out.line("@%lw_p0 bra lw_elsewhere;");
  return out;
}

Text copy_elsewhere(const Plan& p, std::uint64_t bytes) {
  Text out;
  out.line("bra lw_copied;");
  out.line("lw_elsewhere:");
  take_slot(out, p, "%lw_g1", "%lw_g0", bytes);
  out.line("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%lw_g1], {};", bytes);
  return out;
}

Text copied() {
  Text out;
  out.line("lw_copied:");
  return out;
}

void leave_forwarding(Text& out, const Plan& p) {
  out.line("{{");
  out.line(".reg .b32 %lw_g<2>;");
  out.line("mov.b32 %lw_g0, 0;");
  take_slot(out, p, "%lw_g1", "%lw_g0", 0);
  out.line("mbarrier.arrive.shared::cta.b64 _, [%lw_g1];");
  out.line("}}");
}

void take_copy(Text& out, const Plan& p, const char* ticket, const std::string& target, const std::string& bytes,
               const std::string& label) {
  out.line("mov.b32 {}, 0;", bytes);
  find_slot(out, ring(p), ticket, "%lw_h0", "%lw_h1");
  out.line("mbarrier.test_wait.parity.shared::cta.b64 %lw_p0, [%lw_h0+{}], %lw_h1;", at_full);
  out.line("@!%lw_p0 bra {};", label);
  out.line("ld.shared.v2.b32 {{{}, {}}}, [%lw_h0+{}];", target, bytes, at_target);
  out.line("mbarrier.arrive.shared::cta.b64 _, [%lw_h0+{}];", at_empty);
  out.line("add.u32 {0}, {0}, 1;", ticket);
  out.line("setp.eq.u32 %lw_p0, {}, 0;", bytes);
  out.line("@%lw_p0 or.b32 %lw_hn, %lw_hn, {};", no_more_copies);
  out.line("{}:", label);
}

void forward_copy(Text& out, const std::string& target, const std::string& bytes) {
  out.line("setp.ne.u32 %lw_p0, {}, 0;", bytes);
  out.line("@%lw_p0 mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [{}], {};", target, bytes);
}

}  // namespace kiln::lower
