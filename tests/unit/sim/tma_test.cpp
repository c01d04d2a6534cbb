// Tensor copies: where the bytes of a box end up.
#include <doctest/doctest.h>

#include "ptx/diag/error.hpp"
#include "sim/async/tensor_map.hpp"
#include "tests/unit/sim/tiled_map.hpp"

namespace sim_tma {

using namespace kiln;
using namespace kiln::test;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

namespace {

constexpr u32 area = 32768;  // bytes of shared memory that are dumped
constexpr u32 untouched = 0xEEEEEEEE;

// Fills shared memory with a mark, loads one box to `offset`, waits for `bytes`, and dumps everything.
std::string load_kernel(int dims, const std::string& coordinates, u32 offset, u32 bytes) {
  return head +
         ".extern .shared .align 1024 .b8 tiles[];\n"
         ".visible .entry k(.param .align 64 .b8 T[128], .param .u64 out) {\n"
         ".reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>;\n"
         ".shared .align 8 .b64 bar;\n"
         "mov.b64 %rd1, T; cvta.param.u64 %rd1, %rd1;\n"
         "ld.param.u64 %rd2, [out]; mov.u32 %r1, tiles; mov.u32 %r2, bar; mov.u32 %r3, 0;\n"
         "mbarrier.init.shared.b64 [%r2], 1;\n"
         "F: add.u32 %r4, %r1, %r3; st.shared.u32 [%r4], " +
         std::to_string(untouched) + "; add.u32 %r3, %r3, 4; setp.lt.u32 %p1, %r3, " + std::to_string(area) +
         "; @%p1 bra F;\n"
         "fence.proxy.async.shared::cta;\n"
         "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], " +
         std::to_string(bytes) +
         ";\n"
         "cp.async.bulk.tensor." +
         std::to_string(dims) + "d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1+" +
         std::to_string(offset) + "], [%rd1, {" + coordinates +
         "}], [%r2];\n"
         "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra W;\n"
         "mov.u32 %r3, 0;\n"
         "D: add.u32 %r4, %r1, %r3; ld.shared.u32 %r5, [%r4]; cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd3, %rd2; "
         "st.global.u32 [%rd3], %r5;\n"
         "add.u32 %r3, %r3, 4; setp.lt.u32 %p1, %r3, " +
         std::to_string(area) + "; @%p1 bra D;\nret;\n}\n";
}

Run load(const launch::TensorMap& m, launch::Buffer data, const std::string& coordinates, u32 bytes, u32 offset = 0) {
  launch::Contract c;
  c.buffers = {std::move(data), buffer("out", area)};
  c.tensor_maps = {{"T", m}};
  launch::Launch l;
  l.dynamic_smem = area;
  l.params = {map("T"), pointer("out")};
  c.launches = {l};
  return run(load_kernel(m.rank, coordinates, offset, bytes), c);
}

Run load(const launch::TensorMap& m, const std::vector<u16>& data, const std::string& coordinates, u32 bytes,
         u32 offset = 0) {
  return load(m, filled("T", data), coordinates, bytes, offset);
}

std::vector<u16> counting(std::size_t n) {
  std::vector<u16> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = u16(i + 1);
  return v;
}

// Where byte `b` of row `r` lies, from the published pictures: rows of `span` bytes, 16-byte chunk index XOR a row
// number; larger atoms as the PTX ISA's tables have them.
u32 pictured(isa::Swizzle s, u32 row, u32 byte) {
  constexpr u32 by_32[4][8] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 6, 7, 4, 5}, {4, 5, 6, 7, 0, 1, 2, 3}, {6, 7, 4, 5, 2, 3, 0, 1}};
  constexpr u32 by_64[2][8] = {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}};
  switch (s) {
    case isa::Swizzle::b128: return row * 128 + ((byte / 16 ^ row % 8) * 16) + byte % 16;
    case isa::Swizzle::b64: return row * 64 + ((byte / 16 ^ row / 2 % 4) * 16) + byte % 16;
    case isa::Swizzle::b32: return row * 32 + ((byte / 16 ^ row / 4 % 2) * 16) + byte % 16;
    case isa::Swizzle::b128_atom32: return row * 128 + by_32[row % 4][byte / 16] * 16 + byte % 16;
    case isa::Swizzle::b128_atom64: return row * 128 + by_64[row % 2][byte / 16] * 16 + byte % 16;
    default: return row * 0 + byte;
  }
}

}  // namespace

