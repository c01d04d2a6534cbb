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

// Which variables an address may lie in, a bit for each; some share one.
using Roots = std::uint64_t;
constexpr Roots anywhere = Roots{1} << 63;
// Whether two addresses may be the same.
bool meet(Roots x, Roots y) { return x && y && ((x & y) || ((x | y) & anywhere)); }

// Which variables each register may point into: those that a symbol names, and those that pointers among the parameters
// point to. Parameters that may point to the same buffer are one.
class Pointers {
 public:
  Pointers(const ir::Code& code, const std::vector<std::uint32_t>& alike) : code_(code), of_(code.registers.size()) {
    for (std::size_t k = 0; k < code.symbols.size(); ++k) symbols_.push_back(root_of(k, alike));
    while (spread()) {
    }
  }

  /// Where an instruction's memory operand may lie: no variable that is known is any.
  Roots accessed(const ir::Operation& op) const {
    for (const ir::Argument& a : op.arguments)
      if (a.kind == ir::Argument::Kind::address) {
        const Roots roots = of(a);
        return roots ? roots : anywhere;
      }
    return anywhere;
  }

  /// Where all of its operands may point.
  Roots reached(const ir::Operation& op) const {
    Roots roots = 0;
    for (const ir::Argument& a : op.arguments) roots |= of(a);
    return roots ? roots : anywhere;
  }

 private:
  // A parameter of a kernel has the bit of its number, a variable that of its place after all parameters. What a call
  // hands over may be any pointer, and variables that are external may overlap: dynamic shared memory has many names.
  Roots root_of(std::size_t symbol, const std::vector<std::uint32_t>& alike) const {
    const auto is_external = [](const ir::Symbol& s) { return s.variable->linkage == ir::Linkage::external; };
    const std::vector<ir::Symbol>& all = code_.symbols;
    const ir::Symbol& s = all[symbol];
    std::size_t number = alike.size() + symbol;
    if (s.is_parameter && s.parameter_index >= 0 && code_.function->entry) {
      const std::size_t index = std::size_t(s.parameter_index);
      if (index < alike.size()) number = alike[index];
    } else if (isa::is_parameter(s.variable->space)) {
      return anywhere;
    } else if (is_external(s)) {
      number = alike.size() + std::size_t(std::find_if(all.begin(), all.end(), is_external) - all.begin());
    }
    return number == no_pointer ? 0 : Roots{1} << number % 63;
  }

  Roots of(const ir::Argument& a) const {
    using Kind = ir::Argument::Kind;
    switch (a.kind) {
      case Kind::reg: return of_[a.id];
      case Kind::symbol: return symbols_[a.id];
      case Kind::address:
      case Kind::vector:
      case Kind::list:
      case Kind::pair: {
        Roots all = 0;
        for (const ir::Argument& part : code_.components(a)) all |= of(part);
        return all;
      }
      default: return 0;
    }
  }

  bool spread() {
    bool changed = false;
    for (const ir::Operation& op : code_.operations) {
      Roots roots = 0;
      for (const ir::Argument& a : op.arguments) roots |= of(a);
      const bool loads = isa::unit(op.opcode) == Unit::memory, given = isa::is_parameter(op.modifiers.space());
      for (const ir::RegisterId r : code_.written(op)) {
        // What is loaded may be a pointer, if it is as wide as one: any, or that which the parameter is.
        const bool is_wide = isa::bits(code_.registers[r].type) >= 64;
        const Roots in = !loads ? roots : !is_wide ? Roots{0} : given ? roots : anywhere;
        changed |= (in & ~of_[r]) != 0, of_[r] |= in;
      }
    }
    return changed;
  }

  const ir::Code& code_;
  std::vector<Roots> symbols_{};
  std::vector<Roots> of_;  // by register
};

