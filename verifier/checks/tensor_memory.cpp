#include "verifier/checks/checks.hpp"

#include <bit>

#include "ptx/isa/tmem.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "verifier/checks/allocation.hpp"
#include "verifier/finding.hpp"
#include "verifier/footprint.hpp"

namespace kiln::verifier {
namespace {

using flow::Origin;

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
      if (s.event != isa::AllocEvent::alloc) continue;
      const ir::Operation& op = facts.code.operations[s.operation];
      const Origin slot = facts.origins.of(ops::roles<ops::TmemAllocation>(op).slot);
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
      const std::vector<Footprint> parts = footprints(facts_, op);
      for (const Footprint& f : parts)
        if (check_columns(op, f) && f.role == Footprint::Role::data && check_alignment(op, f)) check_lane(i, f);
      check_overlap(op, parts);
    }
  }

 private:
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
    const std::int64_t added = column(o.added), first = added + f.columns.first;
    const rules::Verdict v = rules::tmem_range(shifted(f.columns, added), shifted(f.used(), added), *allocated);
    return !judge(facts_.sink, v, {facts_.code, op, f.address->operand},
                  "columns " + std::to_string(first) + " to " + std::to_string(first + f.columns.count - 1) + " of " +
                      std::to_string(*allocated));
  }

  // A one in the low bits of the lane is wrong whatever the others are. Allocations begin at lane 0.
  bool check_alignment(const ir::Operation& op, const Footprint& f) {
    const Origin o = facts_.origins.of(*f.address);
    if ((!o.is(Origin::Base::slot) && !o.is(Origin::Base::number)) || o.added.is_nothing()) return true;
    const int lane = int((o.added.one & lane_bits) >> 16) % isa::tmem_lanes_per_warp;
    return !judge(facts_.sink, rules::ld_lane(op.modifiers.shape, lane), {facts_.code, op, f.address->operand},
                  "a lane " + std::to_string(lane) + " after a multiple of 32 with ." +
                      std::string(isa::spelling(op.modifiers.shape)));
  }

  // At most one finding for an instruction: one wrong D overlaps everything.
  void check_overlap(const ir::Operation& op, const std::vector<Footprint>& parts) {
    if (parts.empty() || parts[0].role != Footprint::Role::d) return;
    const Footprint& d = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (!surely_overlap(facts_, d, parts[i], true)) continue;
      const std::int64_t at = *column_distance(facts_, *d.address, *parts[i].address, true);
      const isa::ColumnRange read{parts[i].columns.first + at, parts[i].columns.count};
      if (judge(facts_.sink, rules::mma_overlap(d.columns, read), {facts_.code, op, parts[i].address->operand, false},
                std::string(spelling(parts[i].role)) + " in " + columns(read) + " and D in " + columns(d.columns)))
        return;
    }
  }

  static std::string columns(isa::ColumnRange r) {
    return r.count == 1 ? "column " + std::to_string(r.first)
                        : "columns " + std::to_string(r.first) + " to " + std::to_string(r.end() - 1);
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
