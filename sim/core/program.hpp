// A kernel in the form that runs: one record per instruction with a handler chosen for its exact form, and operands
// resolved to byte offsets into a warp's register file. Immediates, symbol addresses and special registers lie in the
// same file, written once per warp, so that a handler reads every operand the same way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/ir/code.hpp"
#include "ptx/isa/mma_form.hpp"
#include "sim/core/lanes.hpp"
#include "sim/core/warp_mma.hpp"

namespace kiln::sim {

struct Context;
struct Inst;

/// What an instruction did with its fragment: `next`: continue at the next instruction; `jumped`: the handler set the
/// place itself; `blocked`: nothing happened, try again when something changes.
enum class Status : std::uint8_t { next, jumped, blocked };

/// Executes one instruction for some lanes.
using Handler = Status (*)(Context&, const Inst&, Mask);

/// A resolved operand. `bytes` per lane: 4, 8 or 16; 0 for a predicate.
struct Slot {
  std::uint32_t offset = 0;
  std::uint8_t bytes = 4;
  bool negated = false;
};

/// One instruction. What the small fields mean is each handler's business.
struct Inst {
  Handler run = nullptr;
  std::uint32_t d = 0, a = 0, b = 0, c = 0;  // register-file offsets
  std::uint32_t guard = 0;                   // offset of the guard's mask; the constant true when there is none
  Mask guard_flip = 0;                       // all ones for @!p
  std::uint32_t more = 0;                    // first of its Program::slots
  std::uint16_t more_count = 0;
  std::uint8_t space = 0;  // isa::Space
  std::uint8_t width = 0;  // bytes of one element
  std::uint8_t count = 0;  // elements of a vector
  std::uint8_t flags = 0;
  std::uint8_t mode = 0;
  std::uint8_t wide = 0;     // a: the address register has 64 bits
  std::uint32_t target = 0;  // branch
  std::int64_t value = 0;    // immediate, or the offset of an address
  const ir::Operation* operation = nullptr;
};

/// Where the variables that a kernel names lie.
struct Layout {
  struct SharedSymbol {
    std::string name;
    std::uint32_t offset = 0, bytes = 0;
  };
  std::vector<std::uint64_t> addresses{};    // by Code::symbols index; shared: offset in the CTA
  std::vector<SharedSymbol> shared{};        // static ones, by offset
  std::uint32_t static_shared_end = 0;       // offset after the last static byte
  std::uint32_t dynamic_shared = 0;          // offset of dynamic shared memory
  std::uint32_t shared_bytes = 0;            // offset after everything
  std::uint32_t local_bytes = 0;             // per thread
  std::uint32_t stack = 0, stack_bytes = 0;  // of them, at the end, what alloca takes from
  std::vector<std::uint32_t> parameters{};   // offset of each kernel parameter
  std::uint32_t parameter_bytes = 0;
};

/// A word that every lane of a register starts with.
struct Constant {
  enum class Kind : std::uint8_t { plain, shared_address };  // a shared address gets the CTA's rank
  std::uint32_t offset = 0;
  std::uint8_t bytes = 4;
  Kind kind = Kind::plain;
  std::uint64_t value = 0;
};

struct SpecialSlot {
  std::uint32_t offset = 0;
  ir::Special special = ir::Special::none;
};

/// A value that a call hands over: a place in the thread's local memory, or a register (or constant).
struct Passed {
  bool in_memory = false;
  Slot slot{};
  std::uint32_t offset = 0;  // in local memory
  std::uint32_t bytes = 0;
};

/// A device function. Its registers and variables exist once per thread, so it may not be entered again before it
/// returns.
struct Callable {
  std::string name{};
  std::uint32_t item = 0;   // in Module::items: what its address says
  std::uint32_t entry = 0;  // instruction
  std::uint32_t end = 0;
  Slot back{};   // where each lane returns to
  Slot idle{};   // lanes that are not inside
  Slot frame{};  // bytes of the stack that were in use when each lane came
  std::vector<Passed> results{}, parameters{};
};

/// What one call instruction hands over.
struct CallSite {
  enum class Kind : std::uint8_t { direct, indirect, vprintf, assertfail, malloc, free };
  Kind kind = Kind::direct;
  std::uint32_t callable = 0;  // direct
  Slot target{};               // indirect: the function's address
  std::vector<Passed> results{}, arguments{};
};

/// A kernel, ready to run. Keeps pointers into the Code it was made from.
struct Program {
  const ir::Code* code = nullptr;
  std::uint32_t kernel_end = 0;  // first instruction of the device functions; 0 when there are none
  std::vector<Callable> callables{};
  std::vector<CallSite> calls{};
  Layout layout{};
  std::vector<Inst> insts{};  // one per operation, and an exit after the last
  std::vector<Slot> slots{};
  std::vector<WarpMma> mmas{};        // of matrix instructions of warps and warpgroups
  std::vector<isa::MmaForm> forms{};  // of tcgen05.mma
  std::vector<std::string> gaps{};    // what instructions that cannot run lack
  std::vector<Constant> constants{};
  std::vector<SpecialSlot> specials{};
  Slot stack{};  // bytes of it in use, complemented
  std::uint32_t file_bytes = 0;
  std::vector<std::uint32_t> registers{};  // offset of each Code::registers entry
};

/// "in_full[2]": the static shared symbol that covers an offset, with the element that it is; else "shared 0x1400".
std::string shared_name(const Program& program, std::uint32_t offset, std::uint32_t element_bytes);

/// The role whose label `role_<name>` stands before an operation; empty when there is none.
std::string_view role_of(const Program& program, const ir::Operation& operation);
/// The place of an operation; of the kernel's head when there is none.
diag::Where place_of(const Program& program, const ir::Operation* operation);

}  // namespace kiln::sim
