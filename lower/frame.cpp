// Where a lowered kernel begins and where it ends: the queue is made and the image found, then every warp goes to what
// it is for; the kernel's own threads come to the end where they would have left.
#include "lower/cluster.hpp"
#include "lower/engine.hpp"
#include "lower/forward.hpp"
#include "lower/messenger.hpp"
#include "lower/pair.hpp"
#include "lower/queue.hpp"

namespace kiln::lower {
namespace {

void make_queue(Text& out, const Plan& p) {
  out.line("mov.b32 %lw_t0, lw_queue;");
  for (std::uint32_t i = 0; i < p.rings.queue; ++i) {
    out.line("mbarrier.init.shared::cta.b64 [%lw_t0+{}], 1;", i * slot_bytes + slot_full);
    out.line("mbarrier.init.shared::cta.b64 [%lw_t0+{}], {};", i * slot_bytes + slot_empty,
             p.is_pair ? 1 : p.engine_warps);
    if (p.is_pair)
      out.line("mbarrier.init.shared::cta.b64 [%lw_t0+{}], {};", i * slot_bytes + slot_done, p.engine_warps);
    else
      out.line("st.shared.b32 [%lw_t0+{}], 0;", i * slot_bytes + slot_done);
  }
  for (const char* name : {"lw_ticket", "lw_exits", "lw_columns"}) out.line("st.shared.b32 [{}], 0;", name);
}

// A CTA takes the first image that is free, from one on that few others begin with.
void claim_image(Text& out, const Plan& p) {
  out.line("{{");
  out.line(".reg .b32 %lw_x<4>;");
  out.line(".reg .b64 %lw_at<2>;");
  out.line("mov.u32 %lw_x0, %ctaid.z;");
  out.line("mov.u32 %lw_x1, %nctaid.y;");
  out.line("mov.u32 %lw_x2, %ctaid.y;");
  out.line("mad.lo.u32 %lw_x0, %lw_x0, %lw_x1, %lw_x2;");
  out.line("mov.u32 %lw_x1, %nctaid.x;");
  out.line("mov.u32 %lw_x2, %ctaid.x;");
  out.line("mad.lo.u32 %lw_x0, %lw_x0, %lw_x1, %lw_x2;");
  out.line("mov.b64 %lw_at0, lw_taken;");
  out.line("lw_claim:");
  out.line("rem.u32 %lw_x0, %lw_x0, {};", p.slots);
  out.line("mad.wide.u32 %lw_at1, %lw_x0, 4, %lw_at0;");
  out.line("atom.acquire.gpu.global.cas.b32 %lw_x1, [%lw_at1], 0, 1;");
  out.line("mov.b32 %lw_x2, %lw_x0;");
  out.line("add.u32 %lw_x0, %lw_x0, 1;");
  out.line("setp.ne.u32 %lw_p0, %lw_x1, 0;");
  out.line("@%lw_p0 bra lw_claim;");
  out.line("st.shared.b32 [lw_slot], %lw_x2;");
  out.line("}}");
}

// Warps behind the kernel's own: a messenger each, and those that leave.
void send_messengers(Text& out, const Plan& p) {
  if (p.first_engine_thread == p.threads) return;
  out.line("setp.lt.u32 %lw_p0, %lw_t1, {};", p.threads);
  out.line("@%lw_p0 bra lw_begin;");
  const char* messengers[] = {"lw_messenger", "lw_second_messenger"};
  for (std::uint32_t i = 0; i < p.service_warps; ++i) {
    out.line("setp.eq.u32 %lw_p0, %lw_t1, {};", p.threads + 32 * i);
    out.line("@%lw_p0 bra {};", messengers[i]);
  }
  out.line("bra lw_left;");
  out.line("lw_begin:");
}

void declare_all(Text& out, const Plan& p) {
  out.line(".shared .align 16 .b8 lw_queue[{}];", p.rings.queue * slot_bytes + p.queue_padding());
  for (const char* name : {"lw_ticket", "lw_exits", "lw_columns", "lw_slot"})
    out.line(".shared .align 4 .b32 {};", name);
  if (p.parks()) out.line(".shared .align 16 .b8 lw_parked[{}];", p.parked_bytes());
  if (p.is_pair) declare_pair(out, p);
  if (p.forwards_copies()) declare_forwarding(out, p);
  if (p.has_cluster_barrier) declare_cluster_barrier(out);
}

void make_all(Text& out, const Plan& p) {
  make_queue(out, p);
  if (p.is_pair) make_pair_barriers(out, p);
  if (p.forwards_copies()) make_forwarding(out, p);
  if (p.has_cluster_barrier) make_cluster_barrier(out, p);
  if (p.meets_in_cluster()) out.line("fence.mbarrier_init.release.cluster;");
  if (p.image == Place::global) claim_image(out, p);
}

}  // namespace

void set_registers(Text& out, const Plan& p, std::uint32_t count) {
  if (count == 0 || count == p.first_registers()) return;
  out.line("setmaxnreg.{}.sync.aligned.u32 {};", count > p.first_registers() ? "inc" : "dec", count);
}

void declare_image(Text& out, const Plan& p) {
  if (p.image == Place::shared) return out.line(".extern .shared .align 1024 .b8 lw_dynamic[];");
  out.line(".global .align 1024 .b8 lw_memory[{}];", p.slots * p.image_bytes());
  out.line(".global .align 4 .b32 lw_taken[{}];", p.slots);
}

Text prologue(const Plan& p) {
  Text out;
  declare_all(out, p);
  out.line(".reg .pred %lw_p<2>;");
  out.line(".reg .b32 %lw_t<2>;");
  out.line("mov.u32 %lw_t1, %tid.x;");
  out.line("setp.ne.u32 %lw_p0, %lw_t1, 0;");
  out.line("@%lw_p0 bra lw_made;");
  make_all(out, p);
  out.line("lw_made:");
  if (p.meets_in_cluster())
    meet_in_cluster(out);
  else
    out.line("bar.sync 0;");
  out.line("setp.ge.u32 %lw_p0, %lw_t1, {};", p.first_engine_thread);
  out.line("@%lw_p0 bra lw_engine;");
  set_registers(out, p, p.other_registers);
  send_messengers(out, p);
  return out;
}

Text epilogue(const Plan& p) {
  Text out;
  out.line("lw_leave:");
  if (p.has_cluster_barrier) leave_cluster_barrier(out);
  out.line("mov.b32 %lw_t0, lw_exits;");
  out.line("atom.acq_rel.cta.shared::cta.inc.u32 %lw_t0, [%lw_t0], {};", p.threads - 1);
  out.line("setp.ne.u32 %lw_p0, %lw_t0, {};", p.threads - 1);
  out.line("@%lw_p0 bra lw_left;");
  if (p.forwards_copies()) leave_forwarding(out, p);
  if (p.is_pair) leave_pair(out, p, "lw_left");
  push(out, p, counted(p, {std::to_string(quit_command)}));
  out.line("lw_left:");
  out.line("ret;");
  if (p.is_pair) {
    write_messengers(out, p);
    out.line("lw_serve_no_more:");
    part_in_cluster(out);
    out.line("ret;");
  }
  write_engine(out, p);
  return out;
}

}  // namespace kiln::lower
