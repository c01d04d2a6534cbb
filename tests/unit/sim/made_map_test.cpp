// What compilers do that write tensor maps of their own and keep addresses in 32 bits.
#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace sim_made_map {

using namespace kiln;
using namespace kiln::test;
using u8 = std::uint8_t;
using u32 = std::uint32_t;

namespace {

constexpr u32 columns = 128, rows = 8;  // of the matrix of bytes that is copied

// Warp 0 makes a map of the matrix `T` out of zeros, publishes it in `S`, and both warps meet; then warp 1 loads
// `width` x 4 bytes from column 16 (or 0, when all of them are wanted), row 2 and stores them to `out`.
std::string two_warps(const std::string& acquire, u32 width, const std::string& fields) {
  const std::string box = std::to_string(width), bytes = std::to_string(width * 4);
  return head + R"(
.visible .entry k(.param .u64 T, .param .u64 S, .param .u64 out) {
.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
.shared .align 128 .b8 made[128]; .shared .align 1024 .b8 tile[512]; .shared .align 8 .b64 bar;
ld.param.u64 %rd1, [T]; ld.param.u64 %rd2, [S]; ld.param.u64 %rd3, [out];
mov.u32 %r0, %tid.x; mov.u32 %r1, made; mov.u32 %r2, tile; mov.u32 %r3, bar;
setp.ge.u32 %p1, %r0, 32; @%p1 bra MEET;
mad.lo.u32 %r4, %r0, 4, %r1; st.shared.u32 [%r4], 0; bar.warp.sync -1;
setp.ne.u32 %p2, %r0, 0; @%p2 bra MADE;
mbarrier.init.shared.b64 [%r3], 1; fence.mbarrier_init.release.cluster;
mov.u64 %rd4, 128;
tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r1], %rd1;
tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r1], 1;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 0, )" +
         box + R"(;
tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r1], 1, 4;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1], 0, 128;
tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r1], 1, 8;
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r1], 0, %rd4;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r1], 0, 1;
tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%r1], 1, 1;
)" + fields +
         R"(MADE: bar.warp.sync -1;
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [%r1], 128;
)" + acquire +
         R"(
MEET: bar.sync 0;
setp.ne.u32 %p3, %r0, 32; @%p3 bra DONE;
mbarrier.arrive.expect_tx.shared.b64 _, [%r3], )" +
         bytes + "; mov.u32 %r5, " + (width == columns ? "0" : "16") + R"(; mov.u32 %r6, 2;
cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd2, {%r5, %r6}], [%r3];
W: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra W;
mov.u32 %r4, 0;
D: add.u32 %r7, %r2, %r4; ld.shared.u32 %r8, [%r7]; cvt.u64.u32 %rd5, %r4; add.u64 %rd5, %rd5, %rd3;
st.global.u32 [%rd5], %r8; add.u32 %r4, %r4, 4; setp.lt.u32 %p2, %r4, )" +
         bytes + R"(; @%p2 bra D;
DONE: ret;
}
)";
}

Run made(const std::string& acquire, u32 width = 16, const std::string& fields = "") {
  std::vector<u8> data(columns * rows);
  for (u32 i = 0; i < columns * rows; ++i) data[i] = u8(i * 7 + 3);
  launch::Contract c;
  c.buffers = {filled("T", data), buffer("S", 128), buffer("out", width * 4)};
  launch::Launch l;
  l.block = {64, 1, 1};
  l.params = {pointer("T"), pointer("S"), pointer("out")};
  c.launches = {l};
  return run(two_warps(acquire, width, fields), c);
}

}  // namespace

TEST_CASE("a kernel may make a tensor map out of zeros, and one warp acquires it for its CTA") {
  const Run r = made("fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;");
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u8>("out");
  for (u32 row = 0; row < 4; ++row)
    for (u32 x = 0; x < 16; ++x) CHECK(out[row * 16 + x] == u8(((row + 2) * columns + 16 + x) * 7 + 3));
}

TEST_CASE("a kernel says swizzle and atomicity in any order, and only pairs with a table are modelled") {
  const std::string mode = "tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%r1], 3;\n";
  const auto atoms = [](int code) {
    return "tensormap.replace.tile.swizzle_atomicity.shared::cta.b1024.b32 [%r1], " + std::to_string(code) + ";\n";
  };
  const std::string acquire = "fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;";
  for (const std::string& fields : {mode + atoms(3), atoms(3) + mode, mode + atoms(1) + atoms(3)}) {
    const Run r = made(acquire, columns, fields);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    const auto out = r.read<u8>("out");
    for (u32 row = 0; row < 4; ++row)
      for (u32 x = 0; x < columns; ++x)  // the halves of every other line change places
        CHECK(out[row * columns + (row % 2 ? (x + 64) % 128 : x)] == u8(((row + 2) * columns + x) * 7 + 3));
  }
  CHECK(made(acquire, columns, mode + atoms(2)).has("this swizzle with this atomicity"));
  CHECK(made(acquire, 16, atoms(1)).has("this swizzle with this atomicity"));
}

TEST_CASE("a code that tensor maps do not have is a fault") {
  for (const char* field : {"swizzle_mode", "swizzle_atomicity", "elemtype", "fill_mode"})
    CHECK(made("", 16, std::string("tensormap.replace.tile.") + field + ".shared::cta.b1024.b32 [%r1], 16;\n")
              .has("[tensormap-field]"));
}

TEST_CASE("a tensor map that no thread of the CTA has acquired is stale") { CHECK(made("").has("[tensormap-fence]")); }

TEST_CASE("addresses of local memory and parameters fit in 32 bits") {
  const Run r = run_kernel(kernel(R"(
    .local .align 16 .b8 depot[32];
    mov.u32 %r0, depot; mov.u32 %r1, 41; st.local.u32 [%r0+8], %r1;
    cvt.u64.u32 %rd0, %r0; cvta.local.u64 %rd1, %rd0; ld.u32 %r2, [%rd1+8]; st.global.u32 [%out], %r2;
    mov.b32 %r3, out; cvt.u64.u32 %rd2, %r3; cvta.param.u64 %rd3, %rd2; ld.u64 %rd4, [%rd3];
    sub.u64 %rd5, %rd4, %out; st.global.u32 [%out+4], %rd5;)"));
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out")[0] == 41);
  CHECK(r.read<u32>("out")[1] == 0);
}

}  // namespace sim_made_map
