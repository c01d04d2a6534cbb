#include "lower/rewrite/tensor_transfer.hpp"

#include <algorithm>

#include "lower/engine/image.hpp"
#include "ptx/isa/tmem.hpp"

namespace kiln::lower {
namespace {

using isa::DataShape;

// One register and the cell it is loaded from or stored to, relative to that of register 0 in this thread.
struct Cell {
  int lane = 0, column = 0;
};

class TensorTransfer {
 public:
  TensorTransfer(Builder& b, const Facts& f, const Plan& p, const ir::Operation& op)
      : b_(b),
        f_(f),
        image_(b, p),
        op_(op),
        shape_(op.modifiers.shape),
        loads_(isa::is_tensor_load(op.opcode)),
        reduces_(op.opcode == isa::Opcode::tcgen05_ld_red),
        address_at_(reduces_ ? 2
                    : loads_ ? 1
                             : 0) {}

  void write() {
    const std::vector<ir::Operand>& operands = op_.instruction->operands;
    const ir::Operand& held = loads_ ? operands[0] : operands.back();
    if (held.kind == ir::Operand::Kind::vector)
      for (const ir::Operand& o : held.items) held_.push_back(without_offset(o));
    else
      held_.push_back(without_offset(held));
    if (shape_ == DataShape::s16x32bx2) split_ = int(operands[address_at_ + 1].value);
    image_.find();
    column_ = word_of(b_, operands[address_at_]);
    find_lane();
    address_ = image_.address();
    const auto low = column_in_group();
    if (low && packs() == 1 && keeps_groups(*low))
      move_by_offsets(*low);
    else
      move_one_by_one();
    if (reduces_) reduce(operands[1]);
  }

 private:
  // The least or the greatest of what this thread has loaded.
  void reduce(const ir::Operand& to) {
    const isa::Modifiers& m = op_.modifiers;
    const std::string name = dotted({isa::spelling(m.combine), m.propagate_nan ? "NaN" : "", isa::spelling(m.type())});
    Register out{};
    for (std::size_t i = 0; i < held_.size(); ++i) {
      const Register one = b_.b32(m.absolute ? "abs.f32" : "mov.b32", held_[i]);
      if (i == 0)
        out = one;
      else
        b_.op(name, out, out, one);
    }
    b_.op("mov.b32", without_offset(to), out);
  }

  int packs() const { return op_.modifiers.pack_16b || op_.modifiers.unpack_16b ? 2 : 1; }

  Cell cell(int thread, int i) const {
    const isa::TmemAddress c = isa::fragment_cell(shape_, thread, i, split_ / packs());
    return {c.lane, c.column};
  }

  // The column of the address modulo 8, when it is known: allocations begin at multiples of 32.
  std::optional<int> column_in_group() const {
    const ir::Argument& address = ops::roles<ops::TmemAccess>(op_).address;
    const ir::Argument& base = address.kind == ir::Argument::Kind::address ? f_.code.components(address)[0] : address;
    const flow::Origin origin = f_.origins.of(base);
    if (!origin.is(flow::Origin::Base::slot) || !origin.added.knows(7) || !is_allocation(f_.origins.slots[origin.id]))
      return std::nullopt;
    return int(origin.added.one & 7);
  }

  bool is_allocation(const flow::Slot& slot) const {
    return std::any_of(f_.code.operations.begin(), f_.code.operations.end(), [&](const ir::Operation& op) {
      if (op.opcode != isa::Opcode::tcgen05_alloc) return false;
      const flow::Origin to = f_.origins.of(ops::roles<ops::TmemAllocation>(op).slot);
      return to.is(flow::Origin::Base::symbol) && to.exact() && flow::Slot{to.id, to.offset()} == slot;
    });
  }

  // No thread's column leaves the group of 8 in which that of thread 0 is, but by whole groups.
  bool keeps_groups(int low) const {
    if (shape_ == DataShape::s16x32bx2) return split_ % 8 == 0;
    for (int i = 0; i < int(held_.size()); ++i)
      for (int t = 0; t < 32; ++t) {
        const int first = low + cell(0, i).column, own = cell(t, 0).column;
        if (own % 8 != 0 && (first + own) / 8 != first / 8) return false;
      }
    return true;
  }

  // lane_: the thread's lane of the image, in bytes. The hardware gives a warp the lanes of its quarter, whatever the
  // address says. further_: the columns by which the thread's first cell is to the right of the address.
  void find_lane() {
    const Register thread = b_.b32("mov.u32", "%tid.x");
    lane_ = b_.b32("and.b32", thread, 96);
    b_.op("and.b32", thread, thread, 31);
    const Register of_address = b_.b32("shr.u32", column_, 16);
    b_.op("and.b32", of_address, of_address, 31);
    b_.op("add.u32", lane_, lane_, of_address);
    b_.op("and.b32", column_, column_, bits(0xffff));
    further_ = b_.reg(ScalarType::b32);
    find_own_cell(thread);
    b_.op("add.u32", lane_, lane_, thread);
    b_.op("and.b32", lane_, lane_, 127);
    b_.op("shl.b32", lane_, lane_, 5);
  }

