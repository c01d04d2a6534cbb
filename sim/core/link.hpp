// A kernel and the functions that it may call as one piece of code: the kernel first, then each function after those
// that it calls. PTX ISA "Kernel and Function Directives", "call".
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/ir/code.hpp"

namespace kiln::sim {

/// Where a value is handed over: a .param variable (a symbol of the code) or a register.
struct Formal {
  bool is_register = false;
  std::uint32_t id = 0;
  std::uint32_t bytes = 0;
};

/// One device function inside Linked::code.
struct LinkedFunction {
  const ir::Function* function = nullptr;
  std::uint32_t first = 0, end = 0;  // operations; the last returns
  std::vector<Formal> results{}, parameters{};
};

/// Keeps pointers into the module that it was made from. Arguments of kind function name Module::items by index.
struct Linked {
  ir::Code code{};
  std::vector<LinkedFunction> functions{};

  /// The function with this body; null when it is not part of the code.
  const LinkedFunction* find(std::uint32_t item) const;
};

/// Decodes a kernel and everything that it may call. Functions without a body are resolved when the call is executed.
Linked link(const ir::Module&, const ir::Function& kernel, diag::Sink&);

/// The index in Module::items of a function by name, the one with a body if there is one; items.size() when there is
/// none.
std::size_t function_item(const ir::Module&, std::string_view name);

}  // namespace kiln::sim
