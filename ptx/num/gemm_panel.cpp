#include "ptx/num/gemm_panel.hpp"

#include <array>

namespace kiln::num {
namespace {

SmallFormat tabulate(ScalarType type) {
  SmallFormat table{};
  for (std::size_t word = 0; word < 256; ++word) {
    const Number n = decode(type, word);
    table.value[word] = float(to_double(type, word));
    table.exponent[word] = n.m == 0 ? -1000 : n.e;
    table.special[word] = n.kind != NumberClass::finite;
  }
  return table;
}

// Values alone: no proof and no window is asked for with integers.
SmallFormat tabulate_integers(ScalarType type) {
  SmallFormat table{};
  for (int word = 0; word < 256; ++word)
    table.value[word] = float(type == ScalarType::s8 && word > 127 ? word - 256 : word);
  return table;
}

}  // namespace

void Panel::resize(int rows, int step_count, int strip_k, bool wide) {
  blocks = (rows + panel_block - 1) / panel_block;
  steps = step_count;
  k = strip_k;
  const std::size_t units = std::size_t(blocks) * std::size_t(steps);
  const std::size_t elements = units * std::size_t(panel_block * k);
  lines.resize(elements / 16);
  (wide ? wide_codes.resize(elements) : codes.resize(elements));
  tops.resize(units * panel_block);
  scales.resize(units * panel_block);
  specials.resize(units * panel_block);
  summaries.resize(units);
}

const SmallFormat& small_format(ScalarType type) {
  static const SmallFormat tables[] = {tabulate(ScalarType::e4m3),       tabulate(ScalarType::e5m2),
                                       tabulate(ScalarType::e3m2),       tabulate(ScalarType::e2m3),
                                       tabulate(ScalarType::e2m1),       tabulate_integers(ScalarType::s8),
                                       tabulate_integers(ScalarType::u8)};
  switch (type) {
    case ScalarType::e4m3: return tables[0];
    case ScalarType::e5m2: return tables[1];
    case ScalarType::e3m2: return tables[2];
    case ScalarType::e2m3: return tables[3];
    case ScalarType::s8: return tables[5];
    case ScalarType::u8: return tables[6];
    default: return tables[4];
  }
}

bool has_window_path(const DotSpec& spec) {
  const bool windowed = spec.kind == MmaKind::tf32 || spec.kind == MmaKind::f16 || spec.kind == MmaKind::f8f6f4 ||
                        spec.kind == MmaKind::mxf8f6f4;
  return windowed && spec.d == ScalarType::f32 && spec.window == blackwell_window && spec.cut_d_bits == 0;
}

std::uint32_t redo_element(const GemmJob& job, int row, int column, int step, std::uint32_t c) {
  const GemmTask& task = *job.task;
  DotSpec spec = task.spec;
  spec.read_c = reads_c(task, step);
  const int stored = stored_k(spec), logical = spec.sparse ? 2 * stored : stored;
  if (has_window_path(spec) && task.arithmetic == Arithmetic::exact) {
    const bool nan = job.a.specials[job.a.strip(row, step)] == StripSpecial::nan ||
                     (!spec.sparse && job.b.specials[job.b.strip(column, step)] == StripSpecial::nan);
    if (nan) return std::uint32_t(canonical_nan(spec.d));
  }
  std::array<std::uint32_t, 96> a;
  std::array<std::uint32_t, 128> b;
  load_words(task.a, spec.a, row, step * stored, stored, a.data());
  load_words(task.b, spec.b, column, step * logical, logical, b.data());
  const DotSides sides{scales_of(task.a, row, step, spec.scale_vector),
                       scales_of(task.b, column, step, spec.scale_vector), metadata_of(task, row, step)};
  return dot(spec, std::span(a).first(std::size_t(stored)), std::span(b).first(std::size_t(logical)), c, sides);
}

}  // namespace kiln::num
