// What "tcgen05 and the Tensor Memory Model" (S2 of docs/requirements.md) has wrong about tensor memory, put right.
#include <doctest/doctest.h>

#include "ptx/isa/scales.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/num/window.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "tests/unit/sim/tensor_kernel.hpp"
#include "tests/unit/truth/asked.hpp"

namespace truth_tensor_memory {

using namespace kiln;

TEST_CASE("S2-3: D is in tensor memory and B never; A may be in either") {
  test::accepted({"tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, r1, p1;",
                  "tcgen05.mma.cta_group::1.kind::f16 [r0], [r3], d2, r1, p1;"});
  test::refused("tcgen05.mma.cta_group::1.kind::f16 [r0], [r3], [r2], r1, p1;",
                "arguments mismatch for instruction 'tcgen05.mma'");
  test::refused("tcgen05.mma.cta_group::1.kind::f16 d0, d1, d2, r1, p1;",
                "arguments mismatch for instruction 'tcgen05.mma'");
}

TEST_CASE("S2-6, S2-17: two CTAs hold different cells under one address, and each only those that it allocated") {
  // Both CTAs get all 512 columns, put their number to cell (0, 0), meet, and read it back.
  const auto two = [](const std::string& columns, const std::string& at) {
    launch::Contract c;
    c.buffers = {test::buffer("out", 16)};
    launch::Launch l;
    l.grid = {2, 1, 1};
    l.block = {32, 1, 1};
    l.params = {test::pointer("out")};
    c.launches = {l};
    return test::run(test::head + R"(.visible .entry k(.param .u64 out) .reqnctapercluster 2, 1, 1 {
      .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p; .shared .align 4 .b32 slot;
      ld.param.u64 %rd1, [out]; mov.u32 %r1, slot; mov.u32 %r3, %ctaid.x;
      tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], )" +
                         columns + R"(;
      ld.shared.u32 %r2, [%r1]; mul.wide.u32 %rd2, %r3, 8; add.u64 %rd2, %rd2, %rd1;
      st.global.u32 [%rd2], %r2; add.u32 %r5, %r2, )" +
                         at + R"(;
      tcgen05.st.sync.aligned.32x32b.x1.b32 [%r5], {%r3}; tcgen05.wait::st.sync.aligned;
      barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
      tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%r5]; tcgen05.wait::ld.sync.aligned; st.global.u32 [%rd2+4], %r4;
      tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, )" +
                         columns + "; ret; }",
                     c);
  };
  const test::Run own = two("512", "0");
  REQUIRE_MESSAGE(own.clean(), own.findings());
  CHECK(own.read<std::uint32_t>("out") == std::vector<std::uint32_t>{0, 0, 0, 1});
  CHECK(two("32", "32").has("[tcgen05-tmem-range]"));
}

TEST_CASE("S2-17: rows 0 and 128 of an MMA over two CTAs are lane 0 of either, not two lanes of one memory") {
  const auto low = isa::accumulator_cell(isa::DataPath::A, 0, 5, 64),
             high = isa::accumulator_cell(isa::DataPath::A, 128, 5, 64);
  CHECK(low == isa::AccumulatorCell{0, 0, 5});
  CHECK(high == isa::AccumulatorCell{1, 0, 5});
}

