// Bulk copies and the forms of tensor copies beyond plain tiles; tensor maps that a kernel edits; work that is handed
// on.
#include <doctest/doctest.h>

#include <set>

#include "tests/unit/sim/tiled_map.hpp"

namespace sim_bulk {

using namespace kiln;
using namespace kiln::test;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

namespace {

constexpr u32 area = 4096;  // bytes of shared memory that are dumped

// One thread: fills shared memory with 0xEE, runs `copy` (%r1: shared memory, %r2: an mbarrier that waits for `bytes`,
// %rd1: the tensor map, %rd2: out, %rd4: T), waits and dumps everything to out.
std::string one_thread(const std::string& copy, u32 bytes) {
  return head + R"(
.extern .shared .align 1024 .b8 tiles[];
.visible .entry k(.param .align 64 .b8 M[128], .param .u64 T, .param .u64 out) {
.reg .pred %p<4>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
.shared .align 8 .b64 bar; .shared .align 128 .b8 copy[128];
mov.b64 %rd1, M; cvta.param.u64 %rd1, %rd1;
ld.param.u64 %rd2, [out]; ld.param.u64 %rd4, [T]; mov.u32 %r1, tiles; mov.u32 %r2, bar; mov.u32 %r3, 0;
mbarrier.init.shared.b64 [%r2], 1;
F: add.u32 %r4, %r1, %r3; st.shared.u32 [%r4], 0xEEEEEEEE; add.u32 %r3, %r3, 4; setp.lt.u32 %p1, %r3, )" +
         std::to_string(area) +
         "; @%p1 bra F;\nfence.proxy.async.shared::cta;\nmbarrier.arrive.expect_tx.shared.b64 _, [%r2], " +
         std::to_string(bytes) + ";\n" + copy + R"(
W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra W;
mov.u32 %r3, 0;
D: add.u32 %r4, %r1, %r3; ld.shared.u32 %r5, [%r4]; cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd3, %rd2;
st.global.u32 [%rd3], %r5;
add.u32 %r3, %r3, 4; setp.lt.u32 %p1, %r3, )" +
         std::to_string(area) + "; @%p1 bra D;\nret;\n}\n";
}

Run copied(const launch::TensorMap& m, const std::vector<u8>& data, const std::string& copy, u32 bytes) {
  launch::Contract c;
  c.buffers = {filled("T", data), buffer("out", area)};
  c.tensor_maps = {{"T", m}};
  launch::Launch l;
  l.block = {1, 1, 1};
  l.dynamic_smem = area;
  l.params = {map("T"), pointer("T"), pointer("out")};
  c.launches = {l};
  return run(one_thread(copy, bytes), c);
}

std::vector<u8> counting(std::size_t n) {
  std::vector<u8> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = u8(i * 7 + i / 256);
  return v;
}

const std::string load = "cp.async.bulk.tensor.2d.shared::cta.global.tile";
const std::string with_barrier = ".mbarrier::complete_tx::bytes [%r1], ";

}  // namespace

TEST_CASE("bytes at the ends of a copy may be ignored, and then lie outside of the memory") {
  const auto data = counting(24);
  const auto m = matrix(16, 1, 16, 1, isa::Swizzle::none, isa::ScalarType::u8);
  const std::string copy =
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r1], [%rd4], 32, ";
  const Run r = copied(m, data, copy + "3, 8, [%r2];", 32);
  REQUIRE_MESSAGE(r.result.outcome == sim::Outcome::finished, r.findings());
  const auto out = r.read<u8>("out");
  for (u32 k = 3; k < 24; ++k) CHECK(out[k] == data[k]);
  CHECK(out[32] == 0xEE);
  CHECK(copied(m, data, copy + "0, 7, [%r2];", 32).has("[memory-bounds]"));
}