TEST_CASE("each swizzle puts a box where the pictures show it") {
  const auto data = counting(256 * 64);
  for (const auto& [swizzle, columns] : {std::pair{isa::Swizzle::b128, 64u},
                                         {isa::Swizzle::b64, 32u},
                                         {isa::Swizzle::b32, 16u},
                                         {isa::Swizzle::b128_atom32, 64u},
                                         {isa::Swizzle::b128_atom64, 64u}}) {
    const Run r = load(matrix(256, 64, columns, 16, swizzle), data, "64, 8", columns * 2 * 16);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    const auto out = r.read<u16>("out");
    for (u32 row = 0; row < 16; ++row)
      for (u32 x = 0; x < columns; ++x) CHECK(out[pictured(swizzle, row, x * 2) / 2] == data[(8 + row) * 256 + 64 + x]);
  }
}

TEST_CASE("the swizzle keys on the address, not on the row of the tile") {
  const auto data = counting(256 * 64);
  const Run r = load(matrix(256, 64, 64, 8, isa::Swizzle::b128), data, "0, 0", 1024, 384);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u16>("out");
  CHECK(out[(384 + (0 ^ 3) * 16) / 2] == data[0]);
  CHECK(out[(384 + 128 + (1 ^ 4) * 16) / 2] == data[256 + 8]);
}

TEST_CASE("without a swizzle rows are packed; with one a narrow row keeps the span as its pitch") {
  const auto data = counting(256 * 64);
  const Run packed = load(matrix(256, 64, 24, 4, isa::Swizzle::none), data, "0, 0", 24 * 2 * 4);
  REQUIRE_MESSAGE(packed.clean(), packed.findings());
  CHECK(packed.read<u16>("out")[24] == data[256]);
  CHECK(packed.read<u16>("out")[96] == u16(untouched));
  const Run narrow = load(matrix(256, 64, 16, 4, isa::Swizzle::b128), data, "0, 0", 16 * 2 * 4);
  REQUIRE_MESSAGE(narrow.clean(), narrow.findings());
  const auto out = narrow.read<u16>("out");
  CHECK(out[0] == data[0]);
  CHECK(out[64 + 8] == data[256]);    // row 1, chunk 0 at chunk 1
  CHECK(out[64] == data[256 + 8]);    // row 1, chunk 1 at chunk 0
  CHECK(out[128 + 16] == data[512]);  // row 2, chunk 0 at chunk 2
  CHECK(out[16] == u16(untouched));   // the rest of row 0 stays
}

TEST_CASE("what lies outside the tensor is filled and still counts") {
  const auto data = counting(64 * 4);
  launch::TensorMap m = matrix(64, 4, 64, 8, isa::Swizzle::none, isa::ScalarType::bf16);
  const Run zeros = load(m, data, "-8, -1", 64 * 8 * 2);
  REQUIRE_MESSAGE(zeros.clean(), zeros.findings());
  const auto out = zeros.read<u16>("out");
  CHECK(out[63] == 0);      // row -1
  CHECK(out[64 + 7] == 0);  // column -1
  CHECK(out[64 + 8] == data[0]);
  CHECK(out[5 * 64 + 8] == 0);  // row 4
  m.oob = launch::OutOfBounds::nan;
  const Run nans = load(m, data, "8, 2", 64 * 8 * 2);
  REQUIRE_MESSAGE(nans.clean(), nans.findings());
  CHECK(nans.read<u16>("out")[0] == data[2 * 64 + 8]);
  CHECK(nans.read<u16>("out")[63] == 0x7FF7);
  CHECK(nans.read<u16>("out")[2 * 64] == 0x7FF7);
}

