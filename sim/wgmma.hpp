// wgmma: what warps of a warpgroup have handed to their tensor cores, and one such operation as it is executed.
//
// Each warp has its own part of D (16 of 64 rows) and its own tensor core, so a wgmma is four operations, one of each
// warp. They execute in the order of issue, read shared memory and the registers of A when their time comes, and write
// D's registers then.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "ptx/isa/wgmma.hpp"
#include "sim/observer.hpp"
#include "sim/program.hpp"
#include "sim/warp_mma.hpp"

namespace kiln::sim {

struct Context;
struct Cta;
struct Grid;

/// One warp's operations that are not done, and its groups that no wait has covered.
struct WgmmaQueue {
  struct Op {
    const ir::Operation* operation = nullptr;
    AsyncId id = 0;
    std::function<void()> action{};
  };
  /// Registers (offsets in the file) that belong to the tensor core until a wait covers the operation.
  struct Held {
    std::uint64_t number = 0;  // of the operation, counted from 1
    std::vector<std::uint32_t> registers{};
  };
  std::deque<Op> waiting{};
  std::uint64_t issued = 0, completed = 0;
  bool busy = false;
  bool fenced = false;                 // wgmma.fence has been executed
  std::deque<std::uint64_t> groups{};  // operations issued when each group was committed
  std::deque<Held> held{};
};

/// An operand in shared memory, as the warp that reads rows [first, first + rows) of it sees it.
struct WgmmaOperand {
  isa::SharedDescriptorFields descriptor{};
  isa::Swizzle swizzle = isa::Swizzle::none;
  isa::Major major = isa::Major::K;
  int first = 0, rows = 0;
  int k = 0;     // elements
  int bits = 0;  // of an element

  /// Shared addresses of the 16-byte pieces that hold the operand.
  std::vector<std::uint32_t> pieces() const;
};

/// What one warp asked for, as values: nothing here changes after issue but registers and memory.
struct WgmmaTask {
  const ir::Operation* operation = nullptr;
  WarpMma mma{};
  const Slot* slots = nullptr;  // of the instruction; WarpMma::operands counts in them
  std::uint32_t warp = 0;       // in the CTA
  bool a_in_registers = false;
  WgmmaOperand a{}, b{};
};

/// Executes the task on registers and shared memory as they are now.
void execute_wgmma(Cta& cta, const WgmmaTask& task);

/// Reports when an instruction touches registers that a wgmma of its warp still holds.
void check_held_registers(Context& c, const Inst& i);

}  // namespace kiln::sim