TEST_CASE("a copy may replace the address of its tensor map") {
  const auto data = counting(64 * 8);
  const auto m = matrix(64, 4, 32, 2, isa::Swizzle::none, isa::ScalarType::u8);
  const std::string copy = "add.u64 %rd5, %rd4, 128; cp.async.bulk.tensor.2d.shared::cta.global.tile";
  const Run r = copied(m, data,
                       copy +
                           ".mbarrier::complete_tx::bytes.override::global_address [%r1], [%rd1, %rd5, {16, 1}], "
                           "[%r2];",
                       64);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u8>("out");
  for (u32 row = 0; row < 2; ++row)
    for (u32 x = 0; x < 32; ++x) CHECK(out[row * 32 + x] == data[128 + (1 + row) * 64 + 16 + x]);
}

TEST_CASE("gather4 loads four rows that need not be neighbours") {
  const auto data = counting(64 * 32);
  const auto m = matrix(64, 32, 32, 1, isa::Swizzle::none, isa::ScalarType::u8);
  const Run r = copied(m, data, load + "::gather4" + with_barrier + "[%rd1, {16, 5, 31, 0, 32}], [%r2];", 128);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u8>("out");
  const u32 rows[] = {5, 31, 0};
  for (u32 k = 0; k < 3; ++k)
    for (u32 x = 0; x < 32; ++x) CHECK(out[k * 32 + x] == data[rows[k] * 64 + 16 + x]);
  for (u32 x = 0; x < 32; ++x) CHECK(out[96 + x] == 0);  // row 32 is outside
  CHECK(out[128] == 0xEE);
}

TEST_CASE("scatter4 stores four rows and leaves out what is outside") {
  const auto m = matrix(64, 32, 32, 1, isa::Swizzle::none, isa::ScalarType::u8);
  const std::string store =
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd1, {16, 5, 31, 0, 40}], [%r1]; "
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; "
      "mbarrier.complete_tx.shared::cluster.relaxed.cluster.b64 [%r2], 0;";
  const Run r = copied(m, std::vector<u8>(64 * 32), store, 0);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto t = r.read<u8>("T");
  for (u32 row = 0; row < 32; ++row)
    for (u32 x = 0; x < 64; ++x)
      CHECK(t[row * 64 + x] == ((row == 5 || row == 31 || row == 0) && x >= 16 && x < 48 ? 0xEE : 0));
}

TEST_CASE("6-bit and padded 4-bit elements take 16 bytes to 16 elements in shared memory") {
  for (const int bits : {6, 4}) {
    const auto data = counting(256 * 4 * std::size_t(bits) / 8);
    auto m = matrix(256, 4, 128, 2, isa::Swizzle::b128, bits == 6 ? isa::ScalarType::e2m3 : isa::ScalarType::e2m1);
    m.padded = bits == 4;
    const u32 group = u32(bits) * 2, row_bytes = 256 * u32(bits) / 8;
    const Run r = copied(m, data, load + with_barrier + "[%rd1, {128, 1}], [%r2];", 2 * 128 * u32(bits) / 8);
    REQUIRE_MESSAGE(r.result.outcome == sim::Outcome::finished, r.findings());
    const auto out = r.read<u8>("out");
    for (u32 row = 0; row < 2; ++row)
      for (u32 k = 0; k < 8; ++k)
        for (u32 x = 0; x < 16; ++x)
          CHECK(out[row * 128 + (k ^ row) * 16 + x] ==
                (x < group ? data[(1 + row) * row_bytes + row_bytes / 2 + k * group + x] : 0xEE));
  }
}

TEST_CASE("tf32 elements are rounded when they are loaded") {
  // Words before and after, captured on an H200.
  const u32 before[] = {0x3F800FFF, 0x3F801000, 0x3F801001, 0x3F803000, 0x3F802FFF, 0x7F7FFFFF, 0x7F800001, 0x7FC01234,
                        0x00001001, 0x80001FFF, 0x00003000, 0xFFFFFFFF, 0x7F801000, 0x00400000, 0xFF800000, 0x7F7FF000};
  const u32 loaded[] = {0x3F800000, 0x3F800000, 0x3F802000, 0x3F804000, 0x3F802000, 0x7F800000, 0x7FFFE000, 0x7FFFE000,
                        0x00002000, 0x80002000, 0x00004000, 0x7FFFE000, 0x7FFFE000, 0x00400000, 0xFF800000, 0x7F800000};
  std::vector<u8> data(64);
  std::memcpy(data.data(), before, 64);
  const auto m = matrix(16, 1, 16, 1, isa::Swizzle::none, isa::ScalarType::tf32);
  const Run r = copied(m, data, load + with_barrier + "[%rd1, {0, 0}], [%r2];", 64);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (u32 k = 0; k < 16; ++k) CHECK(r.read<u32>("out")[k] == loaded[k]);
}

