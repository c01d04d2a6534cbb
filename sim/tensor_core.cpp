#include "sim/tensor_core.hpp"

#include <fmt/format.h>

#include <cstring>

#include "ptx/isa/scales.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/execution.hpp"
#include "sim/tensor_operands.hpp"

namespace kiln::sim {
namespace {

using isa::MmaKind;
using isa::ScalarType;
using u32 = std::uint32_t;

void report_poison(Grid& grid, const MmaTask& task, const char* what, int column) {
  grid.report(task.operation, rules::Rule::memory_uninitialised,
              fmt::format("{} in tensor memory from column {}", what, column));
}

// A part of one CTA's share of the product that lies in consecutive columns: its rows against some columns of B.
// Layouts B, E and G fold the columns, so that each part has its own lanes.
struct Part {
  int rows = 0;
  int lane = 0;         // of row 0
  bool spread = false;  // sixteen rows to each quarter
  int first_n = 0, n = 0;

  int lane_of(int row) const { return lane + (spread ? 32 * (row / 16) + row % 16 : row); }
};

std::vector<Part> parts_of(const MmaTask& t) {
  using isa::DataPath;
  const DataPath path = t.path();
  const bool spread = path == DataPath::C || path == DataPath::F;
  const int count = path == DataPath::B || path == DataPath::E ? 2 : path == DataPath::G ? 4 : 1;
  std::vector<Part> parts;
  for (int k = 0; k < count; ++k) {
    const int n = t.shape.n / count;
    parts.push_back(
        {t.shape.m / t.members(), spread ? int(t.d >> 16) & 16 : isa::tmem_lanes / count * k, spread, k * n, n});
  }
  return parts;
}

Cta& member(const MmaTask& t, Cta& issuer, int k) {
  return t.group == isa::CtaGroup::two ? issuer.cluster->ctas[(issuer.rank & ~1u) + u32(k)] : issuer;
}

void gather_a_tmem(Grid& grid, const MmaTask& task, const Part& part, Cta& cta, std::uint8_t* out) {
  const int column = int(task.a_tmem & 0xFFFF);
  bool poison = false;
  for (int row = 0; row < part.rows; ++row) {
    const int lane = part.lane_of(row);
    std::memcpy(out + row * isa::mma_k_bytes, cta.tmem.cell(lane, column), isa::mma_k_bytes);
    poison |= std::memchr(cta.tmem.written(lane, column), 0, isa::mma_k_bytes / 4) != nullptr;
  }
  if (poison) report_poison(grid, task, "A", column);
}

// Scale bytes of each row, from byte `id` of its cell on.
std::vector<std::uint8_t> gather_scales(Grid& grid, const MmaTask& task, Cta& cta, u32 address, int id, int rows) {
  const int base = int(address & 0x1FF);
  std::vector<std::uint8_t> out(std::size_t(rows * task.scale_vector));
  bool poison = false;
  for (int row = 0; row < rows; ++row) {
    const auto [lane, column, first] = isa::scale_cell(row, id);
    const u32 cell = *cta.tmem.cell(lane, base + column);
    poison |= !*cta.tmem.written(lane, base + column);
    for (int k = 0; k < task.scale_vector; ++k)
      out[std::size_t(row * task.scale_vector + k)] = std::uint8_t(cell >> 8 * (first + k));
  }
  if (poison) report_poison(grid, task, "scale factors", base);
  return out;
}

num::MmaKind number_kind(MmaKind k) {
  switch (k) {
    case MmaKind::tf32: return num::MmaKind::tf32;
    case MmaKind::f8f6f4: return num::MmaKind::f8f6f4;
    case MmaKind::i8: return num::MmaKind::i8;
    case MmaKind::mxf8f6f4: return num::MmaKind::mxf8f6f4;
    case MmaKind::mxf4: return num::MmaKind::mxf4;
    case MmaKind::mxf4nvf4: return num::MmaKind::mxf4nvf4;
    default: return num::MmaKind::f16;
  }
}

num::DotSpec spec_of(const MmaTask& task) {
  const auto& f = task.shape;
  num::DotSpec s;
  s.kind = number_kind(task.kind);
  s.a = isa::operand_type(task.kind, f.a_type);
  s.b = isa::operand_type(task.kind, f.b_type);
  s.d = isa::is_block_scaled(task.kind) ? ScalarType::f32 : isa::d_type(f.d_type);
  if (isa::is_block_scaled(task.kind)) s.scale = f.scale_format ? ScalarType::ue8m0 : ScalarType::ue4m3;
  s.scale_vector = task.scale_vector;
  s.saturate = f.saturate;
  s.negate_a = f.negate_a;
  s.negate_b = f.negate_b;
  s.read_c = task.accumulate;
  s.scale_input_d = task.scale_input_d;
  return s;
}

bool is_disabled(const MmaTask& t, const Cta& cta, int lane) {
  const u32 half = t.group == isa::CtaGroup::two ? (cta.rank & 1) * 4 : 0;
  return t.disabled[half + std::size_t(lane / 32)] >> lane % 32 & 1;
}

// Runs the multiplication on D in place where rows are consecutive lanes, else on a copy.
void multiply(Grid& grid, const MmaTask& task, const Part& part, Cta& cta, num::GemmTask& gemm) {
  const int column = int(task.d & 0xFFFF), n = part.n;
  const bool in_place = !part.spread && task.disabled == std::array<u32, 8>{};
  std::vector<u32> copy(in_place ? 0 : std::size_t(part.rows * n));
  gemm.d = in_place ? cta.tmem.cell(part.lane, column) : copy.data();
  gemm.d_stride = std::size_t(in_place ? TensorMemory::lane_stride : n);
  bool poison = false;
  for (int row = 0; row < part.rows; ++row) {
    const int lane = part.lane_of(row);
    const std::uint8_t* written = cta.tmem.written(lane, column);
    if (task.accumulate && !is_disabled(task, cta, lane)) poison |= std::memchr(written, 0, std::size_t(n)) != nullptr;
    if (!in_place) std::memcpy(copy.data() + row * n, cta.tmem.cell(lane, column), std::size_t(n) * 4);
  }
  if (poison) report_poison(grid, task, "the accumulator", column);
  grid.gemm.run(gemm);
  for (int row = 0; row < part.rows; ++row) {
    const int lane = part.lane_of(row);
    if (is_disabled(task, cta, lane)) continue;
    if (!in_place) std::memcpy(cta.tmem.cell(lane, column), copy.data() + row * n, std::size_t(n) * 4);
    std::memset(cta.tmem.written(lane, column), 1, std::size_t(n));
  }
}

// B of both CTAs of a pair, one half each.
Elements gather_b(Grid& grid, const MmaTask& t, Cta& issuer) {
  Elements b(t.shape.n);
  const int rows = t.shape.n / t.members();
  for (int k = 0; k < t.members(); ++k)
    gather_shared({grid, t.operation, member(t, issuer, k)},
                  {t.b, t.b_swizzle, t.shape.b_major, rows, isa::container_bits(t.kind)},
                  b.stored.data() + k * rows * isa::mma_k_bytes);
  return b;
}

// One CTA's share: its rows of A against all of B.
void execute_share(Grid& grid, const MmaTask& t, Cta& cta, num::GemmTask gemm) {
  const int rows = t.shape.m / t.members();
  const std::uint8_t* b = static_cast<const std::uint8_t*>(gemm.b.elements);
  const std::size_t element = std::size_t(isa::bits(gemm.spec.b) < 8 ? 1 : isa::container_bits(t.kind) / 8);
  std::vector<std::uint8_t> sfa, sfb;
  if (t.scale_vector) {
    sfa = gather_scales(grid, t, cta, t.sfa, t.shape.sfa_id, rows);
    sfb = gather_scales(grid, t, cta, t.sfb, t.shape.sfb_id, t.shape.n);
    gemm.a.scales = sfa.data(), gemm.b.scales = sfb.data();
    gemm.a.scale_stride = gemm.b.scale_stride = std::size_t(t.scale_vector);
  }
  Elements a(rows);
  if (!t.a_in_tmem)
    gather_shared({grid, t.operation, cta}, {t.a, t.a_swizzle, t.shape.a_major, rows, isa::container_bits(t.kind)},
                  a.stored.data());
  for (const Part& part : parts_of(t)) {
    if (t.a_in_tmem) gather_a_tmem(grid, t, part, cta, a.stored.data());
    gemm.a.elements = a.finish(t.kind, gemm.spec.a, t.a_in_tmem, rows);
    gemm.b.elements = b + std::size_t(part.first_n * gemm.k) * element;
    gemm.m = part.rows, gemm.n = part.n;
    multiply(grid, t, part, cta, gemm);
  }
}

}  // namespace

int MmaTask::k() const { return isa::mma_k(kind, false, false); }

void check_mma(const MmaTask& t, Cta& issuer) {
  const int bits = isa::container_bits(t.kind), rows = t.shape.m / t.members();
  for (int k = 0; k < t.members(); ++k) {
    Cta& cta = member(t, issuer, k);
    require(rules::peer_exited(cta.exited), "CTA {} of the cluster, which has exited", cta.rank);
    cta.tmem.check_columns(int(t.d & 0xFFFF), isa::accumulator_columns(t.path(), t.shape.n), "the accumulator");
    if (t.a_in_tmem)
      cta.tmem.check_columns(int(t.a_tmem & 0xFFFF), isa::mma_k_bytes / 4, "operand A");
    else
      check_operand({t.a, t.a_swizzle, t.shape.a_major, rows, bits}, cta, "A");
    check_operand({t.b, t.b_swizzle, t.shape.b_major, t.shape.n / t.members(), bits}, cta, "B");
    if (!t.scale_vector) continue;
    if (t.path() == isa::DataPath::B) unmodelled("block scaling with M = 128 over two CTAs");
    cta.tmem.check_columns(int(t.sfa & 0x1FF), isa::scale_columns(rows), "the scale factors of A");
    cta.tmem.check_columns(int(t.sfb & 0x1FF), isa::scale_columns(t.shape.n), "the scale factors of B");
  }
}

void execute_mma(Grid& grid, const MmaTask& t, Cta& issuer) {
  num::GemmTask gemm;
  gemm.spec = spec_of(t);
  gemm.k = t.k();
  gemm.arithmetic = grid.options.arithmetic == Arithmetic::fast ? num::Arithmetic::fast : num::Arithmetic::exact;
  Elements b = gather_b(grid, t, issuer);
  gemm.b = {b.finish(t.kind, gemm.spec.b, false, t.shape.n), std::size_t(gemm.k), nullptr, 0};
  gemm.a = {nullptr, std::size_t(gemm.k), nullptr, 0};
  for (int k = 0; k < t.members(); ++k) execute_share(grid, t, member(t, issuer, k), gemm);
  ++grid.statistics.mma_instructions;
  grid.statistics.mma_flops +=
      std::uint64_t(2) * std::uint64_t(t.shape.m) * std::uint64_t(t.shape.n) * std::uint64_t(gemm.k);
}

}  // namespace kiln::sim
