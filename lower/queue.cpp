#include "lower/queue.hpp"

#include <bit>

namespace kiln::lower {

void find_slot(Text& out, const SlotRing& ring, const char* ticket, const char* slot, const char* parity) {
  out.line("mov.b32 {}, {};", slot, ring.name);
  out.line("and.b32 {}, {}, {};", parity, ticket, ring.slots - 1);
  out.line("mad.lo.u32 {0}, {1}, {2}, {0};", slot, parity, ring.bytes);
  out.line("shr.u32 {}, {}, {};", parity, ticket, std::countr_zero(ring.slots));
  out.line("and.b32 {0}, {0}, 1;", parity);
}

void wait_for(Text& out, const char* slot, unsigned offset, const char* parity, const char* label, isa::Scope scope) {
  out.line("{}:", label);
  out.line("mbarrier.try_wait.parity{}.shared::cta.b64 %lw_wp, [{}+{}], {};",
           scope == isa::Scope::cluster ? ".acquire.cluster" : "", slot, offset, parity);
  out.line("@!%lw_wp bra {};", label);
}

void arrive_in_each(Text& out, const char* mbarrier, const char* mask, const char* semantics) {
  out.line("lw_each:");
  out.line("bfind.u32 %lw_t2, {};", mask);
  out.line("mapa.shared::cluster.u32 %lw_t3, {}, %lw_t2;", mbarrier);
  out.line("mbarrier.arrive.{}.cluster.shared::cluster.b64 _, [%lw_t3];", semantics);
  out.line("shl.b32 %lw_t3, 1, %lw_t2;");
  out.line("xor.b32 {0}, {0}, %lw_t3;", mask);
  out.line("setp.ne.u32 %lw_p0, {}, 0;", mask);
  out.line("@%lw_p0 bra lw_each;");
}

std::vector<std::string> counted(const Plan& p, std::vector<std::string> words) {
  if (p.is_pair) words.resize(5, "0");
  return words;
}

void push(Text& out, const Plan& p, const std::vector<std::string>& words) {
  out.line("{{");
  out.line(".reg .b32 %lw_q<3>, %lw_n<4>;");
  out.line(".reg .pred %lw_wp;");
  for (std::size_t i = 0; i < 4; ++i) out.line("mov.b32 %lw_n{}, {};", i, i < words.size() ? words[i] : "0");
  out.line("mov.b32 %lw_q0, lw_ticket;");
  out.line("atom.relaxed.cta.shared::cta.add.u32 %lw_q0, [%lw_q0], 1;");
  find_slot(out, queue_ring(p), "%lw_q0", "%lw_q1", "%lw_q2");
  out.line("xor.b32 %lw_q2, %lw_q2, 1;");
  wait_for(out, "%lw_q1", slot_empty, "%lw_q2", "lw_wait_empty");
  out.line("st.shared.v4.b32 [%lw_q1], {{%lw_n0, %lw_n1, %lw_n2, %lw_n3}};");
  for (std::size_t i = 4; i < words.size(); ++i)
    out.line("st.shared.b32 [%lw_q1+{}], {};", slot_more + 4 * (i - 4), words[i]);
  out.line("mbarrier.arrive.shared::cta.b64 _, [%lw_q1+{}];", slot_full);
  out.line("}}");
}

}  // namespace kiln::lower
