// tcgen05.cp as a command of the engine: rows of shared memory, as a matrix descriptor says where they lie, into the
// image.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "lower/engine.hpp"
#include "lower/operand.hpp"
#include "ptx/isa/tmem.hpp"

namespace kiln::lower {
namespace {

using isa::DataShape;
using rules::Limit;

// By 16 bytes: those of a row, and of how many lanes.
struct Extent {
  int lanes = 0;
  int pieces = 0;
};
Extent extent(DataShape s) {
  switch (s) {
    case DataShape::s128x256b: return {isa::tmem_lanes, 2};
    case DataShape::s4x256b: return {4, 2};
    default: return {isa::tmem_lanes, 1};
  }
}

// Each thread of the engine moves 16 bytes of one lane at a time, so that what is multicast is read as often as it is
// written.
class CopyCode {
 public:
  CopyCode(Text& out, const Plan& p, const Copy& copy) : out_(out), p_(p), copy_(copy), image_(p) {}

  void write(std::size_t number) {
    const Extent e = extent(copy_.shape);
    const int threads = int(p_.engine_warps) * 32;
    out_.line("{{");
    out_.line(".reg .b32 %lw_x<7>, %lw_v<4>;");
    out_.line(".reg .{} %lw_at;", image_.reg());
    image_.find(out_);
    out_.line("and.b32 %lw_x6, %lw_c1, 0xffff;");
    for (int first = 0; first < e.lanes * e.pieces; first += threads) {
      const std::string done = fmt::format("lw_copied_{}_{}", number, first);
      out_.line("mov.b32 %lw_x0, %lw_id;");
      if (first) out_.line("add.u32 %lw_x0, %lw_x0, {};", first);
      out_.line("setp.ge.u32 %lw_p0, %lw_x0, {};", e.lanes * e.pieces);
      out_.line("@%lw_p0 bra {};", done);
      out_.line("shr.u32 %lw_x1, %lw_x0, {};", std::countr_zero(unsigned(e.lanes)));
      out_.line("and.b32 %lw_x0, %lw_x0, {};", e.lanes - 1);
      load();
      store();
      out_.line("{}:", done);
    }
    out_.line("}}");
  }

 private:
  // %lw_x2: the row that goes to lane %lw_x0.
  void find_row() {
    switch (copy_.shape) {
      case DataShape::s32x128b: return out_.line("and.b32 %lw_x2, %lw_x0, 31;");
      case DataShape::s64x128b:
        if (copy_.multicast == isa::CpMulticast::warpx2_02_13) return out_.line("and.b32 %lw_x2, %lw_x0, 63;");
        out_.line("and.b32 %lw_x2, %lw_x0, 31;");
        out_.line("shr.u32 %lw_x3, %lw_x0, 6;");
        return out_.line("mad.lo.u32 %lw_x2, %lw_x3, 32, %lw_x2;");
      default: return out_.line("mov.b32 %lw_x2, %lw_x0;");
    }
  }

  void load() {
    const Layout& l = copy_.from;
    find_row();
    out_.line("and.b32 %lw_x4, %lw_c2, 0x3fff;");
    out_.line("shl.b32 %lw_x4, %lw_x4, 4;");
    if (p_.has_clusters) {  // a descriptor has an offset, whose CTA an address in a cluster names
      out_.line("mov.u32 %lw_x3, %cluster_ctarank;");
      out_.line("mapa.shared::cluster.u32 %lw_x4, %lw_x4, %lw_x3;");
    }
    out_.line("and.b32 %lw_x3, %lw_x2, 7;");
    out_.line("mad.lo.u32 %lw_x4, %lw_x3, {}, %lw_x4;", isa::span_bytes(*l.swizzle));
    out_.line("shr.u32 %lw_x3, %lw_x2, 3;");
    out_.line("mad.lo.u32 %lw_x4, %lw_x3, {}, %lw_x4;", *l.stride);
    out_.line("mad.lo.u32 %lw_x4, %lw_x1, {}, %lw_x4;", *l.swizzle == isa::Swizzle::none ? *l.leading : 16);
    write_exchange(out_, l, "%lw_x4", "%lw_x3");
    out_.line("ld.shared.v4.b32 {{%lw_v0, %lw_v1, %lw_v2, %lw_v3}}, [%lw_x4];");
  }

  // Four cells of a lane. Those whose column is a multiple of four lie in a row.
  void store() {
    if (copy_.shape == DataShape::s4x256b) {
      out_.line("shl.b32 %lw_x0, %lw_x0, 5;");
      out_.line("shr.u32 %lw_x3, %lw_c1, 16;");
      out_.line("add.u32 %lw_x0, %lw_x0, %lw_x3;");
      out_.line("and.b32 %lw_x0, %lw_x0, 127;");
    }
    out_.line("mul.lo.u32 %lw_x0, %lw_x0, {};", image_lane_bytes);
    out_.line("mad.lo.u32 %lw_x1, %lw_x1, 4, %lw_x6;");
    out_.line("and.b32 %lw_x3, %lw_x1, 3;");
    out_.line("setp.eq.u32 %lw_p0, %lw_x3, 0;");
    for (int i = 0; i < 4; ++i) {
      write_cell_address(out_, image_, "%lw_at", "%lw_x1", "%lw_x0", "%lw_x3");
      if (i == 0) out_.line("@%lw_p0 st.{}.v4.b32 [%lw_at], {{%lw_v0, %lw_v1, %lw_v2, %lw_v3}};", image_.space());
      out_.line("@!%lw_p0 st.{}.b32 [%lw_at], %lw_v{};", image_.space(), i);
      if (i != 3) out_.line("add.u32 %lw_x1, %lw_x1, 1;");
    }
  }

  Text& out_;
  const Plan& p_;
  const Copy& copy_;
  ImageAccess image_;
};

}  // namespace

bool find_copies(const Facts& facts, Plan& plan) {
  bool good = true;
  for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
    const ir::Operation& op = facts.code.operations[i];
    if (op.opcode != isa::Opcode::tcgen05_cp) continue;
    if (op.modifiers.cp_source_format != isa::CpSourceFormat::none) {
      good = facts.refuse(Limit::lower_unsupported, "tcgen05.cp with decompression", op);
      continue;
    }
    const Copy copy{op.modifiers.shape, op.modifiers.cp_multicast, layout_of(facts, op.arg(1), isa::Major::K)};
    const Layout& l = copy.from;
    if (!l.swizzle || !l.stride || !l.leading || !l.base_offset) {
      good = facts.refuse(Limit::lower_descriptor, "", op);
      continue;
    }
    const auto found = std::find(plan.copies.begin(), plan.copies.end(), copy);
    plan.copied[i] = std::size_t(found - plan.copies.begin());
    if (found == plan.copies.end()) plan.copies.push_back(copy);
  }
  return good;
}

void write_copy(Text& out, const Plan& plan, std::size_t number) {
  CopyCode(out, plan, plan.copies[number]).write(number);
}

}  // namespace kiln::lower
