// tcgen05.ld and tcgen05.st as loads and stores of the image.
#include "lower/rewrite.hpp"

#include <algorithm>

#include "lower/engine.hpp"
#include "ptx/isa/tmem.hpp"

namespace kiln::lower {
namespace {

using isa::DataShape;

// One register and the cell it is loaded from or stored to, relative to that of register 0 in this thread.
struct Cell {
  int lane = 0, column = 0;
};

class Transfer {
 public:
  Transfer(Text& out, const Facts& f, const Plan& p, const ir::Operation& op)
      : out_(out), f_(f), image_(p), op_(op), shape_(op.modifiers.shape), loads_(isa::is_tensor_load(op.opcode)) {}

  void write() {
    const ir::Instruction& instruction = *op_.instruction;
    const ir::Operand& address = instruction.operands[address_at()];
    const ir::Operand& registers = instruction.operands.back();
    const ir::Operand& held = loads_ ? instruction.operands[0] : registers;
    names_.clear();
    if (held.kind == ir::Operand::Kind::vector)
      for (const ir::Operand& o : held.items) names_.push_back(text(o));
    else
      names_.push_back(text(held));
    if (shape_ == DataShape::s16x32bx2) split_ = int(instruction.operands[address_at() + 1].value);
    out_.line(".reg .b32 %lw_x<6>;");
    out_.line(".reg .{} %lw_at;", image_.reg());
    image_.find(out_);
    move_to(out_, "%lw_x0", address);
    own_row();
    const auto low = column_in_group();
    if (low && packs() == 1 && keeps_groups(*low))
      by_offsets(*low);
    else
      one_by_one();
    if (reduces()) reduce(text(instruction.operands[1]));
  }

 private:
  bool reduces() const { return op_.opcode == isa::Opcode::tcgen05_ld_red; }
  std::size_t address_at() const { return reduces() ? 2 : loads_ ? 1 : 0; }

  // The least or the greatest of what this thread has loaded.
  void reduce(const std::string& to) {
    const isa::Modifiers& m = op_.modifiers;
    const std::string op =
        fmt::format("{}{}.{}", isa::spelling(m.combine), m.propagate_nan ? ".NaN" : "", isa::spelling(m.type()));
    out_.line(".reg .b32 %lw_z<2>;");
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const char* one = i == 0 ? "%lw_z0" : "%lw_z1";
      out_.line("{} {}, {};", m.absolute ? "abs.f32" : "mov.b32", one, names_[i]);
      if (i != 0) out_.line("{} %lw_z0, %lw_z0, %lw_z1;", op);
    }
    out_.line("mov.b32 {}, %lw_z0;", to);
  }

  int packs() const { return op_.modifiers.pack_16b || op_.modifiers.unpack_16b ? 2 : 1; }

  Cell cell(int thread, int i) const {
    const isa::TmemAddress c = isa::fragment_cell(shape_, thread, i, split_ / packs());
    return {c.lane, c.column};
  }

  // The column of the address modulo 8, when it is known: allocations begin at multiples of 32.
  std::optional<int> column_in_group() const {
    const ir::Argument& address = op_.arguments[address_at()];
    const ir::Argument& base = address.kind == ir::Argument::Kind::address ? f_.code.components(address)[0] : address;
    const flow::Origin origin = f_.origins.of(base);
    if (!origin.is(flow::Origin::Base::slot) || !origin.added.knows(7) || !is_allocation(f_.origins.slots[origin.id]))
      return std::nullopt;
    return int(origin.added.one & 7);
  }

  bool is_allocation(const flow::Slot& slot) const {
    return std::any_of(f_.code.operations.begin(), f_.code.operations.end(), [&](const ir::Operation& op) {
      if (op.opcode != isa::Opcode::tcgen05_alloc) return false;
      const flow::Origin to = f_.origins.of(op.arg(0));
      return to.is(flow::Origin::Base::symbol) && to.exact() && flow::Slot{to.id, to.offset()} == slot;
    });
  }

  // No thread's column leaves the group of 8 in which that of thread 0 is, but by whole groups.
  bool keeps_groups(int low) const {
    if (shape_ == DataShape::s16x32bx2) return split_ % 8 == 0;
    for (int i = 0; i < int(names_.size()); ++i)
      for (int t = 0; t < 32; ++t) {
        const int first = low + cell(0, i).column, own = cell(t, 0).column;
        if (own % 8 != 0 && (first + own) / 8 != first / 8) return false;
      }
    return true;
  }

