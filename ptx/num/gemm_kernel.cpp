#include "ptx/num/gemm_kernel.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include "ptx/num/gemm_panel.hpp"

namespace kiln::num {
namespace {

VectorUnit best_unit(VectorUnit wanted) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (wanted == VectorUnit::avx512 || wanted == VectorUnit::automatic)
    if (avx512) return VectorUnit::avx512;
  if (wanted == VectorUnit::avx2 || wanted == VectorUnit::automatic)
    if (avx2) return VectorUnit::avx2;
#endif
  (void)wanted;
  return VectorUnit::portable;
}

SmallFormat tabulate(ScalarType type) {
  SmallFormat table{};
  for (std::size_t word = 0; word < 256; ++word) {
    const Number n = decode(type, word);
    table.value[word] = static_cast<float>(to_double(type, word));
    table.exponent[word] = n.m == 0 ? -1000 : n.e;
    table.special[word] = n.kind != NumberClass::finite;
  }
  return table;
}

// Values alone: no proof and no window is asked for with integers.
SmallFormat tabulate_integers(ScalarType type) {
  SmallFormat table{};
  for (int word = 0; word < 256; ++word)
    table.value[word] = static_cast<float>(type == ScalarType::s8 && word > 127 ? word - 256 : word);
  return table;
}

std::span<const std::uint8_t> scales_of(const GemmOperand& operand, int row, int step, int count) {
  if (count == 0) return {};
  const auto first = static_cast<std::size_t>(row) * operand.scale_stride + static_cast<std::size_t>(step * count);
  return {operand.scales + first, static_cast<std::size_t>(count)};
}

template <class T>
void widen(const GemmOperand& operand, int row, int first, int k, std::uint32_t* words) {
  const T* from = static_cast<const T*>(operand.elements) + static_cast<std::size_t>(row) * operand.stride +
                  static_cast<std::size_t>(first);
  for (int i = 0; i < k; ++i) words[i] = from[i];
}

void load_words(const GemmOperand& operand, ScalarType type, int row, int first, int k, std::uint32_t* words) {
  switch (isa::bits(type)) {
    case 32: widen<std::uint32_t>(operand, row, first, k, words); break;
    case 16: widen<std::uint16_t>(operand, row, first, k, words); break;
    default: widen<std::uint8_t>(operand, row, first, k, words); break;
  }
}

// Of each row of an operand, in one step, whether all its words pass a test.
template <class Test>
std::vector<bool> rows_where(const GemmOperand& operand, ScalarType type, int rows, int first, int k, Test test) {
  std::vector<bool> out(static_cast<std::size_t>(rows));
  std::array<std::uint32_t, 128> words;
  for (int row = 0; row < rows; ++row) {
    load_words(operand, type, row, first, k, words.data());
    out[static_cast<std::size_t>(row)] = std::all_of(words.begin(), words.begin() + k, test);
  }
  return out;
}

// One step, an element at a time. Rows of zeros times finite numbers leave nothing but what becomes of C, so there what
// one element has become, another one with that C becomes too: ragged tiles have many such rows, and their C is zero.
void step_by_element(GemmJob& job, int step) {
  const GemmTask& task = *job.task;
  const DotSpec& spec = task.spec;
  const int stored = stored_k(spec), logical = spec.sparse ? 2 * stored : stored;
  const auto is_zero = [](std::uint32_t word) { return word == 0; };
  const auto is_finite = [&](std::uint32_t word) {
    return !isa::is_floating(spec.b) || decode(spec.b, word).kind == NumberClass::finite;
  };
  const auto zero = rows_where(task.a, spec.a, task.m, step * stored, stored, is_zero);
  const auto finite = rows_where(task.b, spec.b, task.n, step * logical, logical, is_finite);
  std::optional<std::pair<std::uint32_t, std::uint32_t>> became;  // C, and what it became
  for (int row = 0; row < task.m; ++row)
    for (int column = 0; column < task.n; ++column) {
      std::uint32_t& d = task.d[static_cast<std::size_t>(row) * task.d_stride + static_cast<std::size_t>(column)];
      const bool alone =
          spec.scale_vector == 0 && zero[static_cast<std::size_t>(row)] && finite[static_cast<std::size_t>(column)];
      if (alone && became && became->first == d) {
        d = became->second;
        continue;
      }
      const std::uint32_t c = d;
      d = redo_element(job, row, column, step, c);
      if (alone) became = {c, d};
      ++job.counters.redone;
    }
}

void run_by_element(GemmJob& job, int steps) {
  for (int step = 0; step < steps; ++step) step_by_element(job, step);
}

// The sums of so many products of two bytes are exact in f32: each is 255 * 255 at most.
constexpr int exact_products = 256;
static_assert(exact_products * 255 * 255 <= 1 << 24);

bool has_integer_path(const DotSpec& spec) { return spec.kind == MmaKind::i8; }

// Adds the sums of products to D, which they wrap around or stay inside of.
void add_integers(const GemmTask& task, const std::vector<std::uint32_t>& sums, bool reads_d) {
  for (int row = 0; row < task.m; ++row)
    for (int column = 0; column < task.n; ++column) {
      std::uint32_t& d = task.d[static_cast<std::size_t>(row) * task.d_stride + static_cast<std::size_t>(column)];
      const float sum = std::bit_cast<float>(sums[static_cast<std::size_t>(row * task.n + column)]);
      std::int64_t n = static_cast<std::int32_t>(sum);
      if (reads_d) n += static_cast<std::int32_t>(d);
      if (task.spec.saturate)
        n = std::clamp<std::int64_t>(n, std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int32_t>::max());
      d = static_cast<std::uint32_t>(n);
    }
}

// Specs of the window loop.
bool has_window_path(const DotSpec& spec) {
  const bool windowed = spec.kind == MmaKind::tf32 || spec.kind == MmaKind::f16 || spec.kind == MmaKind::f8f6f4 ||
                        spec.kind == MmaKind::mxf8f6f4;
  return windowed && spec.d == ScalarType::f32 && spec.window == blackwell_window && spec.cut_d_bits == 0;
}

void multiply(VectorUnit unit, GemmJob& job) {
  switch (unit) {
#if defined(__x86_64__)
    case VectorUnit::avx512: return avx512::multiply(job);
    case VectorUnit::avx2: return avx2::multiply(job);
#endif
    default: return portable::multiply(job);
  }
}

// Integers, by plain sums in f32 of no more products than these are exact for. Each instruction of a chain saturates
// for itself.
void multiply_integers(VectorUnit unit, GemmJob& job, std::vector<std::uint32_t>& sums, int steps) {
  const GemmTask& whole = *job.task;
  const int k = stored_k(whole.spec), logical = whole.k / steps;
  const int together = whole.spec.saturate ? 1 : exact_products / k;
  sums.resize(static_cast<std::size_t>(whole.m) * static_cast<std::size_t>(whole.n));
  GemmTask part = whole;
  part.spec = {
      .kind = MmaKind::f8f6f4, .a = whole.spec.a, .b = whole.spec.b, .sparse = whole.spec.sparse, .read_c = false};
  part.arithmetic = Arithmetic::fast;
  part.d = sums.data();
  part.d_stride = static_cast<std::size_t>(whole.n);
  for (int step = 0; step < steps; step += together) {
    const int count = std::min(together, steps - step);
    part.k = count * logical;
    part.a.elements = static_cast<const std::uint8_t*>(whole.a.elements) + step * k;
    part.b.elements = static_cast<const std::uint8_t*>(whole.b.elements) + step * logical;
    part.metadata = metadata_of(whole, 0, step).data();
    job.task = &part;
    job.a.resize(part.m, count, logical, true);
    job.b.resize(part.n, count, logical, false);
    multiply(unit, job);
    add_integers(whole, sums, reads_c(whole, step));
  }
  job.task = &whole;
}

}  // namespace

