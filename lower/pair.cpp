#include "lower/pair.hpp"

#include "lower/columns.hpp"
#include "lower/messenger.hpp"
#include "lower/queue.hpp"

namespace kiln::lower {
namespace {

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

void declare_pair(Text& out, const Plan& p) {
  out.line(".shared .align 16 .b8 lw_mail[{}];", p.rings.mail * slot_bytes);
  declare_records(out, p);
  out.line(".shared .align 8 .b64 lw_given_full;");
  out.line(".shared .align 8 .b64 lw_given_empty;");
  for (const char* name : {"lw_record_ticket", "lw_ends", "lw_alloc_lock", "lw_allocs"})
    out.line(".shared .align 4 .b32 {};", name);
  out.line(".shared .align 4 .b8 lw_given[16];");  // a word, up to a multiple of 16 bytes of all this
}

void make_pair_barriers(Text& out, const Plan& p) {
  out.line("mov.b32 %lw_t0, lw_mail;");
  for (std::uint32_t i = 0; i < p.rings.mail; ++i) {
    for (const unsigned at : {slot_full, slot_empty})
      out.line("mbarrier.init.shared::cta.b64 [%lw_t0+{}], 1;", i * slot_bytes + at);
  }
  make_records(out, p);
  for (const char* name : {"lw_given_full", "lw_given_empty"}) out.line("mbarrier.init.shared::cta.b64 [{}], 1;", name);
  for (const char* name : {"lw_record_ticket", "lw_ends", "lw_alloc_lock", "lw_allocs"})
    out.line("st.shared.b32 [{}], 0;", name);
}

void push_to_pair(Text& out, const Plan& p, std::vector<std::string> words, const std::string& mbarrier,
                  const std::string& mask) {
  words.resize(mbarrier.empty() ? 6 : 3, "0");
  if (mbarrier.empty()) return push(out, p, words);
  out.line("{{");
  out.line(".reg .b32 %lw_e;");
  take_record(out, p, "%lw_e");
  words.insert(words.end(), {mbarrier, "%lw_e", mask});
  push(out, p, words);
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

void leave_pair(Text& out, const Plan& p, const char* left) {
  out.line("{{");
  out.line(".reg .b32 %lw_h;");
  push_to_pair(out, p, {std::to_string(close_command)}, "", "");
  out.line("atom.acq_rel.cta.shared::cta.inc.u32 %lw_h, [lw_ends], 1;");
  out.line("setp.eq.u32 %lw_p0, %lw_h, 0;");
  out.line("@%lw_p0 bra {};", left);
  out.line("}}");
}

}  // namespace kiln::lower
