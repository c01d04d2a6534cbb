#include "sim/tensor/task.hpp"

#include <fmt/format.h>

#include "ptx/isa/tcgen05.hpp"

namespace kiln::sim {

using isa::ScalarType;

Cta& member(const MmaTask& t, Cta& issuer, int k) {
  return t.form.group == isa::CtaGroup::two ? issuer.cluster->ctas[(issuer.rank & ~1u) + u32(k)] : issuer;
}

num::DotSpec spec_of(const MmaTask& t) {
  const auto& f = t.shape;
  num::DotSpec s;
  s.kind = num::mma_kind(t.form.kind);
  s.a = t.a_type();
  s.b = t.b_type();
  s.d = isa::is_block_scaled(t.form.kind) ? ScalarType::f32 : isa::d_type(f.d_type);
  if (isa::is_block_scaled(t.form.kind)) s.scale = isa::scale_format(f.scale_format);
  s.scale_vector = t.scale_vector;
  s.sparse = t.form.sparse;
  s.k96 = f.k96;
  s.saturate = f.saturate;
  s.negate_a = f.negate_a;
  s.negate_b = f.negate_b;
  s.read_c = t.accumulate;
  s.scale_input_d = t.scale_input_d;
  return s;
}

num::Arithmetic arithmetic_of(const Grid& grid) {
  return grid.options.arithmetic == Arithmetic::fast ? num::Arithmetic::fast : num::Arithmetic::exact;
}

bool is_disabled(const MmaTask& t, const Cta& cta, int lane) {
  const u32 half = t.form.group == isa::CtaGroup::two ? (cta.rank & 1) * 4 : 0;
  return t.disabled[half + std::size_t(lane / 32)] >> lane % 32 & 1;
}

PoisonSource poison_source(const MmaTask& task, const Cta& cta, int at, const char* what, int column) {
  Grid& grid = cta.cluster->grid;
  if (const PoisonSource s = grid.poison.stored(cta.tmem.line_of(at))) return s;
  return grid.poison.read(task.operation,
                          [&] { return fmt::format("{} in tensor memory from column {}", what, column); });
}

}  // namespace kiln::sim