std::span<const std::uint32_t> metadata_of(const GemmTask& task, int row, int step) {
  if (!task.spec.sparse) return {};
  // Every kind spends one nibble on each chunk of 1 (tf32), 2 or 4 (fp4) stored elements, so an instruction fills whole
  // words.
  const int kept = task.spec.kind == MmaKind::tf32 ? 1 : dense_k(task.spec.kind) == 64 ? 4 : 2;
  const auto words = static_cast<std::size_t>(stored_k(task.spec) / kept / 8);
  const std::size_t first =
      static_cast<std::size_t>(row) * task.metadata_stride + static_cast<std::size_t>(step) * words;
  return {task.metadata + first, words};
}

void Panel::resize(int rows, int step_count, int strip_k, bool wide) {
  blocks = (rows + panel_block - 1) / panel_block;
  steps = step_count;
  k = strip_k;
  const std::size_t units = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(steps);
  const std::size_t elements = units * static_cast<std::size_t>(panel_block * k);
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

std::uint32_t redo_element(const GemmJob& job, int row, int column, int step, std::uint32_t c) {
  const GemmTask& task = *job.task;
  DotSpec spec = task.spec;
  spec.read_c = reads_c(task, step);
  const int stored = stored_k(spec), logical = spec.sparse ? 2 * stored : stored;
  if (has_window_path(spec) && task.arithmetic == Arithmetic::exact) {
    const bool nan = job.a.specials[job.a.strip(row, step)] == StripSpecial::nan ||
                     (!spec.sparse && job.b.specials[job.b.strip(column, step)] == StripSpecial::nan);
    if (nan) return static_cast<std::uint32_t>(canonical_nan(spec.d));
  }
  std::array<std::uint32_t, 96> a;
  std::array<std::uint32_t, 128> b;
  load_words(task.a, spec.a, row, step * stored, stored, a.data());
  load_words(task.b, spec.b, column, step * logical, logical, b.data());
  const DotSides sides{scales_of(task.a, row, step, spec.scale_vector),
                       scales_of(task.b, column, step, spec.scale_vector), metadata_of(task, row, step)};
  return dot(spec, std::span(a).first(static_cast<std::size_t>(stored)),
             std::span(b).first(static_cast<std::size_t>(logical)), c, sides);
}

bool has_vector_path(const DotSpec& spec) {
  return has_window_path(spec) || has_fp4_path(spec) || has_integer_path(spec);
}

struct GemmKernel::State {
  GemmJob job;
  std::vector<std::uint32_t> integer_sums{};
};

GemmKernel::GemmKernel(VectorUnit unit) : unit_(best_unit(unit)), state_(std::make_unique<State>()) {}
GemmKernel::~GemmKernel() = default;
GemmKernel::GemmKernel(GemmKernel&&) noexcept = default;
GemmKernel& GemmKernel::operator=(GemmKernel&&) noexcept = default;

const GemmCounters& GemmKernel::counters() const { return state_->job.counters; }

void GemmKernel::run(const GemmTask& task) {
  GemmJob& job = state_->job;
  job.task = &task;
  const int k = stored_k(task.spec);
  const int steps = task.k / (task.spec.sparse ? 2 * k : k);
  job.counters.elements +=
      static_cast<std::uint64_t>(steps) * static_cast<std::uint64_t>(task.m) * static_cast<std::uint64_t>(task.n);
  job.is_fp4 = has_fp4_path(task.spec);
  if (has_integer_path(task.spec)) return multiply_integers(unit_, job, state_->integer_sums, steps);
  if (job.is_fp4) {
    decode_fp4(task, Fp4Side::a, job.fp4_a);
    decode_fp4(task, Fp4Side::b, job.fp4_b);
  } else if (has_window_path(task.spec)) {
    const int logical = task.k / steps;
    job.a.resize(task.m, steps, logical, true);
    job.b.resize(task.n, steps, logical, false);
  } else {
    return run_by_element(job, steps);
  }
  multiply(unit_, job);
}

}  // namespace kiln::num
