// wgmma: the operations that warps of a warpgroup have issued, and the execution of one of them.
//
// Each warp has its own part of D (16 of 64 rows) and its own tensor core, so a wgmma is four operations, one of each
// warp. They execute in the order of issue; each reads shared memory and the registers of A, and writes D's registers,
// when it executes. A warp that waits for a group waits for the parts of all four.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/isa/wgmma.hpp"
#include "sim/core/machine.hpp"
#include "sim/tensor/warp_product.hpp"

namespace kiln::sim {

/// An operand in shared memory, as the warp that reads rows [first, first + rows) of it sees it.
struct WgmmaOperand {
  isa::SharedDescriptorFields descriptor{};
  isa::Swizzle swizzle = isa::Swizzle::none;
  isa::Major major = isa::Major::K;
  int first = 0, rows = 0;
  int k = 0;     // elements
  int bits = 0;  // of an element

  /// Shared addresses of the 16-byte pieces that hold the operand.
  std::vector<u32> pieces() const;
};

/// One warp's operation as values; only registers and memory change after issue.
struct WgmmaTask {
  const ir::Operation* operation = nullptr;
  WarpMma mma{};
  const Slot* slots = nullptr;  // of the instruction; WarpMma::operands counts in them
  u32 warp = 0;                 // in the CTA
  bool a_in_registers = false;
  WgmmaOperand a{}, b{};
};

/// Executes the task on registers and shared memory as they are now.
void execute_wgmma(Cta& cta, const WgmmaTask& task);

/// The queue of a warp of this CTA, by its index.
WgmmaQueue& queue_of(Cta& cta, u32 warp);

/// Whether an instruction touches registers of an operation of its warp that is not done: it waits for that, as where
/// ptxas puts a wait. Reports it, and a touch of registers that no wait has covered.
bool waits_for_registers(Context& c, const Inst& i);

}  // namespace kiln::sim
