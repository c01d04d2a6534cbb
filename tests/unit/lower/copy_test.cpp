// tcgen05.cp: what the image holds afterwards is what tensor memory would.
#include <fmt/format.h>

#include "harness/contract/contract_json.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_copy {

using namespace kiln;
using namespace kiln::test;

namespace {

struct Form {
  const char* shape;
  std::uint64_t descriptor;  // but for the start address
  int column = 0;            // of the destination, from the allocation's first
  int lane = 0;
};

// Sixteen registers: %x0 to %x15, or one of them again and again.
std::string list(const char* same = nullptr) {
  std::string out;
  for (int i = 0; i < 16; ++i) out += fmt::format("{}{}", i ? ", " : "", same ? same : fmt::format("%x{}", i));
  return out;
}
std::string stores() {
  std::string out;
  for (int i = 0; i < 16; ++i) out += fmt::format("  st.global.b32 [%rd2+{}], %x{};\n", 4 * i, i);
  return out;
}

// Every word of shared memory is another; every cell of tensor memory is 7 before. Thread t stores its lane's 16
// columns.
std::string kernel(const Form& f) {
  return fmt::format(R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry kernel(.param .u64 out)
.reqntid 128, 1, 1
{{
  .reg .b32 %r<12>, %x<16>;
  .reg .b64 %rd<6>;
  .reg .pred %p<3>;
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 address;
  .shared .align 1024 .b8 tile[8192];
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 0;
  setp.ge.u32 %p2, %r1, 32;
  mov.b32 %r2, tile;
  mad.lo.u32 %r3, %r1, 4, %r2;
  mov.b32 %r4, 0;
fill:
  mad.lo.u32 %r5, %r4, 128, %r1;
  mad.lo.u32 %r6, %r4, 512, %r3;
  st.shared.b32 [%r6], %r5;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, 16;
  @%p0 bra fill;
  fence.proxy.async.shared::cta;
  @%p2 bra meet;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;
  @!%p1 mbarrier.init.shared::cta.b64 [done], 1;
meet:
  bar.sync 0;
  ld.shared.b32 %r0, [address];
  and.b32 %r7, %r1, 96;
  shl.b32 %r7, %r7, 16;
  add.u32 %r7, %r7, %r0;
  mov.b32 %x0, 7;
  tcgen05.st.sync.aligned.32x32b.x16.b32 [%r7], {{{0}}};
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  @%p1 bra wait;
  shr.u32 %r8, %r2, 4;
  and.b32 %r9, %r8, 0x3fff;
  cvt.u64.u32 %rd3, %r9;
  or.b64 %rd0, %rd3, {1:#x};
  tcgen05.cp.cta_group::1.{2} [%r0+{3}], %rd0;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p0, [done], 0;
  @!%p0 bra wait;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x16.b32 {{{4}}}, [%r7];
  tcgen05.wait::ld.sync.aligned;
  ld.param.u64 %rd1, [out];
  mad.wide.u32 %rd2, %r1, 64, %rd1;
{5}
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  @%p2 bra leave;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32;
leave:
  ret;
}}
)",
                     list("%x0"), f.descriptor, f.shape, f.lane * 65536 + f.column, list(), stores());
}

// The same by the first CTA of a pair for both, whose shared memories hold other words.
std::string pair_kernel(const Form& f) {
  std::string out = kernel(f);
  const auto replace = [&](const std::string& what, const std::string& by) {
    std::size_t found = 0;
    for (std::size_t at = out.find(what); at != std::string::npos; at = out.find(what, at + by.size()), ++found)
      out.replace(at, what.size(), by);
    REQUIRE_MESSAGE(found > 0, what);
  };
  replace("cta_group::1", "cta_group::2");
  replace(".reqntid 128, 1, 1", ".reqntid 128, 1, 1\n.reqnctapercluster 2, 1, 1");
  replace("fence.proxy.async.shared::cta;", "fence.proxy.async.shared::cta; bar.sync 0;");
  replace("meet:", "fence.mbarrier_init.release.cluster;\nmeet:");
  replace("bar.sync 0;", "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;");
  replace("mad.lo.u32 %r5, %r4, 128, %r1;", "mad.lo.u32 %r5, %r4, 128, %r1; mad.lo.u32 %r5, %r10, 10000, %r5;");
  replace("mov.u32 %r1, %tid.x;", "mov.u32 %r1, %tid.x; mov.u32 %r10, %cluster_ctarank;");
  replace("  @%p1 bra wait;", "  setp.ne.or.u32 %p0, %r10, 0, %p1; @%p0 bra wait;");
  replace("shared::cluster.b64 [done]", "shared::cluster.multicast::cluster.b64 [done], 3");
  replace("mad.wide.u32 %rd2, %r1, 64, %rd1;", "mad.lo.u32 %r11, %r10, 128, %r1; mad.wide.u32 %rd2, %r11, 64, %rd1;");
  return out;
}

launch::Contract contract() {
  const char* json = R"({"entry": "kernel", "grid": [1], "block": [128],
    "buffers": {"out": {"dtype": "u32", "shape": [128, 16]}}, "params": [{"buffer": "out"}]})";
  return harness::read_contract(json, "copy.json");
}

}  // namespace

