// What "tcgen05 for dummies" (S0 of docs/requirements.md) has wrong, put right.
#include <doctest/doctest.h>

#include <algorithm>

#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tmem.hpp"
#include "tests/unit/sim/run.hpp"

namespace truth_walkthrough {

using namespace kiln;

namespace {

// Loads the 64 x 8 box at (k, 0) of a tensor map over `columns` x 8 bf16, out of a matrix with 128 columns.
std::vector<std::uint16_t> load_box(std::uint64_t columns, const std::string& k) {
  std::vector<std::uint16_t> matrix(128 * 8);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = std::uint16_t(i + 1);
  launch::TensorMap map;
  map.buffer = "T";
  map.dtype = isa::ScalarType::bf16;
  map.dims = {columns, 8};
  map.strides = {0, 128 * 2};
  map.box = {64, 8, 1, 1, 1};
  map.swizzle = isa::Swizzle::b128;
  launch::Contract c;
  c.buffers = {test::filled("T", matrix), test::buffer("out", 1024)};
  c.tensor_maps = {{"T", map}};
  launch::Launch l;
  l.params = {test::map("T"), test::pointer("out")};
  c.launches = {l};
  const test::Run r = test::run(test::head + R"(.visible .entry k(.param .align 64 .b8 T[128], .param .u64 out) {
    .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
    .shared .align 1024 .b8 tile[1024]; .shared .align 8 .b64 bar;
    mov.b64 %rd1, T; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [out]; mov.u32 %r1, tile; mov.u32 %r2, bar;
    mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 1024;
    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {)" +
                                    k + R"(, 0}], [%r2];
  W: mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0; @!%p1 bra W;
    mov.u32 %r3, 0;
  D: add.u32 %r4, %r1, %r3; ld.shared.u32 %r5, [%r4]; cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd3, %rd2;
    st.global.u32 [%rd3], %r5; add.u32 %r3, %r3, 4; setp.lt.u32 %p2, %r3, 1024; @%p2 bra D; ret; })",
                                c);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  return r.read<std::uint16_t>("out");
}

}  // namespace

TEST_CASE("S0-9: a tile of 64 rows is no Layout D; an epilogue of a lane per row needs 128") {
  using enum isa::DataPath;
  CHECK(isa::data_path(128, isa::CtaGroup::one, false, false) == D);
  CHECK(isa::data_path(64, isa::CtaGroup::one, false, false) == F);
  CHECK(isa::accumulator_cell(D, 63, 0, 64).lane == 63);
  CHECK(isa::accumulator_cell(F, 63, 0, 64).lane == 111);
}

TEST_CASE("S0-27: a core matrix is 8 rows of 16 bytes; one MMA takes two of them along K") {
  isa::SharedDescriptorFields d;
  d.stride = 128, d.leading = 2048;
  const auto at = [&](int row, int byte) { return isa::k_major_address(d, isa::Swizzle::none, row, byte); };
  CHECK(at(7, 15) == 127);        // the whole core matrix: 128 bytes in a run
  CHECK(at(8, 0) == d.stride);    // the next eight rows are another one
  CHECK(at(0, 16) == d.leading);  // and so are the next sixteen bytes of K
  CHECK(isa::mma_k_bytes == 2 * 16);
}

TEST_CASE("S0-30: .32x32b is 32 lanes of 32 bits, a register for each of .num") {
  const isa::LoadShape shape = isa::load_shape(isa::DataShape::s32x32b);
  CHECK(shape.lanes == 32);
  CHECK(shape.columns == 1);  // a column is a 32-bit cell
  CHECK(shape.registers == 1);
  CHECK(isa::fragment_cell(isa::DataShape::s32x32b, 31, 7) == isa::TmemAddress{31, 7});
}

TEST_CASE("S0-44: the tensor map spans all of K; a map of 64 columns has zeros for every later k") {
  const auto right = load_box(128, "64");
  CHECK(right[0] == 64 + 1);
  const auto wrong = load_box(64, "64");
  CHECK(std::ranges::all_of(wrong, [](std::uint16_t v) { return v == 0; }));
  CHECK(load_box(64, "0")[0] == 1);  // so the first K tile hides the mistake
}

}  // namespace truth_walkthrough