TEST_CASE("a box takes along what was never written, and fills the rest") {
  const launch::TensorMap m = matrix(256, 64, 64, 16, isa::Swizzle::b128);
  const launch::Buffer poison = buffer("T", 256 * 64 * 2, launch::Init::Kind::poison);
  CHECK(load(m, poison, "64, 8", 64 * 2 * 16).has("[memory-uninitialised]"));
  const Run outside = load(m, poison, "256, 8", 64 * 2 * 16);
  CHECK_MESSAGE(outside.clean(), outside.findings());
}

TEST_CASE("three dimensions and element strides") {
  const auto data = counting(16 * 8 * 4);
  launch::TensorMap m = matrix(16, 8, 8, 4, isa::Swizzle::none);
  m.rank = 3;
  m.dims = {16, 8, 4};
  m.strides = {0, 32, 256};
  m.box = {8, 4, 2, 1, 1};
  m.element_strides = {1, 2, 1, 1, 1};
  const Run r = load(m, data, "8, 1, 2", 8 * 2 * 2 * 2);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u16>("out");
  CHECK(out[0] == data[2 * 128 + 1 * 16 + 8]);
  CHECK(out[8] == data[2 * 128 + 3 * 16 + 8]);
  CHECK(out[16] == data[3 * 128 + 1 * 16 + 8]);
}

TEST_CASE("copies that the hardware kills are named") {
  const auto data = counting(256 * 64);
  CHECK(load(matrix(256, 64, 64, 8, isa::Swizzle::b128), data, "4, 0", 1024).has("[tma-coordinate]"));
  CHECK(load(matrix(256, 64, 64, 8, isa::Swizzle::b128), data, "-4, 0", 1024).has("[tma-coordinate]"));
  CHECK(load(matrix(256, 64, 64, 8, isa::Swizzle::b128), data, "0, 0", 1024, 64).has("[tma-alignment]"));
  CHECK(load(matrix(256, 64, 64, 8, isa::Swizzle::b128), data, "0, 0", 1024, area - 512).has("[memory-bounds]"));
  launch::TensorMap three = matrix(256, 64, 64, 8, isa::Swizzle::b128);
  three.rank = 3;
  CHECK_THROWS_AS(load(matrix(256, 64, 128, 8, isa::Swizzle::b128), data, "0, 0", 1024), diag::InputError);
}

TEST_CASE("a tensor map must be one that the contract encoded") {
  launch::TensorMap m = matrix(256, 64, 64, 8, isa::Swizzle::b128);
  sim::TensorMapBytes bytes = sim::encode(m, 0x1000);
  const sim::TensorMapImage image = sim::decode_tensor_map(bytes.data());
  CHECK(image.address == 0x1000);
  CHECK(image.dims[1] == 64);
  CHECK(image.strides[0] == 512);
  CHECK(image.box[0] == 64);
  const Run r = run(head +
                        ".visible .entry k(.param .u64 out) { .reg .b64 %rd<3>; .shared .align 128 .b8 s[256]; .shared "
                        ".align 8 .b64 bar; .reg .b32 %r<3>;\n"
                        "ld.param.u64 %rd1, [out]; mov.u32 %r1, s; mov.u32 %r2, bar;\n"
                        "cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, "
                        "{0}], [%r2]; ret; }",
                    [] {
                      launch::Contract c;
                      c.buffers = {buffer("out", 256)};
                      launch::Launch l;
                      l.params = {pointer("out")};
                      c.launches = {l};
                      return c;
                    }());
  CHECK(r.has("[tma-map]"));
}

