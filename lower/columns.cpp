#include "lower/columns.hpp"

namespace kiln::lower {
namespace {

const char* scope(const Plan& p) { return p.is_pair ? "cluster" : "cta"; }

// %lw_y6: the columns that are taken, of word %lw_y2; of a pair, in either CTA.
void find_taken(Text& out, const Plan& p) {
  if (!p.is_pair) return out.line("mov.b32 %lw_y6, %lw_y2;");
  out.line("shr.u32 %lw_y6, %lw_y2, 16;");
  out.line("or.b32 %lw_y6, %lw_y6, %lw_y2;");
  out.line("and.b32 %lw_y6, %lw_y6, 0xffff;");
}

}  // namespace

void take_columns(Text& out, const Plan& p, const std::string& columns, const std::string& to) {
  out.line("{{");
  out.line(".reg .b32 %lw_y<7>;");
  out.line(".reg .pred %lw_yp;");
  out.line("shr.u32 %lw_y0, {}, 5;", columns);
  out.line("shl.b32 %lw_y1, 1, %lw_y0;");
  out.line("sub.u32 %lw_y1, %lw_y1, 1;");
  out.line("lw_look:");
  out.line("ld.relaxed.{}.shared::cta.b32 %lw_y2, [lw_columns];", scope(p));
  find_taken(out, p);
  out.line("mov.b32 %lw_y3, 0;");
  out.line("lw_fit:");
  out.line("shl.b32 %lw_y4, %lw_y1, %lw_y3;");
  out.line("and.b32 %lw_y5, %lw_y4, %lw_y6;");
  out.line("setp.eq.u32 %lw_yp, %lw_y5, 0;");
  out.line("@%lw_yp bra lw_take;");
  out.line("add.u32 %lw_y3, %lw_y3, 1;");
  out.line("add.u32 %lw_y5, %lw_y3, %lw_y0;");
  out.line("setp.le.u32 %lw_yp, %lw_y5, {};", p.columns / 32);
  out.line("@%lw_yp bra lw_fit;");
  out.line("bra lw_look;");
  out.line("lw_take:");
  if (p.is_pair) {
    out.line("shl.b32 %lw_y5, %lw_y4, 16;");
    out.line("or.b32 %lw_y4, %lw_y4, %lw_y5;");
  }
  out.line("or.b32 %lw_y4, %lw_y4, %lw_y2;");
  out.line("atom.acquire.{}.shared::cta.cas.b32 %lw_y5, [lw_columns], %lw_y2, %lw_y4;", scope(p));
  out.line("setp.ne.u32 %lw_yp, %lw_y5, %lw_y2;");
  out.line("@%lw_yp bra lw_look;");
  out.line("shl.b32 {}, %lw_y3, 5;", to);
  out.line("}}");
}

void free_columns(Text& out, const Plan& p, const std::string& mask) {
  if (p.is_pair) {
    out.line("mov.u32 %lw_t0, %cluster_ctarank;");
    out.line("and.b32 %lw_t1, %lw_t0, 1;");
    out.line("shl.b32 %lw_t1, %lw_t1, 4;");
    out.line("shl.b32 {0}, {0}, %lw_t1;", mask);
  }
  out.line("not.b32 {0}, {0};", mask);
  out.line("mov.b32 %lw_t1, lw_columns;");
  if (p.is_pair) {
    out.line("and.b32 %lw_t0, %lw_t0, 0xfffffffe;");
    out.line("mapa.shared::cluster.u32 %lw_t1, %lw_t1, %lw_t0;");
  }
  out.line("atom.release.{0}.shared::{0}.and.b32 %lw_t0, [%lw_t1], {1};", scope(p), mask);
}

}  // namespace kiln::lower
