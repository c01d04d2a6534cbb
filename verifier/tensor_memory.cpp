#include "verifier/tensor_memory.hpp"

#include <bit>

#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "verifier/allocation.hpp"
#include "verifier/finding.hpp"
#include "verifier/mma.hpp"

namespace kiln::verifier {
namespace {

using flow::Bits;
using flow::Origin;
using isa::Opcode;

constexpr std::uint64_t column_bits = 0xFFFF, lane_bits = std::uint64_t{isa::tmem_lanes - 1} << 16;

// The part of tensor memory that an operand names.
struct Footprint {
  const ir::Argument* address = nullptr;
  int columns = 1;
  bool has_data_shape = false;  // of ld and st, whose lane depends on the warp
};

struct Allocation {
  flow::Slot slot{};
  std::optional<std::int64_t> columns{};
};

class TensorMemory {
 public:
  explicit TensorMemory(const Facts& facts) : facts_(facts), sites_(alloc_sites(facts)) {
    closed_ = facts.function.entry && !calls_allocator(facts);
    total_ = 0;
    for (const AllocSite& s : sites_) {
      if (s.event != rules::AllocEvent::alloc) continue;
      const ir::Operation& op = facts.code.operations[s.operation];
      const Origin slot = facts.origins.of(op.arguments[0]);
      if (slot.is(Origin::Base::symbol) && slot.exact())
        allocations_.push_back({{slot.id, slot.offset()}, s.columns});
      else
        slots_are_known_ = false;
      total_ = total_ && s.columns ? std::optional(*total_ + *s.columns) : std::nullopt;
    }
  }

  void check() {
    for (std::uint32_t i = 0; i < facts_.code.operations.size(); ++i) {
      const ir::Operation& op = facts_.code.operations[i];
      if (isa::unit(op.opcode) != isa::Unit::tcgen05 || !facts_.is_formed(op)) continue;
      for (const Footprint& f : footprints(op)) {
        if (check_columns(op, f) && f.has_data_shape) check_lane(i, f);
      }
    }
  }

 private:
  std::vector<Footprint> footprints(const ir::Operation& op) const {
    const std::size_t n = op.arguments.size();
    switch (op.opcode) {
      case Opcode::tcgen05_ld: return n >= 2 ? data(op, op.arguments[1]) : std::vector<Footprint>{};
      case Opcode::tcgen05_ld_red: return n >= 3 ? data(op, op.arguments[2]) : std::vector<Footprint>{};
      case Opcode::tcgen05_st: return n >= 2 ? data(op, op.arguments[0]) : std::vector<Footprint>{};
      case Opcode::tcgen05_shift:
        return n == 1 ? std::vector<Footprint>{{&op.arguments[0], 8}} : std::vector<Footprint>{};
      case Opcode::tcgen05_cp:
        return n == 2 ? std::vector<Footprint>{{&op.arguments[0], copied(op.modifiers.shape)}}
                      : std::vector<Footprint>{};
      default: return multiplied(op);
    }
  }

  static std::vector<Footprint> data(const ir::Operation& op, const ir::Argument& address) {
    const bool packed = op.modifiers.pack_16b || op.modifiers.unpack_16b;
    const int columns = isa::load_shape(op.modifiers.shape).columns * isa::repeat_count(op.modifiers.repeat);
    return {{&address, columns * (packed ? 2 : 1), true}};
  }

  static int copied(isa::DataShape s) { return s == isa::DataShape::s128x256b || s == isa::DataShape::s4x256b ? 8 : 4; }

  // D, whose width the instruction descriptor says, and A when it is in tensor memory.
  std::vector<Footprint> multiplied(const ir::Operation& op) const {
    const auto mma = mma_operands(op);
    if (!mma) return {};
    std::vector<Footprint> out;
    const Bits idesc = facts_.known.of(mma->idesc, 32);
    if (constexpr std::uint64_t shape = 0x1F7E0000; idesc.knows(shape)) {
      const auto f = isa::unpack(std::uint32_t(idesc.one), op.modifiers.kind);
      const auto path = isa::data_path(f.m, op.modifiers.cta_group, mma->form.sparse, mma->form.ws);
      out.push_back({&mma->d, isa::accumulator_columns(path, f.n)});
    } else {
      out.push_back({&mma->d, 1});
    }
    if (mma->form.a_in_tmem) out.push_back({&mma->a, 8});
    return out;
  }

  // The columns that an address may be based on: those of its allocation, or all of the CTA's for a plain number.
  std::optional<std::int64_t> room(const Origin& o) const {
    if (o.is(Origin::Base::slot)) {
      std::optional<std::int64_t> columns;
      for (const Allocation& a : allocations_) {
        if (!(a.slot == facts_.origins.slots[o.id])) continue;
        if (!a.columns || (columns && *columns != *a.columns)) return std::nullopt;
        columns = a.columns;
      }
      return slots_are_known_ ? columns : std::nullopt;
    }
    if (!o.is(Origin::Base::number)) return std::nullopt;
    return closed_ && total_ && *total_ > 0 ? total_ : std::optional<std::int64_t>(isa::tmem_columns);
  }

  bool check_columns(const ir::Operation& op, const Footprint& f) {
    const Origin o = facts_.origins.of(*f.address);
    const auto allocated = room(o);
    if (!allocated || !o.added.knows(column_bits)) return true;
    const auto first = std::int64_t(std::int16_t(o.added.one & column_bits));
    const rules::Verdict v = rules::tmem_range(first, f.columns, *allocated);
    return !judge(facts_.sink, v, {facts_.code, op, f.address->operand},
                  "columns " + std::to_string(first) + " to " + std::to_string(first + f.columns - 1) + " of " +
                      std::to_string(*allocated));
  }

  // The lane is the same for all warps, so at most one of four is right.
  void check_lane(std::uint32_t operation, const Footprint& f) {
    const ir::Operation& op = facts_.code.operations[operation];
    const Origin o = facts_.origins.of(*f.address);
    const bool based = o.is(Origin::Base::slot) || o.is(Origin::Base::number);
    if (!based || !o.added.knows(lane_bits) || isa::load_shape(op.modifiers.shape).lanes == 0) return;
    const std::uint32_t warps = facts_.uniformity.warps_at(operation);
    const bool narrowed = std::popcount(warps) < facts_.uniformity.warps();
    if ((!facts_.uniformity.is_bounded() && !narrowed) || !facts_.uniformity.is_exact(operation)) return;
    const int lane = isa::unpack_tmem(std::uint32_t(o.added.one)).lane;
    for (int w = 0; w < flow::max_warps; ++w)
      if (warps >> w & 1 &&
          judge(facts_.sink, rules::ld_quarter(op.modifiers.shape, lane, w), {facts_.code, op, f.address->operand},
                "lane " + std::to_string(lane) + " in warp " + std::to_string(w)))
        return;
  }

  const Facts& facts_;
  std::vector<AllocSite> sites_;
  std::vector<Allocation> allocations_;
  std::optional<std::int64_t> total_;
  bool slots_are_known_ = true;
  bool closed_ = true;  // no other function allocates
};

}  // namespace

void check_tensor_memory(const Facts& facts) { TensorMemory(facts).check(); }

}  // namespace kiln::verifier
