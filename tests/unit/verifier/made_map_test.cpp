// Tensor maps that a kernel makes, as exploring sees them: the threads' own writes, publishing, acquiring, boxes.
#include <doctest/doctest.h>

#include "tests/unit/verifier/explored.hpp"

namespace verifier_made_map {

using namespace kiln;
using namespace kiln::test;

namespace {

// Warp 1 makes maps of a matrix of bytes, one for each of `n` groups, in the same 128 bytes, and tells warp 0, which
// loads a box of 64 bytes by 4 rows with each.
const std::string maker = preamble + R"(
.visible .entry k(.param .u64 T, .param .u64 S, .param .u32 n) .reqntid 64
{
  .reg .pred %p, %q, %first; .reg .b32 %r<9>, %n, %i; .reg .b64 %rd<9>;
  .shared .align 128 .b8 made[128];
  .shared .align 1024 .b8 tile[512];
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 ready;
  ld.param.u64 %rd1, [T]; ld.param.u64 %rd2, [S]; ld.param.u32 %n, [n];
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %first, %r0, 0;
  @%first mbarrier.init.shared::cta.b64 [full], 1;
  @%first mbarrier.init.shared::cta.b64 [ready], 1;
  @%first fence.mbarrier_init.release.cluster;
  bar.sync 0;
  setp.eq.u32 %p, %n, 0;
  @%p bra DONE;
  mov.u32 %i, 0;
  setp.lt.u32 %p, %r0, 32;
  @%p bra LOAD;
  and.b32 %r1, %r0, 31;
  setp.eq.u32 %first, %r1, 0;
  mad.lo.u32 %r2, %r1, 4, 0; mov.u32 %r3, made; add.u32 %r2, %r2, %r3;
  st.shared.u32 [%r2], 0;
  bar.warp.sync 0xffffffff;
MAKE:
  mov.u64 %rd4, 64;
  @!%first bra MADE;
  tensormap.replace.tile.rank.shared::cta.b1024.b32 [made], 1;
  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [made], 0, 64;
  tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [made], 1, 4;
  tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [made], 0, 1;
  tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [made], 1, 1;
  tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [made], 0;
  tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [made], 0;
  tensormap.replace.tile.global_address.shared::cta.b1024.b64 [made], %rd1;
MADE:
  bar.warp.sync 0xffffffff;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd2], [made], 128;
  bar.warp.sync 0xffffffff;
  add.u64 %rd2, %rd2, 128;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %n;
  @%p bra MAKE;
  @%first mbarrier.arrive.shared::cta.b64 _, [ready];
  bra DONE;
LOAD:
  @!%first bra DONE;
READY:
  mbarrier.try_wait.parity.shared::cta.b64 %q, [ready], 0;
  @!%q bra READY;
NEXT:
  fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 256;
  mov.u32 %r5, 0;
  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [%rd2, {%r5, %r5}], [full];
  and.b32 %r6, %i, 1;
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %q, [full], %r6;
  @!%q bra FULL;
  add.u64 %rd2, %rd2, 128;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %n;
  @%p bra NEXT;
DONE:
  ret;
}
)";

std::string without(const std::string& instruction) { return replaced(maker, instruction, ""); }

const std::string acquire = "  fence.proxy.tensormap::generic.acquire.gpu [%rd2], 128;\n";
const std::string wait = "READY:\n  mbarrier.try_wait.parity.shared::cta.b64 %q, [ready], 0;\n  @!%q bra READY;\n";
const std::string made = "MADE:\n  bar.warp.sync 0xffffffff;\n";

}  // namespace

TEST_CASE("maps that are made, published, told of and acquired are right, however many") {
  CHECK(explored(maker) == "");
}

TEST_CASE("tensormap-fence: a copy with a map that was not acquired") {
  CHECK(explored(without(acquire)) == "tensormap-fence ");
  // Acquired before the thread knew of it.
  const std::string early = replaced(without(acquire), "READY:\n", acquire + "READY:\n");
  CHECK(explored(early) == "tensormap-fence ");
  // Another thread's acquire does once it is known.
  const std::string theirs = replaced(without(acquire), "  @%first mbarrier.arrive.shared::cta.b64 _, [ready];\n",
                                      acquire + "  @%first mbarrier.arrive.shared::cta.b64 _, [ready];\n");
  CHECK(explored(theirs) == "");
}

TEST_CASE("tensormap-fence: a map that is released where it lies") {
  const std::string in_place = R"(
  tensormap.replace.tile.global_address.global.b1024.b64 [%rd2], %rd1;
  fence.proxy.tensormap::generic.release.gpu;
)";
  const std::string there = replaced(maker, "READY:\n", in_place + "READY:\n");
  CHECK(explored(there) == "");
  CHECK(explored(replaced(there, acquire, "")) == "tensormap-fence ");
}

TEST_CASE(
    "warp-order: the warp publishes a map that one of its threads has written, and nothing but their order is "
    "between") {
  CHECK(explored(replaced(maker, made, "MADE:\n")).starts_with("warp-order "));
}

TEST_CASE("the box that all maps of a kernel have is the code's: other bytes are waited for in vain") {
  CHECK(explored(replaced(maker, "[full], 256", "[full], 512")) == "mbarrier-bytes ");
  // A box that no constant says is not known: as many bytes as are waited for are taken to come.
  const std::string unknown = replaced(maker, "[made], 1, 4;", "[made], 1, %r1;");
  CHECK(explored(unknown) == "");
  CHECK(explored(replaced(unknown, "[full], 256", "[full], 512")) == "");
}

}  // namespace verifier_made_map
