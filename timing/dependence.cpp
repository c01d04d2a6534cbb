#include "timing/dependence.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "ptx/isa/opcodes.hpp"

namespace kiln::timing {
namespace {

using isa::Opcode;
using isa::Unit;

bool is_product(Opcode op) {
  return op == Opcode::tcgen05_ld || op == Opcode::tcgen05_ld_red || op == Opcode::wgmma_mma_async ||
         op == Opcode::wgmma_mma_async_sp;
}

// Whether an instruction's operands decide what happens and when.
bool decides(const ir::Operation& op) {
  switch (isa::unit(op.opcode)) {
    case Unit::control:
    case Unit::barrier:
    case Unit::mbarrier:
    case Unit::async_copy: return true;
    case Unit::tcgen05: return op.opcode != Opcode::tcgen05_st;
    default: return false;
  }
}

class Products {
 public:
  explicit Products(const ir::Code& code) : code_(code), carries_(code.registers.size()) {}

  bool decide() {
    while (spread()) {
    }
    const auto& all = code_.operations;
    return std::any_of(all.begin(), all.end(), [&](const ir::Operation& op) { return decides(op) && reads(op); });
  }

 private:
  bool reads(const ir::Operation& op) const {
    const std::vector<ir::RegisterId> ids = code_.read(op);
    return std::any_of(ids.begin(), ids.end(), [&](ir::RegisterId r) { return bool(carries_[r]); });
  }

  // One pass over the code; true if more registers or memories carry products than before.
  bool spread() {
    bool changed = false;
    const auto set = [&](auto& mark) { changed |= !mark, mark = true; };
    for (const ir::Operation& op : code_.operations) {
      bool& memory = memories_[std::size_t(op.modifiers.space())];
      const bool in_memory = isa::unit(op.opcode) == Unit::memory || isa::unit(op.opcode) == Unit::texture;
      const bool carried = reads(op);
      const std::vector<ir::RegisterId> written = code_.written(op);
      if (in_memory && written.empty() && carried) set(memory);
      if (!is_product(op.opcode) && !carried && !(in_memory && memory)) continue;
      for (const ir::RegisterId r : written)
        if (!carries_[r]) changed = true, carries_[r] = 1;
    }
    return changed;
  }

  const ir::Code& code_;
  std::vector<std::uint8_t> carries_;
  std::array<bool, 32> memories_{};  // by state space
};

// Where a cluster stands, by axis, and whether a number was loaded from an address that depends on that.
using Bits = std::uint8_t;
constexpr Bits every_axis = 7, from_memory = 8;

Bits axis_of(ir::Special s) {
  switch (s) {
    case ir::Special::ctaid_x:
    case ir::Special::clusterid_x: return 1;
    case ir::Special::ctaid_y:
    case ir::Special::clusterid_y: return 2;
    case ir::Special::ctaid_z:
    case ir::Special::clusterid_z: return 4;
    default: return 0;
  }
}

bool lies_in_global(isa::Space s) {
  return s == isa::Space::global || s == isa::Space::generic || s == isa::Space::constant;
}

class Places {
 public:
  explicit Places(const ir::Code& code) : code_(code), of_(code.registers.size()) {}

  PlaceDependence found() {
    while (spread()) {
    }
    Bits all = 0;
    for (const ir::Operation& op : code_.operations) all |= deciding(op);
    return {{(all & 1) != 0, (all & 2) != 0, (all & 4) != 0}, (all & from_memory) != 0};
  }

 private:
  Bits read_by(const ir::Operation& op) const {
    Bits bits = 0;
    for (const ir::RegisterId r : code_.read(op)) bits |= of_[r];
    for (const ir::Argument& a : op.arguments)
      if (a.kind == ir::Argument::Kind::special) bits |= axis_of(ir::Special(a.id));
    return bits;
  }

  // A branch, by what it reads, and an edit of a tensor map, whose extents say what is copied; a copy or a barrier, by
  // whether it is executed.
  Bits deciding(const ir::Operation& op) const {
    const Unit unit = isa::unit(op.opcode);
    if (unit == Unit::control || op.opcode == Opcode::tensormap_replace) return read_by(op);
    const bool may_be_left_out = unit == Unit::barrier || unit == Unit::mbarrier || unit == Unit::async_copy;
    return may_be_left_out && op.guard ? of_[*op.guard] : Bits(0);
  }

  // One pass over the code; true if a register or a memory depends on more than before.
  bool spread() {
    bool changed = false;
    const auto add = [&](Bits& to, Bits bits) { changed |= (bits & ~to) != 0, to |= bits; };
    for (const ir::Operation& op : code_.operations) {
      const bool in_memory = isa::unit(op.opcode) == Unit::memory, in_global = lies_in_global(op.modifiers.space());
      const std::vector<ir::RegisterId> written = code_.written(op);
      Bits bits = read_by(op);
      Bits& memory = memories_[std::size_t(op.modifiers.space())];
      if (in_memory && written.empty() && !in_global) add(memory, bits);
      if (in_memory && !written.empty()) bits |= memory;
      const bool is_load = op.opcode == Opcode::ld || op.opcode == Opcode::ldu;
      const bool is_given = in_global || isa::is_parameter(op.modifiers.space());
      if (is_load && is_given && (bits & every_axis) != 0) bits |= from_memory;
      for (const ir::RegisterId r : written) add(of_[r], bits);
    }
    return changed;
  }

  const ir::Code& code_;
  std::vector<Bits> of_;             // by register
  std::array<Bits, 32> memories_{};  // by state space
};

}  // namespace

PlaceDependence depends_on_place(const ir::Code& code) { return Places(code).found(); }

bool depends_on_products(const ir::Code& code) { return Products(code).decide(); }

}  // namespace kiln::timing
