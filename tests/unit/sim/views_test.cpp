// Maps of memory and the step view, against plain loops over the ISA's functions.
#include <doctest/doctest.h>

#include <set>

#include "sim/views/accumulation.hpp"
#include "sim/views/memory_map.hpp"
#include "sim/views/tracer.hpp"
#include "tests/unit/sim/mma_problem.hpp"

namespace sim_views {

using namespace kiln;
using namespace kiln::test;

namespace {

using Cell = std::pair<int, int>;

std::set<Cell> cells(const sim::MemoryMap& map, sim::Operand operand) {
  std::set<Cell> out;
  std::size_t counted = 0;
  for (const sim::TensorUse& u : map.tensor) {
    if (u.use.operand != operand) continue;
    for (const sim::TensorArea& a : u.areas)
      for (int lane = a.lane; lane < a.lane + a.lanes; ++lane)
        for (int column = a.column; column < a.column + a.columns; ++column, ++counted) out.insert({lane, column});
  }
  CHECK(counted == out.size());  // areas of a use do not overlap
  return out;
}

std::vector<sim::MemoryMap> mapped(MmaProblem p) {
  p.draw(3);
  MmaMachine machine = p.machine();
  sim::MemoryMapper mapper;
  machine.observer = &mapper;
  const Run r = machine.run(p.instruction());
  REQUIRE_MESSAGE(r.clean(), r.findings());
  return mapper.take();
}

std::set<Cell> accumulator(const MmaProblem& p, int cta) {
  std::set<Cell> out;
  for (int m = 0; m < p.m; ++m)
    for (int n = 0; n < p.n; ++n) {
      const isa::AccumulatorCell c = isa::accumulator_cell(p.path(), m, n, p.n, p.lane);
      if (c.cta == cta) out.insert({c.lane, c.column});
    }
  return out;
}

}  // namespace

TEST_CASE("a map of tensor memory has the accumulator's cells, for each group and M") {
  for (const auto& [m, ctas, ws] :
       {std::tuple{128, 1, false}, {64, 1, false}, {64, 1, true}, {32, 1, true}, {256, 2, false}, {128, 2, false}}) {
    MmaProblem p;
    p.m = m, p.ctas = ctas, p.ws = ws;
    p.n = 64;
    const std::vector<sim::MemoryMap> maps = mapped(p);
    REQUIRE(maps.size() == std::size_t(ctas));
    for (int cta = 0; cta < ctas; ++cta)
      CHECK(cells(maps[std::size_t(cta)], sim::Operand::accumulator) == accumulator(p, cta));
    REQUIRE(maps[0].mmas.size() == 1);
    CHECK(maps[0].mmas[0].m == m);
    CHECK(maps[0].mmas[0].n == 64);
    CHECK(maps[0].mmas[0].k == 16);
    CHECK(maps[0].mmas[0].a == isa::ScalarType::bf16);
    CHECK(maps[0].allocations.size() == 1);
    CHECK(maps[0].allocations[0].columns == TensorPicture::columns);
  }
}

TEST_CASE("a map tells operand A, metadata and scale factors in tensor memory apart") {
  MmaProblem p;
  p.sparse = p.a_in_tmem = true;
  const sim::MemoryMap map = mapped(p).front();
  std::set<Cell> a, metadata;
  for (int lane = 0; lane < 128; ++lane) {
    for (int c = 0; c < 8; ++c) a.insert({lane, MmaProblem::a_column + c});
    metadata.insert({lane, MmaProblem::metadata_column});
  }
  CHECK(cells(map, sim::Operand::a) == a);
  CHECK(cells(map, sim::Operand::metadata) == metadata);
  CHECK(cells(map, sim::Operand::scales_a).empty());

  MmaProblem s;
  s.kind = isa::MmaKind::mxf8f6f4;
  s.a_type = s.b_type = isa::ScalarType::e4m3;
  s.scales = 1;
  s.scale_type = isa::ScalarType::ue8m0;
  s.n = 32;
  const sim::MemoryMap scaled = mapped(s).front();
  for (const auto& [operand, column, rows] : {std::tuple{sim::Operand::scales_a, MmaProblem::sfa_column, 128},
                                              {sim::Operand::scales_b, MmaProblem::sfb_column, 32}}) {
    std::set<Cell> want;
    for (int row = 0; row < rows; ++row)
      for (int quarter = 0; quarter < 4; ++quarter) {
        const isa::ScaleCell c = isa::scale_cell(row);
        want.insert({32 * quarter + c.lane, column + c.column});
      }
    CHECK(cells(scaled, operand) == want);
  }
}

TEST_CASE("a map of shared memory names variables, mbarriers and the roles that use them") {
  const sim::MemoryMap map = mapped(MmaProblem{}).front();
  std::map<std::string, const sim::SharedRegion*> by_name;
  std::uint32_t end = 0;
  for (const sim::SharedRegion& r : map.shared) {
    CHECK(r.begin >= end);  // in order, and apart
    end = r.begin + r.bytes;
    by_name[r.name] = &r;
  }
  REQUIRE(by_name.count("tile") == 1);
  CHECK(by_name["tile"]->bytes == 32768);
  REQUIRE(by_name.count("bar") == 1);
  CHECK(by_name["bar"]->is_mbarrier);
  CHECK(by_name.count("slot") == 1);
  std::set<sim::Operand> read;
  for (const sim::MapUse& u : by_name["tile"]->uses) read.insert(u.operand);
  CHECK(read == std::set{sim::Operand::none, sim::Operand::a, sim::Operand::b});
}

TEST_CASE("a trace has a process for each CTA of a pair, and the pair's MMA on the issuer's tensor core") {
  MmaProblem p;
  p.m = 256, p.ctas = 2;
  p.draw(3);
  MmaMachine machine = p.machine();
  sim::Tracer tracer;
  machine.observer = &tracer;
  REQUIRE(machine.run(p.instruction()).clean());
  const sim::Trace trace = tracer.take();
  REQUIRE(trace.processes.size() == 2);
  CHECK(trace.processes[1].name == "CTA (1, 0, 0)");
  int mmas = 0;
  for (const sim::TraceSlice& s : trace.slices) {
    if (s.name != "mma" || s.arguments.back().first != "queued for ticks") continue;
    ++mmas;
    CHECK(s.process == 0);
  }
  CHECK(mmas == 1);
  CHECK(trace.spans.size() == 2);  // each CTA's columns
}

TEST_CASE("launches follow each other in a trace, and their clusters begin together") {
  launch::Contract c;
  c.buffers.push_back(buffer("out", 256));
  launch::Launch l;
  l.grid = {2, 1, 1};
  l.params = {pointer("out")};
  c.launches = {l, l};
  diag::Sink sink;
  const ir::Module module = parse::parse(
      std::make_shared<const diag::Source>("k.ptx", kernel("mov.u32 %r1, 1; add.u32 %r1, %r1, %r1;")), sink);
  sim::Tracer tracer;
  REQUIRE(sim::simulate(module, c, {}, sink, &tracer).outcome == sim::Outcome::finished);
  const sim::Trace trace = tracer.take();
  REQUIRE(trace.processes.size() == 4);
  CHECK(trace.processes[3].name == "launch 2: CTA (1, 0, 0)");
  std::map<std::uint32_t, std::pair<sim::Tick, sim::Tick>> extent;
  for (const sim::TraceSlice& s : trace.slices) extent[s.process] = {s.begin, s.end};
  REQUIRE(extent.size() == 4);
  CHECK(extent[0] == std::pair<sim::Tick, sim::Tick>{0, 4});  // ld.param, mov, add, ret
  CHECK(extent[1] == extent[0]);
  CHECK(extent[2] == std::pair<sim::Tick, sim::Tick>{4, 8});
  CHECK(extent[3] == extent[2]);
}

TEST_CASE("the step view reads each element once, where the descriptor's address function says") {
  const sim::AccumulationShape shape;
  for (const auto major : {isa::Major::K, isa::Major::MN})
    for (const auto swizzle : {isa::Swizzle::none, isa::Swizzle::b32, isa::Swizzle::b64, isa::Swizzle::b128})
      for (const int rows : {8, 16, 32, 64, 128}) {
        const sim::TilePieces t = sim::tile_pieces(major, swizzle, rows, shape);
        std::set<std::uint32_t> taken;
        std::set<Cell> elements;
        int wrong = 0;
        const bool k_major = major == isa::Major::K;
        const auto span = std::uint32_t(isa::span_bytes(swizzle));
        for (const sim::OperandPiece& p : t.pieces) {
          wrong += p.address % 16 != 0 || p.address + 16 > t.bytes || !taken.insert(p.address).second;
          wrong += p.k / shape.step_k() != p.step;
          for (int e = 0; e < 8; ++e) elements.insert(k_major ? Cell{p.row, p.k + e} : Cell{p.row + e, p.k});
          // A tile is blocks of one span, each with all rows of the other dimension: written down once more.
          const auto inner = std::uint32_t(2 * (k_major ? p.k : p.row)), outer = std::uint32_t(k_major ? p.row : p.k);
          const std::uint32_t linear =
              inner / span * span * std::uint32_t(k_major ? rows : shape.k()) + outer * span + inner % span;
          wrong += p.address != isa::swizzled(swizzle, linear);
        }
        CHECK_MESSAGE(wrong == 0, isa::spelling(swizzle), " rows ", rows, k_major ? " K" : " MN");
        CHECK(elements.size() == std::size_t(rows * shape.k()));
      }
}

TEST_CASE("the sums of the step view are those of a plain loop, after every step") {
  const sim::AccumulationShape shape;
  const sim::Accumulation x = sim::accumulate(shape);
  REQUIRE(x.sums.size() == std::size_t(shape.steps));
  for (int step = 0; step < shape.steps; ++step) {
    int wrong = 0;
    for (int m = 0; m < shape.m; ++m)
      for (int n = 0; n < shape.n; ++n) {
        int sum = 0;
        for (int k = 0; k < (step + 1) * 16; ++k)
          sum += x.a[std::size_t(m * shape.k() + k)] * x.b[std::size_t(n * shape.k() + k)];
        wrong += x.sums[std::size_t(step)][std::size_t(m * shape.n + n)] != float(sum);
      }
    CHECK(wrong == 0);
  }
}

}  // namespace sim_views