  // %lw_x1: the thread's lane of the image. The hardware gives a warp the lanes of its quarter, whatever the address
  // says. %lw_x2: the columns by which the thread's first cell is to the right of the address.
  void own_row() {
    out_.line("mov.u32 %lw_x3, %tid.x;");
    out_.line("and.b32 %lw_x1, %lw_x3, 96;");
    out_.line("and.b32 %lw_x3, %lw_x3, 31;");
    out_.line("shr.u32 %lw_x4, %lw_x0, 16;");
    out_.line("and.b32 %lw_x4, %lw_x4, 31;");
    out_.line("add.u32 %lw_x1, %lw_x1, %lw_x4;");
    out_.line("and.b32 %lw_x0, %lw_x0, 0xffff;");
    switch (shape_) {
      case DataShape::s16x64b:
        out_.line("shr.u32 %lw_x2, %lw_x3, 1;");
        out_.line("and.b32 %lw_x2, %lw_x2, 1;");
        out_.line("and.b32 %lw_x4, %lw_x3, 1;");
        out_.line("mad.lo.u32 %lw_x1, %lw_x4, 8, %lw_x1;");
        out_.line("shr.u32 %lw_x3, %lw_x3, 2;");
        break;
      case DataShape::s16x128b:
      case DataShape::s16x256b:
        out_.line("and.b32 %lw_x2, %lw_x3, 3;");
        if (shape_ == DataShape::s16x256b) out_.line("shl.b32 %lw_x2, %lw_x2, 1;");
        out_.line("shr.u32 %lw_x3, %lw_x3, 2;");
        break;
      case DataShape::s16x32bx2:
        out_.line("shr.u32 %lw_x2, %lw_x3, 4;");
        out_.line("mul.lo.s32 %lw_x2, %lw_x2, {};", split_);
        out_.line("and.b32 %lw_x3, %lw_x3, 15;");
        break;
      default: out_.line("mov.b32 %lw_x2, 0;");
    }
    out_.line("add.u32 %lw_x1, %lw_x1, %lw_x3;");
    out_.line("and.b32 %lw_x1, %lw_x1, 127;");
    out_.line("shl.b32 %lw_x1, %lw_x1, 5;");
  }

  static int offset(int low, Cell c) {
    return c.lane * image_lane_bytes + (low + c.column) / 8 * image_group_bytes + (low + c.column) % 8 * 4;
  }

  // One address, and each register at a distance from it that is known.
  void by_offsets(int low) {
    out_.line("sub.u32 %lw_x0, %lw_x0, {};", low);
    out_.line("mad.lo.u32 %lw_x1, %lw_x0, {}, %lw_x1;", image_group_bytes / 8);
    if (shape_ == DataShape::s16x32bx2)
      out_.line("mad.lo.s32 %lw_x1, %lw_x2, {}, %lw_x1;", image_group_bytes / 8);
    else
      out_.line("mad.lo.u32 %lw_x1, %lw_x2, 4, %lw_x1;");
    image_.add(out_, "%lw_at", "%lw_x1");
    const int count = int(names_.size());
    for (int i = 0; i < count;) {
      const int at = offset(low, cell(0, i));
      int together = 1;
      while (together < widest() && i + together < count && offset(low, cell(0, i + together)) == at + 4 * together)
        ++together;
      while (together == 3 || at % (4 * together) != 0) --together;
      move(i, together, at);
      i += together;
    }
  }

  // Threads whose first cells are not 16 bytes apart have no vectors of four.
  int widest() const {
    switch (shape_) {
      case DataShape::s16x256b: return 2;
      case DataShape::s16x64b:
      case DataShape::s16x128b: return 1;
      default: return 4;
    }
  }

  void move(int first, int count, int at) {
    std::string held = names_[std::size_t(first)];
    for (int i = 1; i < count; ++i) held += ", " + names_[std::size_t(first + i)];
    if (count > 1) held = "{" + held + "}";
    const std::string vector = count > 1 ? fmt::format(".v{}", count) : "";
    if (loads_)
      out_.line("ld.{}{}.b32 {}, [%lw_at+{}];", image_.space(), vector, held, at);
    else
      out_.line("st.{}{}.b32 [%lw_at+{}], {};", image_.space(), vector, at, held);
  }

  // Every cell by an address of its own.
  void one_by_one() {
    out_.line(".reg .b32 %lw_y<2>;");
    for (int i = 0; i < int(names_.size()); ++i) {
      const std::string& name = names_[std::size_t(i)];
      for (int half = 0; half < packs(); ++half) {
        find(cell(0, i), half);
        if (loads_)
          out_.line("ld.{}.b32 {}, [%lw_at];", image_.space(), packs() == 1 ? name : fmt::format("%lw_y{}", half));
        else if (packs() == 1)
          out_.line("st.{}.b32 [%lw_at], {};", image_.space(), name);
        else {
          if (half)
            out_.line("shr.u32 %lw_y0, {}, 16;", name);
          else
            out_.line("and.b32 %lw_y0, {}, 0xffff;", name);
          out_.line("st.{}.b32 [%lw_at], %lw_y0;", image_.space());
        }
      }
      if (loads_ && packs() == 2) out_.line("prmt.b32 {}, %lw_y0, %lw_y1, 0x5410;", name);
    }
  }

  void find(Cell c, int half) {
    out_.line("mad.lo.s32 %lw_x3, %lw_x2, {}, %lw_x0;", shape_ == DataShape::s16x32bx2 ? 1 : packs());
    out_.line("add.u32 %lw_x3, %lw_x3, {};", packs() * c.column + half);
    out_.line("shr.u32 %lw_x4, %lw_x3, 3;");
    out_.line("and.b32 %lw_x3, %lw_x3, 7;");
    out_.line("mad.lo.u32 %lw_x4, %lw_x4, {}, %lw_x1;", image_group_bytes);
    out_.line("mad.lo.u32 %lw_x4, %lw_x3, 4, %lw_x4;");
    out_.line("add.u32 %lw_x4, %lw_x4, {};", c.lane * image_lane_bytes);
    image_.add(out_, "%lw_at", "%lw_x4");
  }

  Text& out_;
  const Facts& f_;
  ImageAccess image_;
  const ir::Operation& op_;
  DataShape shape_;
  bool loads_;
  int split_ = 0;
  std::vector<std::string> names_{};
};

}  // namespace

Text tensor_transfer(const Facts& facts, const Plan& plan, const ir::Operation& op) {
  Text out;
  Transfer(out, facts, plan, op).write();
  return out;
}

}  // namespace kiln::lower
