#include "ptx/num/fp4_panel.hpp"

#include <array>
#include <cstddef>

namespace kiln::num {
namespace {

// Twice the value of each of the sixteen codes: an integer.
std::array<std::int16_t, 16> doubled_codes() {
  std::array<std::int16_t, 16> table{};
  for (std::size_t code = 0; code < table.size(); ++code)
    table[code] = std::int16_t(2 * to_double(ScalarType::e2m1, code));
  return table;
}

// One row of one instruction on its way into the panel.
struct Strip {
  const std::uint8_t* elements = nullptr;
  const std::uint8_t* scales = nullptr;
  std::span<const std::uint32_t> metadata{};  // of a sparse A; else empty
  bool negate = false;
};

void write_strip(const DotSpec& spec, const Strip& s, int row, int step, Fp4Panel& p) {
  static const std::array<std::int16_t, 16> doubled = doubled_codes();
  const bool spread = !s.metadata.empty();
  const int elements = spread ? p.k / 2 : p.k, columns_of_group = p.k / p.groups;
  std::int16_t* halves = p.halves.data() + p.half(row, step);
  std::uint32_t* live = p.live.data() + p.group(row, step);
  for (int i = 0; i < elements; ++i) {
    const int column = spread ? sparse_column(spec.kind, i, s.metadata) : i;
    const std::int16_t half = doubled[s.elements[i] & 15];
    halves[column * panel_block] = std::int16_t(s.negate ? -half : half);
    if (half != 0) live[column / columns_of_group * panel_block] |= 1u << column % columns_of_group;
  }
  const std::size_t first = p.group(row, step);
  for (int g = 0; g < p.groups; ++g) {
    const Number n = decode(spec.scale, s.scales[g * spec.scale_vector / p.groups]);
    const std::size_t at = first + std::size_t(g * panel_block);
    p.scales[at] = std::int32_t(n.m);
    p.exponents[at] = n.e;
    if (n.kind == NumberClass::nan) p.specials[p.strip(row, step)] = -1;
  }
}

void clear(Fp4Panel& p) {
  const auto strips = std::size_t(p.blocks) * std::size_t(p.steps) * std::size_t{panel_block};
  p.halves.assign(strips * std::size_t(p.k), 0);
  p.live.assign(strips * std::size_t(p.groups), 0);
  p.scales.assign(strips * std::size_t(p.groups), 0);
  p.exponents.assign(strips * std::size_t(p.groups), 0);
  p.specials.assign(strips, 0);
}

}  // namespace

std::size_t Fp4Panel::place(int row, int step, int each) const {
  const std::size_t unit = std::size_t(row / panel_block) * std::size_t(steps) + std::size_t(step);
  return unit * std::size_t(each) * panel_block + std::size_t(row % panel_block);
}

bool has_fp4_path(const DotSpec& spec) {
  const bool fp4 = spec.kind == MmaKind::mxf4 || spec.kind == MmaKind::mxf4nvf4;
  const int groups = stored_k(spec) / fp4_group;
  return fp4 && spec.d == ScalarType::f32 && spec.cut_d_bits == 0 && spec.scale_vector != 0 &&
         groups % spec.scale_vector == 0 && !(spec.sparse && spec.k96);
}

void decode_fp4(const GemmTask& task, Fp4Side side, Fp4Panel& p) {
  const DotSpec& spec = task.spec;
  const bool is_a = side == Fp4Side::a;
  const GemmOperand& operand = is_a ? task.a : task.b;
  const int stored = stored_k(spec), rows = is_a ? task.m : task.n;
  p.k = spec.sparse ? 2 * stored : stored;
  p.steps = task.k / p.k;
  p.groups = stored / fp4_group;
  p.fraction_bits = format_of(spec.scale).fraction_bits;
  p.blocks = (rows + panel_block - 1) / panel_block;
  clear(p);
  const int elements = is_a ? stored : p.k;
  for (int row = 0; row < rows; ++row)
    for (int step = 0; step < p.steps; ++step) {
      const auto r = std::size_t(row);
      Strip s;
      s.elements = static_cast<const std::uint8_t*>(operand.elements) + r * operand.stride + step * elements;
      s.scales = operand.scales + r * operand.scale_stride + step * spec.scale_vector;
      if (is_a) s.metadata = metadata_of(task, row, step);
      s.negate = is_a ? spec.negate_a : spec.negate_b;
      write_strip(spec, s, row, step, p);
    }
}

}  // namespace kiln::num