TEST_CASE("the address of a tensor map that is a parameter is generic only after cvta.param") {
  launch::Contract c;
  c.buffers = {buffer("D", 32 * 8 * 2)};
  launch::TensorMap m = matrix(32, 8, 32, 4, isa::Swizzle::none);
  m.buffer = "D";
  c.tensor_maps = {{"D", m}};
  launch::Launch l;
  l.params = {scalar(isa::ScalarType::u32, 0), map("D")};
  c.launches = {l};
  const auto with = [&](const std::string& address, const std::string& copy) {
    return run(head +
                   ".visible .entry k(.param .u32 x, .param .align 64 .b8 D[128]) {\n"
                   ".reg .b64 %rd<3>; .reg .b32 %r; .reg .pred %p;\n"
                   ".shared .align 128 .b8 s[256]; .shared .align 8 .b64 bar;\n"
                   "mbarrier.init.shared::cta.b64 [bar], 1; mov.u32 %r, s; st.bulk.weak.shared::cta [%r], 256, 0;\n"
                   "fence.proxy.async;\n" +
                   address + copy + " cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }",
               c);
  };
  const std::string raw = "mov.b64 %rd1, D;", generic = raw + " cvta.param.u64 %rd1, %rd1;";
  for (const std::string copy :
       {"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {0, 0}], [s];",
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {0, 0}], [s];",
        "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {0, 0}];",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;"
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%rd1, {0, 0}], [bar];"
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p, [bar], 0; @!%p bra W;"}) {
    const Run right = with(generic, copy), wrong = with(raw, copy);
    CHECK_MESSAGE(right.clean(), right.findings());
    CHECK_MESSAGE(wrong.has("got 0x1040, an address in .param space [tma-map-address]"), wrong.findings());
  }
  // The address in .param space is what ld.param takes, and no other load.
  CHECK(with("mov.b64 %rd1, x; ld.param.u32 %r, [%rd1];", "").clean());
  CHECK(with("mov.b64 %rd1, x; ld.u32 %r, [%rd1];", "").has("[memory-bounds]"));
}

TEST_CASE("a store writes only what lies inside the tensor, which must hold something") {
  launch::Contract c;
  c.buffers = {buffer("D", 32 * 6 * 2)};
  launch::TensorMap m = matrix(32, 6, 64, 4, isa::Swizzle::b128);
  m.buffer = "D";
  c.tensor_maps = {{"D", m}};
  launch::Launch l;
  l.block = {128, 1, 1};
  l.params = {map("D")};
  c.launches = {l};
  // Threads that store a word of the tile.
  const auto with = [&](const std::string& storing) {
    return run(head + R"(.visible .entry k(.param .align 64 .b8 D[128]) {
    .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p<3>;
    .shared .align 1024 .b8 s[512];
    mov.b64 %rd1, D; cvta.param.u64 %rd1, %rd1; mov.u32 %r1, s; mov.u32 %r2, %tid.x;
    shl.b32 %r3, %r2, 2; add.u32 %r4, %r1, %r3; setp.)" +
                   storing + R"(; @%p2 st.shared.u32 [%r4], %r2;
    fence.proxy.async.shared::cta; bar.sync 0;
    setp.ne.u32 %p1, %r2, 0; @%p1 bra OUT;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {16, 4}], [%r1];
    cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;
  OUT: ret; })",
               c);
  };
  CHECK(with("ne.u32 %p2, %r2, 3").has("[memory-uninitialised]"));
  const Run part = with("lt.u32 %p2, %r2, 40");
  CHECK_MESSAGE(part.clean(), part.findings());
  const Run r = with("lt.u32 %p2, %r2, 999");
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto d = r.read<u32>("D");
  CHECK(d[4 * 16 + 7] == 0);  // column 14
  CHECK(d[4 * 16 + 8] == 0);  // word 0 of row 4 is word 0 of the tile
  CHECK(d[4 * 16 + 9] == 1);
  CHECK(d[5 * 16 + 8] == 32 + 4);  // row 5: chunk 0 was at chunk 1
  CHECK(d[5 * 16 + 12] == 32);     // chunk 1 at chunk 0
}

TEST_CASE("bulk copies move bytes both ways") {
  launch::Contract c;
  c.buffers = {filled("in", counting(128)), buffer("out", 256)};
  launch::Launch l;
  l.params = {pointer("in"), pointer("out")};
  c.launches = {l};
  const Run r = run(head + R"(.visible .entry k(.param .u64 in, .param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<3>;
    .shared .align 16 .b8 s[256]; .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, s; mov.u32 %r2, bar;
    mbarrier.init.shared.b64 [%r2], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 256;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 256, [%r2];
  W: mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0; @!%p1 bra W;
    cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r1], 256;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; })",
                    c);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u16>("out") == counting(128));
}

}  // namespace sim_tma