class Products {
 public:
  Products(const ir::Code& code, const std::vector<std::uint32_t>& alike)
      : code_(code), pointers_(code, alike), carries_(code.registers.size()) {}

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
    for (const ir::Operation& op : code_.operations) {
      Roots& memory = memories_[std::size_t(op.modifiers.space())];
      const bool in_memory = isa::unit(op.opcode) == Unit::memory || isa::unit(op.opcode) == Unit::texture;
      const Roots at = in_memory ? pointers_.accessed(op) : 0;
      const bool carried = reads(op);
      const std::vector<ir::RegisterId> written = code_.written(op);
      if (in_memory && written.empty() && carried) changed |= (at & ~memory) != 0, memory |= at;
      if (!is_product(op.opcode) && !carried && !meet(at, memory)) continue;
      for (const ir::RegisterId r : written)
        if (!carries_[r]) changed = true, carries_[r] = 1;
    }
    return changed;
  }

  const ir::Code& code_;
  const Pointers pointers_;
  std::vector<std::uint8_t> carries_;
  std::array<Roots, 32> memories_{};  // by state space: where numbers lie that depend on products
};

// What the way of each warp hangs on, backwards from all that orders, copies or branches.
class Deciding {
 public:
  explicit Deciding(const ir::Code& code)
      : code_(code), pointers_(code, {}), needed_(code.registers.size()), kept_(code.operations.size()) {}

  std::vector<std::uint8_t> others() {
    while (spread()) {
    }
    std::vector<std::uint8_t> out;
    for (const std::uint8_t kept : kept_) out.push_back(!kept);
    return out;
  }

 private:
  static bool is_store(const ir::Operation& op) {
    return op.opcode == Opcode::st || op.opcode == Opcode::stmatrix || op.opcode == Opcode::red ||
           op.opcode == Opcode::st_bulk || op.opcode == Opcode::atom;
  }

  // It does nothing but to write its results.
  static bool only_writes(const ir::Operation& op) {
    switch (isa::unit(op.opcode)) {
      case Unit::alu:
      case Unit::video:
      case Unit::texture: return true;
      case Unit::warp: return op.opcode != Opcode::bar_warp_sync;
      case Unit::memory:
        return is_store(op) || op.opcode == Opcode::ld || op.opcode == Opcode::ldu || op.opcode == Opcode::ldmatrix ||
               op.opcode == Opcode::movmatrix;
      case Unit::matrix: return isa::writes(op.opcode) != isa::Writes::none;
      case Unit::tcgen05: return is_product(op.opcode) || op.opcode == Opcode::tcgen05_st;
      default: return false;
    }
  }

  bool keeps(const ir::Operation& op) const {
    if (!only_writes(op)) return true;
    if (op.opcode == Opcode::wgmma_mma_async || op.opcode == Opcode::wgmma_mma_async_sp) return false;
    const std::vector<ir::RegisterId> written = code_.written(op);
    if (std::any_of(written.begin(), written.end(), [&](ir::RegisterId r) { return bool(needed_[r]); })) return true;
    return is_store(op) && meet(pointers_.accessed(op), memory_);
  }

  // A tensor map in memory has other fields than the one that is replaced.
  static bool edits_map(const ir::Operation& op) {
    return op.opcode == Opcode::tensormap_replace || op.opcode == Opcode::tensormap_cp_fenceproxy;
  }

  bool spread() {
    bool changed = false;
    const auto need = [&](ir::RegisterId r) { changed |= !needed_[r], needed_[r] = 1; };
    for (std::size_t k = code_.operations.size(); k-- > 0;) {
      const ir::Operation& op = code_.operations[k];
      if (op.guard) need(*op.guard);
      if (!kept_[k] && !keeps(op)) continue;
      kept_[k] = 1;
      for (const ir::RegisterId r : code_.read(op)) need(r);
      const bool loads = isa::unit(op.opcode) == Unit::memory && !isa::is_parameter(op.modifiers.space()) &&
                         !code_.written(op).empty();
      const Roots at = edits_map(op) ? pointers_.reached(op) : loads ? pointers_.accessed(op) : 0;
      changed |= (at & ~memory_) != 0, memory_ |= at;
    }
    return changed;
  }

  const ir::Code& code_;
  const Pointers pointers_;
  std::vector<std::uint8_t> needed_, kept_;  // registers, operations
  Roots memory_ = 0;                         // where numbers lie that are needed
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

std::vector<std::uint8_t> decides_nothing(const ir::Code& code) { return Deciding(code).others(); }

bool depends_on_products(const ir::Code& code, const std::vector<std::uint32_t>& alike) {
  return Products(code, alike).decide();
}

}  // namespace kiln::timing
