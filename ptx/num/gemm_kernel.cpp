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

// Of each row of an operand, in one step, whether all its words pass a test.
template <class Test>
std::vector<bool> rows_where(const GemmOperand& operand, ScalarType type, int rows, int first, int k, Test test) {
  std::vector<bool> out(std::size_t(rows), false);
  std::array<std::uint32_t, 128> words;
  for (int row = 0; row < rows; ++row) {
    load_words(operand, type, row, first, k, words.data());
    out[std::size_t(row)] = std::all_of(words.begin(), words.begin() + k, test);
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
      std::uint32_t& d = task.d[std::size_t(row) * task.d_stride + std::size_t(column)];
      const bool alone = spec.scale_vector == 0 && zero[std::size_t(row)] && finite[std::size_t(column)];
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
      std::uint32_t& d = task.d[std::size_t(row) * task.d_stride + std::size_t(column)];
      const float sum = std::bit_cast<float>(sums[std::size_t(row * task.n + column)]);
      std::int64_t n = std::int32_t(sum);
      if (reads_d) n += std::int32_t(d);
      if (task.spec.saturate)
        n = std::clamp<std::int64_t>(n, std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int32_t>::max());
      d = std::uint32_t(n);
    }
}

// Specs of the window loop.
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
  sums.resize(std::size_t(whole.m) * std::size_t(whole.n));
  GemmTask part = whole;
  part.spec = {
      .kind = MmaKind::f8f6f4, .a = whole.spec.a, .b = whole.spec.b, .sparse = whole.spec.sparse, .read_c = false};
  part.arithmetic = Arithmetic::fast;
  part.d = sums.data();
  part.d_stride = std::size_t(whole.n);
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
  job.counters.elements += std::uint64_t(steps) * std::uint64_t(task.m) * std::uint64_t(task.n);
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
