#include "lower/engine/form_code.hpp"

#include "ptx/isa/tcgen05.hpp"

namespace kiln::lower {

std::string mma_sync(const Form& f) {
  const std::string sums(isa::spelling(f.share.d_type));
  if (f.as_f16) return dotted({"mma.sync.aligned.m16n8k16.row.col", sums, "f16.f16", sums});
  const bool is_sp = f.sparse && !f.expands;
  return dotted({is_sp ? "mma.sp::ordered_metadata.sync.aligned" : "mma.sync.aligned",
                 "m16n8k" + std::to_string(isa::mma_k(f.kind, is_sp)), "row.col", f.saturates ? "satfinite" : "", sums,
                 isa::spelling(multiplied_as(f.a_type)), isa::spelling(multiplied_as(f.b_type)), sums});
}

Term sums_of_tile(const FormCode& c, int row_tile, int column_tile) {
  const Share& s = c.form.share;
  return vec(c.engine.sums, (row_tile * s.column_tiles() + column_tile) * s.tile_registers(), s.tile_registers());
}

void scale_sums(const FormCode& c) {
  if (c.form.scale_input_d == 0) return;
  const ir::Operand factor = ir::Operand::f32_bits(std::uint32_t(127 - c.form.scale_input_d) << 23);
  for (int r = 0; r < c.form.share.registers(); ++r) {
    const Register sum = c.engine.sums[std::size_t(r)];
    c.b.op("mul.rn.f32", sum, sum, factor);
  }
}

}  // namespace kiln::lower
