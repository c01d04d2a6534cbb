#include "timing/dependence.hpp"

#include <algorithm>
#include <array>
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

}  // namespace

bool depends_on_products(const ir::Code& code) { return Products(code).decide(); }

}  // namespace kiln::timing
