#include "sim/core/program.hpp"

#include <fmt/format.h>

#include "ptx/ir/names.hpp"

namespace kiln::sim {

std::string shared_name(const Program& program, std::uint32_t offset, std::uint32_t element_bytes) {
  for (const Layout::SharedSymbol& s : program.layout.shared) {
    if (offset - s.offset >= s.bytes) continue;
    return s.bytes <= element_bytes ? s.name : ir::element_name(s.name, s.bytes, offset - s.offset, element_bytes);
  }
  return fmt::format("shared {:#x}", offset);
}

std::string_view role_of(const Program& program, const ir::Operation& operation) {
  return ir::role_of(*program.code, operation);
}

diag::Where place_of(const Program& program, const ir::Operation* operation) {
  if (operation) return program.code->where(*operation);
  return diag::Where::at(program.code->module->source, program.code->function->at);
}

}  // namespace kiln::sim