TEST_CASE("a kernel may edit a tensor map in shared memory and publish it") {
  const auto data = counting(64 * 32);
  const auto m = matrix(32, 8, 32, 4, isa::Swizzle::none, isa::ScalarType::u8);
  const std::string edit = R"(
mov.u32 %r6, 0; mov.u32 %r7, copy;
C: cvt.u64.u32 %rd5, %r6; add.u64 %rd5, %rd5, %rd1;
ld.u64 %rd6, [%rd5]; add.u32 %r8, %r7, %r6; st.shared.u64 [%r8], %rd6;
add.u32 %r6, %r6, 8; setp.lt.u32 %p1, %r6, 128; @%p1 bra C;
add.u64 %rd7, %rd4, 64; mov.u64 %rd6, 64; mov.u32 %r9, 48;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r7], %rd7;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r7], 0, %rd6;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r7], 0, %r9;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r7], 0, 64;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r7], 1, 2;
tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r7], 2;
add.u64 %rd8, %rd4, 1920;
)";
  // The warp has one thread, which is all of it.
  const std::string publish =
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd8], [%r7], 128;\n"
      "fence.proxy.tensormap::generic.acquire.gpu [%rd8], 128;\n";
  const Run r = copied(m, data, edit + publish + load + with_barrier + "[%rd8, {0, 3}], [%r2];", 128);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u8>("out");
  for (u32 row = 0; row < 2; ++row)
    for (u32 x = 0; x < 64; ++x)
      CHECK(out[row * 64 + ((x / 16 ^ row * 64 / 128) * 16) + x % 16] == (x < 48 ? data[64 + (3 + row) * 64 + x] : 0));
  const Run wrong = copied(m, data,
                           edit + "tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r7], 0, 40;" + publish +
                               load + with_barrier + "[%rd8, {0, 3}], [%r2];",
                           128);
  CHECK(wrong.has("[tma-inner-bytes]"));
  const std::string unacquired = publish.substr(0, publish.find("fence.proxy"));
  const Run stale = copied(m, data, edit + unacquired + load + with_barrier + "[%rd8, {0, 3}], [%r2];", 128);
  CHECK(stale.has("[tensormap-fence]"));
}

TEST_CASE("cp.async.bulk copies the bytes of its mask") {
  const std::string copy =
      "mov.u16 %h1, 0x8003; cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd4], [%r1], 32, %h1; "
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; "
      "mbarrier.complete_tx.shared::cluster.relaxed.cluster.b64 [%r2], 0;";
  const Run r = copied(matrix(64, 4, 32, 1, isa::Swizzle::none, isa::ScalarType::u8), std::vector<u8>(256), copy, 0);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (u32 x = 0; x < 48; ++x) CHECK(r.read<u8>("T")[x] == (x < 32 && (0x8003 >> x % 16 & 1) ? 0xEE : 0));
}

TEST_CASE("cp.async may ignore its source") {
  const std::string copy =
      "setp.eq.u32 %p1, 0, 0; cp.async.ca.shared.global [%r1], [%rd4], 16, %p1; cp.async.cg.shared.global [%r1+16], "
      "[%rd4], 16, !%p1; cp.async.wait_all; mbarrier.complete_tx.shared::cluster.relaxed.cluster.b64 [%r2], 0;";
  const auto data = counting(256);
  const Run r = copied(matrix(64, 4, 32, 1, isa::Swizzle::none, isa::ScalarType::u8), data, copy, 0);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (u32 x = 0; x < 16; ++x) {
    CHECK(r.read<u8>("out")[x] == 0);
    CHECK(r.read<u8>("out")[16 + x] == data[x]);
  }
}

