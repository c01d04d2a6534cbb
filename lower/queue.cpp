#include "lower/queue.hpp"

#include <bit>

namespace kiln::lower {

void wait_for(Text& out, const char* slot, unsigned offset, const char* parity, const char* label) {
  out.line("{}:", label);
  out.line("mbarrier.try_wait.parity.shared::cta.b64 %lw_wp, [{}+{}], {};", slot, offset, parity);
  out.line("@!%lw_wp bra {};", label);
}

void push(Text& out, const std::vector<std::string>& words) {
  out.line("{{");
  out.line(".reg .b32 %lw_q<3>, %lw_n<4>;");
  out.line(".reg .pred %lw_wp;");
  for (std::size_t i = 0; i < 4; ++i) out.line("mov.b32 %lw_n{}, {};", i, i < words.size() ? words[i] : "0");
  out.line("mov.b32 %lw_q0, lw_ticket;");
  out.line("atom.relaxed.cta.shared::cta.add.u32 %lw_q0, [%lw_q0], 1;");
  out.line("mov.b32 %lw_q1, lw_queue;");
  out.line("and.b32 %lw_q2, %lw_q0, {};", queue_slots - 1);
  out.line("mad.lo.u32 %lw_q1, %lw_q2, {}, %lw_q1;", slot_bytes);
  out.line("shr.u32 %lw_q2, %lw_q0, {};", std::countr_zero(queue_slots));
  out.line("and.b32 %lw_q2, %lw_q2, 1;");
  out.line("xor.b32 %lw_q2, %lw_q2, 1;");
  wait_for(out, "%lw_q1", slot_empty, "%lw_q2", "lw_wait_empty");
  out.line("st.shared.v4.b32 [%lw_q1], {{%lw_n0, %lw_n1, %lw_n2, %lw_n3}};");
  for (std::size_t i = 4; i < words.size(); ++i)
    out.line("st.shared.b32 [%lw_q1+{}], {};", slot_more + 4 * (i - 4), words[i]);
  out.line("mbarrier.arrive.shared::cta.b64 _, [%lw_q1+{}];", slot_full);
  out.line("}}");
}

}  // namespace kiln::lower
