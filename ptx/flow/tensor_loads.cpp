#include "ptx/flow/tensor_loads.hpp"

#include "ptx/ops/operations.hpp"

namespace kiln::flow {

isa::ColumnRange columns_used(const ir::Code& code, const Definitions& definitions, const ir::Operation& load) {
  const isa::Modifiers& m = load.modifiers;
  const isa::LoadShape shape = isa::load_shape(m.shape);
  const int columns = shape.columns * (m.pack_16b ? 2 : 1);
  const auto x = ops::as<ops::TmemAccess>(load);
  if (x->reduced) return {0, columns * isa::repeat_count(m.repeat)};
  isa::ColumnRange used;
  int i = 0;
  for (const ir::Argument& to : code.components(x->registers)) {
    const std::int64_t first = std::int64_t(i++ / shape.registers) * columns;
    if (to.kind != ir::Argument::Kind::reg || definitions.readers(to.id).empty()) continue;
    if (used.count == 0) used.first = first;
    used.count = first + columns - used.first;
  }
  return used;
}

}  // namespace kiln::flow
