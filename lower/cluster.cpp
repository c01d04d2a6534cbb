#include "lower/cluster.hpp"

#include "lower/queue.hpp"

namespace kiln::lower {
namespace {

// %lw_met, in each thread: the parity of the phase that it will wait for, and 2 from an arrival to its wait.
constexpr int has_arrived = 2;

void tell_all(Text& out) {
  out.line("neg.s32 %lw_x2, %lw_x2;");
  out.line("atom.relaxed.cluster.shared::cluster.add.u32 %lw_x2, [%lw_x1], %lw_x2;");
  out.line("mov.u32 %lw_x1, %cluster_nctarank;");
  out.line("mov.b32 %lw_x2, lw_cluster;");
  out.line("lw_each_cta:");
  out.line("sub.u32 %lw_x1, %lw_x1, 1;");
  out.line("mapa.shared::cluster.u32 %lw_x0, %lw_x2, %lw_x1;");
  out.line("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%lw_x0];");
  out.line("setp.ne.u32 %lw_p0, %lw_x1, 0;");
  out.line("@%lw_p0 bra lw_each_cta;");
}

// In CTA 0, lw_meeting: how many threads have come in its lower half, and how many there are in the upper one. Who
// makes the two the same tells all CTAs; nobody comes again before that. An mbarrier in each CTA that counts all
// threads would not do: one who is late for one of them could be taken for one who is early at the next phase.
constexpr int there_are = 16;

// One of the lanes that are here does it for all of them.
void count_lanes(Text& out, int each, bool whole_warp) {
  if (whole_warp)
    out.line("mov.b32 %lw_x0, 0xffffffff;");
  else
    out.line("activemask.b32 %lw_x0;");
  out.line("bar.warp.sync %lw_x0;");
  out.line("mov.u32 %lw_x1, %lanemask_lt;");
  out.line("and.b32 %lw_x1, %lw_x1, %lw_x0;");
  out.line("setp.ne.u32 %lw_p0, %lw_x1, 0;");
  out.line("@%lw_p0 bra lw_counted;");
  out.line("popc.b32 %lw_x0, %lw_x0;");
  out.line("mov.b32 %lw_x1, lw_meeting;");
  out.line("mapa.shared::cluster.u32 %lw_x1, %lw_x1, 0;");
  out.line("mul.lo.s32 %lw_x0, %lw_x0, {};", each);
  out.line("atom.acq_rel.cluster.shared::cluster.add.u32 %lw_x2, [%lw_x1], %lw_x0;");
  out.line("add.u32 %lw_x2, %lw_x2, %lw_x0;");
  out.line("shr.u32 %lw_x0, %lw_x2, {};", there_are);
  out.line("and.b32 %lw_x2, %lw_x2, 0xffff;");
  out.line("setp.ne.u32 %lw_p0, %lw_x0, %lw_x2;");
  out.line("@%lw_p0 bra lw_counted;");
  out.line("setp.eq.u32 %lw_p0, %lw_x2, 0;");
  out.line("@%lw_p0 bra lw_counted;");
  tell_all(out);
  out.line("lw_counted:");
}

void wait_for_phase(Text& out) {
  out.line("and.b32 %lw_x0, %lw_met, 1;");
  out.line("mov.b32 %lw_x2, lw_cluster;");
  wait_for(out, "%lw_x2", 0, "%lw_x0", "lw_wait_cluster", isa::Scope::cluster);
}

void declare_registers(Text& out) {
  out.line(".reg .b32 %lw_x<3>;");
  out.line(".reg .pred %lw_p<1>, %lw_wp;");
}

}  // namespace

void declare_cluster_barrier(Text& out) {
  out.line(".shared .align 8 .b64 lw_cluster;");
  out.line(".shared .align 4 .b8 lw_meeting[8];");  // a word, up to a multiple of 16 bytes of all this
  out.line(".reg .b32 %lw_met;");
  out.line("mov.b32 %lw_met, 0;");
}

void make_cluster_barrier(Text& out, const Plan& p) {
  out.line("{{");
  out.line(".reg .b32 %lw_x<2>;");
  out.line("mov.u32 %lw_x0, %cluster_nctarank;");
  out.line("mul.lo.u32 %lw_x0, %lw_x0, {};", p.threads << there_are);
  out.line("st.shared.b32 [lw_meeting], %lw_x0;");
  out.line("mov.b32 %lw_x1, lw_cluster;");
  out.line("mbarrier.init.shared::cta.b64 [%lw_x1], 1;");
  out.line("}}");
}

Text cluster_arrival(const ir::Operation& op) {
  Text out;
  declare_registers(out);
  count_lanes(out, 1, op.modifiers.aligned);
  out.line("or.b32 %lw_met, %lw_met, {};", has_arrived);
  return out;
}

Text cluster_wait(const ir::Operation& op) {
  Text out;
  declare_registers(out);
  wait_for_phase(out);
  out.line("xor.b32 %lw_met, %lw_x0, 1;");
  if (op.modifiers.aligned) out.line("bar.warp.sync 0xffffffff;");
  return out;
}

void leave_cluster_barrier(Text& out) {
  out.line("{{");
  declare_registers(out);
  out.line("and.b32 %lw_x0, %lw_met, {};", has_arrived);
  out.line("setp.eq.u32 %lw_p0, %lw_x0, 0;");
  out.line("@%lw_p0 bra lw_drop;");
  wait_for_phase(out);
  out.line("lw_drop:");
  count_lanes(out, -(1 << there_are), false);
  out.line("}}");
}

void meet_in_cluster(Text& out) {
  out.line("bar.warp.sync 0xffffffff;");
  out.line("barrier.cluster.arrive.release.aligned;");
  out.line("barrier.cluster.wait.acquire.aligned;");
}

void part_in_cluster(Text& out) {
  out.line("barrier.cluster.arrive.release;");
  out.line("barrier.cluster.wait.acquire;");
}

}  // namespace kiln::lower