  // further_, and in `thread` the thread's row.
  void find_own_cell(Register thread) {
    switch (shape_) {
      case DataShape::s16x64b: {
        b_.op("shr.u32", further_, thread, 1);
        b_.op("and.b32", further_, further_, 1);
        const Register odd = b_.b32("and.b32", thread, 1);
        b_.op("mad.lo.u32", lane_, odd, 8, lane_);
        return b_.op("shr.u32", thread, thread, 2);
      }
      case DataShape::s16x128b:
      case DataShape::s16x256b:
        b_.op("and.b32", further_, thread, 3);
        if (shape_ == DataShape::s16x256b) b_.op("shl.b32", further_, further_, 1);
        return b_.op("shr.u32", thread, thread, 2);
      case DataShape::s16x32bx2:
        b_.op("shr.u32", further_, thread, 4);
        b_.op("mul.lo.s32", further_, further_, split_);
        return b_.op("and.b32", thread, thread, 15);
      default: return b_.op("mov.b32", further_, 0);
    }
  }

  static int offset(int low, Cell c) {
    return c.lane * image_lane_bytes + (low + c.column) / 8 * image_group_bytes + (low + c.column) % 8 * 4;
  }

  // One address, and each register at a distance from it that is known.
  void move_by_offsets(int low) {
    b_.op("sub.u32", column_, column_, low);
    b_.op("mad.lo.u32", lane_, column_, image_group_bytes / 8, lane_);
    if (shape_ == DataShape::s16x32bx2)
      b_.op("mad.lo.s32", lane_, further_, image_group_bytes / 8, lane_);
    else
      b_.op("mad.lo.u32", lane_, further_, 4, lane_);
    image_.add(address_, lane_);
    const int count = int(held_.size());
    for (int i = 0; i < count;) {
      const int from = offset(low, cell(0, i));
      int together = 1;
      while (together < widest() && i + together < count && offset(low, cell(0, i + together)) == from + 4 * together)
        ++together;
      while (together == 3 || from % (4 * together) != 0) --together;
      move(i, together, from);
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

  void move(int first, int count, int from) {
    const auto begin = held_.begin() + first;
    const ir::Operand held = count == 1 ? *begin : ir::Operand::vector({begin, begin + count});
    if (loads_)
      b_.op(image_.load(count), held, at(address_, from));
    else
      b_.op(image_.store(count), at(address_, from), held);
  }

  // Every cell by an address of its own.
  void move_one_by_one() {
    const Registers halves = b_.regs(ScalarType::b32, 2);
    for (int i = 0; i < int(held_.size()); ++i) {
      const ir::Operand& held = held_[std::size_t(i)];
      for (int half = 0; half < packs(); ++half) {
        find(cell(0, i), half);
        if (packs() == 1)
          move(i, 1, 0);
        else if (loads_)
          b_.op(image_.load(), halves[std::size_t(half)], at(address_));
        else
          store_half(held, half, halves[0]);
      }
      if (loads_ && packs() == 2) b_.op("prmt.b32", held, halves[0], halves[1], bits(0x5410));
    }
  }

  void store_half(const ir::Operand& held, int half, Register scratch) {
    if (half)
      b_.op("shr.u32", scratch, held, 16);
    else
      b_.op("and.b32", scratch, held, bits(0xffff));
    b_.op(image_.store(), at(address_), scratch);
  }

  void find(Cell c, int half) {
    const Register column = b_.b32("mad.lo.s32", further_, shape_ == DataShape::s16x32bx2 ? 1 : packs(), column_);
    b_.op("add.u32", column, column, packs() * c.column + half);
    const Register place = b_.b32("shr.u32", column, 3);
    b_.op("and.b32", column, column, 7);
    b_.op("mad.lo.u32", place, place, image_group_bytes, lane_);
    b_.op("mad.lo.u32", place, column, 4, place);
    b_.op("add.u32", place, place, c.lane * image_lane_bytes);
    image_.add(address_, place);
  }

  Builder& b_;
  const Facts& f_;
  Image image_;
  const ir::Operation& op_;
  DataShape shape_;
  bool loads_, reduces_;
  std::size_t address_at_;
  int split_ = 0;
  std::vector<ir::Operand> held_{};  // the kernel's registers
  Register column_{}, lane_{}, further_{}, address_{};
};

}  // namespace

void write_tensor_transfer(Builder& b, const Facts& facts, const Plan& plan, const ir::Operation& op) {
  TensorTransfer(b, facts, plan, op).write();
}

}  // namespace kiln::lower
