#include "sim/tensor/core.hpp"

#include <fmt/format.h>

#include <cstring>

#include "ptx/isa/scales.hpp"
#include "ptx/isa/sparse.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "ptx/rules/tcgen05_mma.hpp"
#include "sim/tensor/chain.hpp"
#include "sim/tensor/sides.hpp"

namespace kiln::sim {
namespace {

using isa::MmaKind;
using isa::ScalarType;

// Runs the multiplication on D in place where rows are consecutive lanes, else on a copy.
void multiply(Grid& grid, const MmaTask& task, const Part& part, Cta& cta, num::GemmTask& gemm, const Elements& a,
              const Elements& b) {
  const int column = int(task.d & 0xFFFF), n = part.n;
  const bool in_place = !part.spread && task.disabled == std::array<u32, 8>{};
  std::vector<u32> copy(in_place ? 0 : std::size_t(part.rows * n));
  gemm.d = in_place ? cta.tmem.cell(part.lane, column) : copy.data();
  gemm.d_stride = std::size_t(in_place ? TensorMemory::lane_stride : n);
  if (task.accumulate) check_accumulator(task, part, cta);
  for (int row = 0; row < part.rows && !in_place; ++row)
    std::memcpy(copy.data() + row * n, cta.tmem.cell(part.lane_of(row), column), std::size_t(n) * 4);
  grid.gemm.run(gemm);
  for (int row = 0; row < part.rows; ++row) {
    const int lane = part.lane_of(row);
    if (is_disabled(task, cta, lane)) continue;
    if (!in_place) std::memcpy(cta.tmem.cell(lane, column), copy.data() + row * n, std::size_t(n) * 4);
  }
  mark_accumulator(task, part, cta, a, b);
}

// The collector keeps what an instruction filled it with; the model reads memory every time, which is the same as long
// as memory has not changed. Operands of a masked .ws are not compared: they were not read whole.
void collect(const MmaTask& t, Cta& cta, isa::CollectorUse use, int buffer, const std::vector<u8>& operand) {
  auto& kept = cta.tensor.collected[std::size_t(buffer)];
  const bool uses = use == isa::CollectorUse::use || use == isa::CollectorUse::lastuse;
  if (uses && !t.mask.generate && !kept.empty() && kept != operand)
    fault(rules::Rule::collector_fill, "an operand whose bytes have changed since");
  if (use == isa::CollectorUse::fill) kept = t.mask.generate ? std::vector<u8>{} : operand;
  if (use == isa::CollectorUse::discard || use == isa::CollectorUse::lastuse) kept.clear();
}
void collect(const MmaTask& t, Cta& cta, const std::vector<u8>& operand) {
  collect(t, cta, isa::collector_use(t.form.collector), isa::collector_buffer(t.form.collector, t.form.ws), operand);
}

// One CTA's share: its rows of A against all of B. Scale factors and metadata that are poison make rows of A and
// columns of B so.
void execute_share(Grid& grid, const MmaTask& t, Cta& cta, Elements& b, num::GemmTask gemm) {
  const bool collects = isa::collector_use(t.form.collector) != isa::CollectorUse::discard;
  std::vector<u8> sfa, sfb, collected;
  const std::vector<u8> poison_of_b = b.poison;  // without what the scale factors that this CTA has add to it
  const PoisonSource source_of_b = b.source;
  if (t.scale_vector) {
    sfb = gather_scales(t, cta, isa::ScaleSide::B, b);
    gemm.a.scale_stride = gemm.b.scale_stride = std::size_t(t.scale_vector);
  }
  Elements a(t.rows(), t.form.sparse ? t.k() / 2 : t.k(), t.a_type());
  if (!t.form.a_in_tmem) gather_shared({grid, t.operation, cta}, operand_a(t), a);
  for (const Part& part : parts_of(t)) {
    if (t.form.a_in_tmem) gather_tensor(t, part, cta, a);
    if (t.scale_vector) sfa = gather_scales(t, cta, isa::ScaleSide::A, a);
    gemm.a.scales = sfa.data();
    if (collects) collected.insert(collected.end(), a.data.begin(), a.data.end());
    std::vector<u32> metadata;
    if (t.form.sparse) metadata = gather_metadata(t, part, cta, a);
    gemm.metadata = metadata.data();
    gemm.metadata_stride = std::size_t(metadata_words(t.form.kind));
    gemm.a.elements = a.data.data();
    gemm.a.stride = a.stride();
    gemm.b.elements = b.row(part.first_n);
    gemm.b.scales = sfb.data() + part.first_n * t.scale_vector;
    gemm.m = part.rows, gemm.n = part.n;
    multiply(grid, t, part, cta, gemm, a, b);
  }
  if (!t.form.ws) collect(t, cta, collected);
  b.poison = poison_of_b, b.source = source_of_b;
}

void execute_alone(Grid& grid, const MmaTask& t, Cta& issuer) {
  num::GemmTask gemm;
  gemm.spec = spec_of(t);
  gemm.k = t.k();
  gemm.arithmetic = arithmetic_of(grid);
  Elements b(t.shape.n, t.k(), t.b_type());
  gather_b(grid, t, issuer, b);
  if (t.form.ws) collect(t, issuer, b.data);
  if (!t.form.ws) collect(t, issuer, isa::collector_use(t.form.collector_b), isa::collector_b_buffer, b.data);
  gemm.b.stride = b.stride();
  for (int k = 0; k < t.members(); ++k) execute_share(grid, t, member(t, issuer, k), b, gemm);
}

// Where addresses may start in a quarter of the lanes.
void check_alignment(const MmaTask& t) {
  const auto check = [&](u32 address, const char* what) {
    const auto lane = int(address >> 16 & (isa::tmem_lanes - 1));  // above: a scale id, which the hardware ignores
    require(rules::mma_lane(t.path(), lane), "{} in lane {}", what, lane);
  };
  check(t.d, "D");
  if (t.form.a_in_tmem) check(t.a_tmem, "A");
  if (t.form.sparse) check(t.metadata, "the metadata");
  if (!t.scale_vector) return;
  check(t.sfa, "the scale factors of A");
  check(t.sfb, "the scale factors of B");
}

// Lanes that the documents give no meaning to.
void check_lanes(const MmaTask& t) {
  const bool spread = isa::fills_half_the_lanes(t.path());
  const u32 lane = t.d >> 16;
  if (lane != 0 && !(spread && lane == 16)) unmodelled(fmt::format("an accumulator in lane {}", lane));
  if (t.form.a_in_tmem && t.a_tmem >> 16 != lane) unmodelled("A in other lanes than the accumulator");
  if (t.form.sparse && t.metadata >> 16 != lane) unmodelled("metadata in other lanes than the accumulator");
  constexpr u32 lanes = isa::tmem_lanes - 1;  // the bits above may hold a scale id, which the hardware ignores
  if (t.scale_vector && ((t.sfa | t.sfb) >> 16 & lanes)) unmodelled("scale factors from a lane other than 0");
}

// Selectors above 1 are for layouts that are not published; the columns of a pair begin at an even one.
void check_metadata(const MmaTask& t) {
  if (!t.form.sparse || isa::metadata_columns(t.form.kind) != 1) return;
  if (t.shape.selector > 1) unmodelled(fmt::format("sparsity selector {}", t.shape.selector));
  if (t.metadata & 1) unmodelled("metadata at an odd column");
}

// The ISA's text lets a start count drop any number of bits; one published emulator stops it inside the first span.
void check_mask(const MmaTask& t) {
  if (!t.mask.generate) return;
  for (int part = 0; part < isa::zero_mask_parts(t.shape.m); ++part)
    if (t.mask.start[std::size_t(part)] >= (t.mask.first[std::size_t(part)] ? t.mask.skip : t.mask.use))
      unmodelled("a zero-column mask whose start count reaches past the first span");
}

// D lies apart from what the MMA reads.
void check_overlap(const MmaTask& t) {
  const isa::ColumnRange d{t.d & 0xFFFF, isa::accumulator_columns(t.path(), t.shape.n)};
  const auto check = [&](u32 column, int columns, const char* what) {
    require(rules::mma_overlap(d, {column, columns}), "{} in columns {} to {}, D in columns {} to {}", what, column,
            column + u32(columns) - 1, d.first, d.end() - 1);
  };
  if (t.form.a_in_tmem) check(t.a_tmem & 0xFFFF, isa::a_columns(t.shape.k96), "A");
  if (t.form.sparse) check(u32(t.metadata_column()), isa::metadata_columns(t.form.kind), "the metadata");
  if (!t.scale_vector) return;
  check(t.sfa & (isa::tmem_columns - 1), scale_footprint(t, isa::ScaleSide::A), "the scale factors of A");
  check(t.sfb & (isa::tmem_columns - 1), scale_footprint(t, isa::ScaleSide::B), "the scale factors of B");
}

}  // namespace

void check_mma(const MmaTask& t, Cta& issuer) {
  check_alignment(t);
  check_lanes(t);
  check_metadata(t);
  check_mask(t);
  check_overlap(t);
  const MmaKind kind = t.form.kind;
  for (int k = 0; k < t.members(); ++k) {
    Cta& cta = member(t, issuer, k);
    require(rules::peer_exited(cta.exited), "CTA {} of the cluster, which has exited", cta.rank);
    cta.tmem.check_columns(int(t.d & 0xFFFF), isa::accumulator_columns(t.path(), t.shape.n), "the accumulator");
    if (t.form.a_in_tmem)
      cta.tmem.check_columns(int(t.a_tmem & 0xFFFF), isa::a_columns(t.shape.k96), "operand A");
    else
      check_operand(operand_a(t), cta, "A");
    check_operand(operand_b(t), cta, "B");
    if (t.form.sparse) cta.tmem.check_columns(t.metadata_column(), isa::metadata_columns(kind), "the metadata");
    if (!t.scale_vector) continue;
    cta.tmem.check_columns(int(t.sfa & 0x1FF), scale_footprint(t, isa::ScaleSide::A), "the scale factors of A");
    cta.tmem.check_columns(int(t.sfb & 0x1FF), scale_footprint(t, isa::ScaleSide::B), "the scale factors of B");
  }
}

void execute_mma(Grid& grid, const MmaTask& t, Cta& issuer) {
  if (may_chain(t))
    execute_chained(grid, t, issuer);
  else
    execute_alone(grid, t, issuer);
  ++grid.statistics.mma_instructions;
  grid.statistics.mma_flops += u64(2) * u64(t.shape.m) * u64(t.shape.n) * u64(t.k());
}

}  // namespace kiln::sim
