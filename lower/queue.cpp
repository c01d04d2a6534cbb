#include "lower/queue.hpp"

#include <bit>

namespace kiln::lower {

void find_slot(Text& out, const char* ticket, const char* slot8, const char* parity) {
  out.line("shr.u32 {}, {}, {};", parity, ticket, std::countr_zero(queue_slots));
  out.line("and.b32 {0}, {0}, 1;", parity);
  out.line("and.b32 {}, {}, {};", slot8, ticket, queue_slots - 1);
  out.line("shl.b32 {0}, {0}, 3;", slot8);
}

void wait_for(Text& out, const char* barrier, const char* parity, const char* label) {
  out.line("{}:", label);
  out.line("mbarrier.try_wait.parity.shared::cta.b64 %lw_wp, [{}], {};", barrier, parity);
  out.line("@!%lw_wp bra {};", label);
}

void push(Text& out, const std::vector<std::string>& words) {
  const bool long_one = words.size() > 4;
  out.line("{{");
  out.line(".reg .b32 %lw_q<4>, %lw_v<6>;");
  out.line(".reg .pred %lw_wp;");
  for (std::size_t i = 0; i < words.size(); ++i) out.line("mov.b32 %lw_v{}, {};", i, words[i]);
  for (std::size_t i = words.size(); i < (long_one ? 6 : 4); ++i) out.line("mov.b32 %lw_v{}, 0;", i);
  out.line("mov.b32 %lw_q0, lw_ticket;");
  out.line("atom.relaxed.cta.shared::cta.add.u32 %lw_q0, [%lw_q0], 1;");
  find_slot(out, "%lw_q0", "%lw_q1", "%lw_q2");
  out.line("xor.b32 %lw_q2, %lw_q2, 1;");
  out.line("mov.b32 %lw_q0, lw_barriers;");
  out.line("add.u32 %lw_q0, %lw_q0, %lw_q1;");
  out.line("add.u32 %lw_q3, %lw_q0, {};", 8 * queue_slots);
  wait_for(out, "%lw_q3", "%lw_q2", "lw_wait_empty");
  out.line("mov.b32 %lw_q3, lw_queue;");
  out.line("mad.lo.u32 %lw_q3, %lw_q1, {}, %lw_q3;", command_bytes / 8);
  out.line("st.shared.v4.b32 [%lw_q3], {{%lw_v0, %lw_v1, %lw_v2, %lw_v3}};");
  if (long_one) out.line("st.shared.v2.b32 [%lw_q3+16], {{%lw_v4, %lw_v5}};");
  out.line("mbarrier.arrive.shared::cta.b64 _, [%lw_q0];");
  out.line("}}");
}

}  // namespace kiln::lower