TEST_CASE("S2-8: an address is a lane and a column of sixteen bits each and knows no size") {
  CHECK(isa::pack(isa::TmemAddress{96, 511}) == 0x0060'01FF);
  CHECK(isa::unpack_tmem(0x0060'01FF) == isa::TmemAddress{96, 511});
  const auto address = [](int columns) {
    const auto r = test::run_tensor(test::tensor_kernel("st.global.u32 [%own], %r2;", columns),
                                    std::vector<std::uint8_t>(16), 512);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    return r.read<std::uint32_t>("out")[0];
  };
  CHECK(address(32) == address(512));
}

TEST_CASE("S2-9, S2-20: a cell is 32 bits, a column 512 bytes, and the least allocation 16 KiB") {
  const isa::LoadShape shape = isa::load_shape(isa::DataShape::s32x32b);
  CHECK(shape.columns == shape.registers);  // a column is one 32-bit register of each lane
  constexpr int column_bytes = isa::tmem_lanes * 4;
  CHECK(column_bytes == 512);
  CHECK(rules::alloc_columns(1).broken());
  CHECK(rules::alloc_columns(isa::tmem_min_allocation).ok());
  CHECK(isa::tmem_min_allocation * column_bytes == 16 * 1024);
  test::refused("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r0], 1;", "value '1' out of range");
}

TEST_CASE("S2-11: M = 64 lies in four runs of sixteen lanes") {
  const auto path = isa::data_path(64, isa::CtaGroup::one, false, false);
  std::vector<int> first_lanes;
  for (int m = 0; m < 64; m += 16) {
    first_lanes.push_back(isa::accumulator_cell(path, m, 0, 128).lane);
    CHECK(isa::accumulator_cell(path, m + 15, 0, 128).lane == first_lanes.back() + 15);
  }
  CHECK(first_lanes == std::vector{0, 32, 64, 96});
}

TEST_CASE("S2-12: an accumulator has N columns, whatever K is") {
  const auto path = isa::data_path(128, isa::CtaGroup::one, false, false);
  CHECK(isa::accumulator_columns(path, 128) == 128);
  CHECK(isa::accumulator_cell(path, 0, 127, 128).column == 127);
  // 128 x 128 of kind::f16 has K = 16, of kind::mxf4 K = 64: the same D for both.
  CHECK(isa::mma_k(isa::MmaKind::f16) == 16);
  CHECK(isa::mma_k(isa::MmaKind::mxf4) == 64);
}

TEST_CASE("S2-15: ld fills registers, st empties them, and neither knows shared memory") {
  test::accepted(
      {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {r1}, [r0];", "tcgen05.st.sync.aligned.32x32b.x1.b32 [r0], {r1};"});
  test::refused("tcgen05.ld.sync.aligned.32x32b.x1.b32 [smem], [r0];", "vector expected for argument 0");
  test::refused("tcgen05.st.sync.aligned.32x32b.x1.b32 [r0], [smem];", "vector expected for argument 1");
}

TEST_CASE(
    "S2-21, S2-23: tensor memory has 512 columns of 128 lanes x 32 bit, 256 KiB; m64n128 in f32 takes 128 of them") {
  CHECK(isa::tmem_columns * isa::tmem_lanes * 4 == 256 * 1024);
  CHECK(rules::alloc_columns(512).ok());
  test::accepted({"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r0], 512;"});
  const auto path = isa::data_path(64, isa::CtaGroup::one, false, false);
  CHECK(isa::accumulator_columns(path, 128) == 128);
  CHECK(isa::accumulator_columns(path, 128) * isa::tmem_lanes * 4 == 64 * 1024);  // half of it payload
  CHECK(rules::alloc_columns(16).broken());
}

TEST_CASE("S2-22: an allocation has 32, 64, 128, 256 or 512 columns") {
  std::vector<int> sizes;
  for (int n = 0; n <= 1024; ++n)
    if (rules::alloc_columns(n).ok()) sizes.push_back(n);
  CHECK(sizes == std::vector{32, 64, 128, 256, 512});
}

TEST_CASE("S2-24: A of 64 x 16 f16 in tensor memory is eight columns a K step") {
  CHECK(isa::mma_k(isa::MmaKind::f16) * isa::container_bits(isa::MmaKind::f16) / 32 == 8);
  CHECK(isa::mma_k_bytes / 4 == 8);  // of every kind
}

TEST_CASE("S2-25: the scales of A take four columns, those of B four or eight") {
  CHECK(isa::scale_columns(128) == 4);
  CHECK(isa::scale_columns(256) == 8);
  CHECK(isa::scale_cell(127).column == 3);
  CHECK(isa::scale_cell(255).column == 7);
  // One column holds a row's scales of a whole K step, be they one, two or four.
  CHECK(isa::scales_per_row(isa::MmaKind::mxf8f6f4, isa::ScaleVector::none) == 1);
  CHECK(isa::scales_per_row(isa::MmaKind::mxf4nvf4, isa::ScaleVector::x4) == 4);
}

TEST_CASE("S2-92: metadata is two 2-bit indices for four elements, one 4-bit index for two of tf32") {
  // 32 elements of K are eight groups of four: 32 bits of metadata, not 64, and not eight bytes.
  const std::vector<std::uint32_t> words{0x6E4C6E4C};
  using num::MmaKind, num::sparse_column;
  CHECK(sparse_column(MmaKind::f16, 0, words) == 0);  // 0xC = 0b11'00: elements 0 and 3
  CHECK(sparse_column(MmaKind::f16, 1, words) == 3);
  CHECK(sparse_column(MmaKind::f16, 14, words) == 28 + 2);  // the eighth group, 0x6 = 0b01'10, still in the first word
  CHECK(sparse_column(MmaKind::f16, 15, words) == 28 + 1);
  CHECK(sparse_column(MmaKind::tf32, 1, words) == 2);  // 0x4: the first of elements 2 and 3
  CHECK(sparse_column(MmaKind::tf32, 2, words) == 5);  // 0xE: the second of elements 4 and 5
  CHECK(sparse_column(MmaKind::mxf4, 2, words) == 6);  // 0xC: pairs 0 and 3 of eight elements
}

}  // namespace truth_tensor_memory
