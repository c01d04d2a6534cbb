#include "sim/core/program.hpp"

#include <fmt/format.h>

namespace kiln::sim {

std::string shared_name(const Program& program, std::uint32_t offset, std::uint32_t element_bytes) {
  for (const Layout::SharedSymbol& s : program.layout.shared) {
    if (offset - s.offset >= s.bytes) continue;
    if (s.bytes <= element_bytes) return s.name;
    if ((offset - s.offset) % element_bytes == 0)
      return fmt::format("{}[{}]", s.name, (offset - s.offset) / element_bytes);
    return fmt::format("{}+{}", s.name, offset - s.offset);
  }
  return fmt::format("shared {:#x}", offset);
}

std::string_view role_of(const Program& program, const ir::Operation& operation) {
  constexpr std::string_view prefix = "role_";
  const std::string_view label = program.code->label_before(program.code->index(operation), prefix);
  return label.empty() ? label : label.substr(prefix.size());
}

diag::Where place_of(const Program& program, const ir::Operation* operation) {
  if (operation) return program.code->where(*operation);
  return diag::Where::at(program.code->module->source, program.code->function->at);
}

}  // namespace kiln::sim
