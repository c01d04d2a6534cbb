// Tensor maps in a table that a launch gives by value, of which each CTA chooses one: exploring goes by the CTAs.
#include <doctest/doctest.h>

#include "ptx/diag/render.hpp"
#include "tests/unit/verifier/explored.hpp"

namespace verifier_chosen_map {

using namespace kiln;
using namespace kiln::test;

namespace {

// A row of the table has a map and how many bytes a box of it has.
constexpr std::uint32_t row_bytes = 192;
const std::string chooser = preamble + R"(
.visible .entry k(.param .align 64 .b8 table[384]) .reqntid 32
{
  .reg .pred %p, %q, %first; .reg .b32 %r<9>; .reg .b64 %rd<9>;
  .shared .align 1024 .b8 tile[512];
  .shared .align 8 .b64 full;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd1, %r1, 192;
  mov.b64 %rd2, table;
  add.u64 %rd3, %rd2, %rd1;
  ld.param.u32 %r2, [%rd3+128];
  cvta.param.u64 %rd4, %rd2;
  add.u64 %rd5, %rd4, %rd1;
  setp.eq.u32 %first, %r0, 0;
  @%first mbarrier.init.shared::cta.b64 [full], 1;
  @%first fence.mbarrier_init.release.cluster;
  bar.sync 0;
  @!%first bra FULL;
  mov.u32 %r5, 0;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], %r2;
  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [%rd5, {%r5, %r5}], [full];
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %q, [full], 0;
  @!%q bra FULL;
  ret;
}
)";

launch::TensorMap boxes_of(std::uint32_t rows) {
  launch::TensorMap m;
  m.buffer = "T", m.dtype = isa::ScalarType::u8;
  m.dims = {64, 8, 1, 1, 1};
  m.strides[1] = 64;
  m.box = {64, rows, 1, 1, 1};
  return m;
}

// Two CTAs, with boxes of 4 and of 8 rows.
launch::Contract contract(std::uint64_t first_bytes, std::uint64_t second_bytes) {
  launch::Contract c;
  launch::Buffer tensor;
  tensor.name = "T", tensor.shape = {8, 64};
  c.buffers.push_back(std::move(tensor));
  launch::StructParam table;
  table.size = 2 * row_bytes;
  std::uint32_t at = 0;
  for (const auto& [name, rows, bytes] : {std::tuple{"four", 4u, first_bytes}, std::tuple{"eight", 8u, second_bytes}}) {
    c.tensor_maps[name] = boxes_of(rows);
    table.fields.push_back({at, {{launch::TensorMapParam{name}}}});
    table.fields.push_back({at + 128, {{launch::ScalarParam{isa::ScalarType::u32, bytes}}}});
    at += row_bytes;
  }
  launch::Launch l;
  l.grid = {2, 1, 1}, l.block = {32, 1, 1}, l.cluster = {1, 1, 1};
  l.params.push_back({{std::move(table)}});
  c.launches.push_back(std::move(l));
  return c;
}

std::string said(const launch::Contract* launch) {
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<diag::Source>("t.ptx", chooser), sink);
  REQUIRE_FALSE(sink.has_errors());
  verifier::check_synchronisation(module, sink, launch);
  return diag::render_text(sink);
}

}  // namespace

TEST_CASE("each CTA of a launch expects the bytes of the map that it chooses") {
  const launch::Contract right = contract(256, 512);
  CHECK(said(&right).empty());
}

TEST_CASE("a CTA that expects more or fewer bytes than its map's box has is found, and says where it stands") {
  const launch::Contract more = contract(256, 768);
  CHECK(said(&more).find("%clusterid = (1, 0, 0)") != std::string::npos);
  const launch::Contract fewer = contract(128, 512);
  CHECK(said(&fewer).find("%clusterid = (0, 0, 0)") != std::string::npos);
}

TEST_CASE("without a launch it is not known how many bytes a CTA expects, and nothing is proven") {
  CHECK(said(nullptr).find("expected bytes is not known") != std::string::npos);
}

}  // namespace verifier_chosen_map