TEST_CASE("a multicast bulk copy reaches every CTA of its mask and signals there") {
  const std::string text = head + R"(
.visible .entry k(.param .u64 T, .param .u64 out) .reqnctapercluster 4, 1, 1 {
.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>;
.shared .align 16 .b32 box[4]; .shared .align 8 .b64 bar;
ld.param.u64 %rd1, [T]; ld.param.u64 %rd2, [out];
mov.u32 %r1, box; mov.u32 %r2, bar; st.shared.u32 [%r1], 77; fence.proxy.async.shared::cta;
mbarrier.init.shared.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
mov.u32 %r5, %cluster_ctarank; setp.eq.u32 %p1, %r5, 1; and.b32 %r6, %r5, 1; setp.ne.u32 %p3, %r6, 0;
@%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16;
barrier.cluster.arrive; barrier.cluster.wait;
mov.u16 %h1, 10;
@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd1], 16, [%r2], %h1;
@!%p3 bra SHOW;
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra WAIT;
SHOW: ld.shared.u32 %r3, [%r1]; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd3, %rd2; st.global.u32 [%rd3], %r3;
barrier.cluster.arrive; barrier.cluster.wait;
ret;
}
)";
  launch::Contract c;
  c.buffers = {filled("T", std::vector<u32>{5, 6, 7, 8}), buffer("out", 16)};
  launch::Launch l;
  l.grid = {4, 1, 1};
  l.block = {1, 1, 1};
  l.params = {pointer("T"), pointer("out")};
  c.launches.push_back(l);
  const Run r = run(text, c);
  CHECK_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out") == std::vector<u32>{77, 5, 77, 5});
}

TEST_CASE("a cluster takes over others that have not started, and those are never launched") {
  // Each cluster marks its place in the grid, then those that it takes over, until a request fails.
  const std::string text = head + R"(
.visible .entry k(.param .u64 out) .reqnctapercluster 2, 1, 1 {
.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .b128 %q<2>;
.shared .align 16 .b128 answer; .shared .align 8 .b64 bar;
ld.param.u64 %rd1, [out];
mov.u32 %r1, answer; mov.u32 %r2, bar; mov.u32 %r3, 0; mov.u32 %r12, %cluster_ctarank; setp.eq.u32 %p1, %r12, 0;
mbarrier.init.shared.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
mov.u32 %r4, %ctaid.x; sub.u32 %r4, %r4, %r12; mov.u32 %r5, %ctaid.y;
NEXT: add.u32 %r6, %r4, %r12; mov.u32 %r7, %nctaid.x; mad.lo.u32 %r8, %r5, %r7, %r6; mul.wide.u32 %rd2, %r8, 4;
add.u64 %rd2, %rd2, %rd1;
mov.u32 %r13, 1; red.global.add.u32 [%rd2], %r13;
mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16;
barrier.cluster.arrive; barrier.cluster.wait;
@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%r1],
  [%r2];
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], %r3; @!%p2 bra WAIT;
xor.b32 %r3, %r3, 1;
ld.shared.b128 %q1, [%r1];
fence.proxy.async.shared::cta;
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1;
@%p3 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r4, %r5, %r9, _}, %q1;
@%p3 clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r5, %q1;
@%p3 bra NEXT;
barrier.cluster.arrive; barrier.cluster.wait;
ret;
}
)";
  std::set<std::uint64_t> launched;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    launch::Contract c;
    c.buffers = {buffer("out", 96)};
    launch::Launch l;
    l.grid = {8, 3, 1};
    l.block = {1, 1, 1};
    l.params = {pointer("out")};
    c.launches.push_back(l);
    sim::Options options;
    options.seed = seed;
    const Run r = run(text, c, options);
    CHECK_MESSAGE(r.clean(), r.findings());
    CHECK(r.read<u32>("out") == std::vector<u32>(24, 1));
    CHECK(r.result.statistics.ctas < 24);
    launched.insert(r.result.statistics.ctas);
  }
  CHECK(launched.size() > 1);  // some seeds refuse a request
}

}  // namespace sim_bulk