TEST_CASE(
    "S3-50: tcgen05.cp of every shape and multicast, swizzled or not, to any column, leaves what tensor memory has") {
  constexpr std::uint64_t plain = 0x0000400800000000, chunks = 0x0000401000080000, swizzled = 0x4000404000000000;
  for (const Form& f :
       {Form{"32x128b.warpx4", plain}, Form{"32x128b.warpx4", plain, 4}, Form{"32x128b.warpx4", plain, 3},
        Form{"32x128b.warpx4", swizzled}, Form{"64x128b.warpx2::02_13", plain}, Form{"64x128b.warpx2::01_23", plain, 8},
        Form{"128x128b", plain}, Form{"128x256b", chunks}, Form{"128x256b", chunks, 6}, Form{"4x256b", chunks},
        Form{"4x256b", chunks, 8, 31}}) {
    CAPTURE(f.shape);
    CAPTURE(f.descriptor);
    CAPTURE(f.column);
    for (const lower::Place image : {lower::Place::shared, lower::Place::global}) {
      Kernel k = parsed(kernel(f), contract());
      harness::fill(k.contract);
      diag::Sink sink;
      const auto low = lowered(k, isa::sm_90a, sink, image);
      INFO(diag::render_text(sink));
      REQUIRE(low);
      CHECK(simulated(k).at("out").bytes == simulated(*low).at("out").bytes);
    }
  }
}

TEST_CASE("tcgen05.cp with cta_group::2 copies in both CTAs, each its own shared memory") {
  launch::Contract both = contract();
  both.launches[0].grid.x = both.launches[0].cluster.x = 2;
  both.buffers[0].shape[0] = 256;
  for (const Form& f : {Form{"32x128b.warpx4", 0x0000400800000000}, Form{"128x256b", 0x0000401000080000, 6}}) {
    Kernel k = parsed(pair_kernel(f), both);
    harness::fill(k.contract);
    diag::Sink sink;
    const auto low = lowered(k, isa::sm_90a, sink);
    REQUIRE_MESSAGE(low, diag::render_text(sink));
    CHECK(simulated(k).at("out").bytes == simulated(*low).at("out").bytes);
  }
}

TEST_CASE("tcgen05.cp that widens elements is refused, and one whose strides are not known") {
  for (const auto& [change, slug] :
       {std::pair{".b8x16.b6x16_p32", "lower-unsupported"}, std::pair{"", "lower-descriptor"}}) {
    std::string text = kernel({"32x128b.warpx4", 0x0000400800000000});
    const std::string cp = "32x128b.warpx4", fixed = "or.b64 %rd0, %rd3, 0x400800000000";
    text.replace(text.find(cp), cp.size(), cp + change);
    if (!*change) text.replace(text.find(fixed), fixed.size(), "or.b64 %rd0, %rd3, %rd5");
    diag::Sink sink;
    CHECK_FALSE(lower::lower(parsed(text, {}).module, {}, sink));
    REQUIRE_FALSE(sink.all().empty());
    CHECK(sink.all()[0].slug == slug);
  }
}

}  // namespace lower_copy
