// Kernels of CTA pairs, lowered: an engine in each CTA for what one instruction did in both.
#include <fmt/format.h>

#include <algorithm>

#include "harness/contract/contract_json.hpp"
#include "tests/skip.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_pair {

using namespace kiln;
using namespace kiln::test;

namespace {

struct Case {
  const char* kernel;
  dsl::Sizes sizes;
};

// Both N that the library has, operands that lie along N, more tiles than pairs.
std::vector<Case> cases() {
  const dsl::Sizes few{{"m", 264}, {"n", 328}, {"k", 592}, {"ctas", 2}};
  dsl::Sizes narrow = few;
  narrow["tile"] = dsl::Size(256, 128, 64);
  return {{"gemm_v5", {{"m", 256}, {"n", 264}, {"k", 592}}},
          {"gemm_v6", few},
          {"gemm_v7", few},
          {"gemm_f16", narrow},
          {"gemm_f16_f16", few},
          {"gemm_bf16_bt", few},
          {"gemm_tf32", few},
          {"gemm_s8", few},
          {"gemm_swiglu", few}};
}

Kernel interop_kernel(const std::string& file) {
  const std::string folder = std::string(KILN_SOURCE_DIR) + "/tests/interop/";
  diag::Sink sink;
  Kernel out;
  out.text = diag::Source::read(folder + file);
  out.module = parse::parse(out.text, sink);
  REQUIRE_FALSE(sink.has_errors());
  out.contract = harness::read_contract_file(folder + "gemm_bf16_cluster.json");
  harness::fill(out.contract);
  return out;
}

// Threads of a cluster of two CTAs, and a word in the first one that all of them count up between barriers; the second
// warp leaves early.
constexpr const char* meeting = R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry kernel(.param .u64 result)
.reqntid 96, 1, 1
.reqnctapercluster 2, 1, 1
{
  .reg .b32 %r<10>;
  .reg .b64 %rd<2>;
  .reg .pred %p<4>;
  .shared .align 4 .b32 address;
  .shared .align 4 .b32 word;
  mov.u32 %r0, %tid.x;
  shr.u32 %r1, %r0, 5;
  mov.u32 %r2, word;
  mov.u32 %r3, %cluster_ctarank;
  mapa.shared::cluster.u32 %r4, %r2, 0;
  setp.ne.u32 %p0, %r0, 0;
  @!%p0 st.shared.b32 [word], 0;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra meet;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;
meet:
  barrier.cluster.arrive.release;
  barrier.cluster.wait.acquire;
  setp.eq.u32 %p2, %r1, 1;
  @%p2 ret;
  mov.b32 %r5, 0;
again:
  atom.relaxed.cluster.shared::cluster.add.u32 %r6, [%r4], 1;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  ld.shared::cluster.b32 %r7, [%r4];
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  add.u32 %r5, %r5, 1;
  mul.lo.u32 %r8, %r5, 128;
  setp.ne.u32 %p3, %r7, %r8;
  @%p3 trap;
  setp.lt.u32 %p3, %r5, 3;
  @%p3 bra again;
  ld.param.u64 %rd0, [result];
  mul.wide.u32 %rd1, %r3, 4;
  add.s64 %rd0, %rd0, %rd1;
  @!%p0 st.global.b32 [%rd0], %r7;
  @%p1 bra leave;
  ld.shared.b32 %r9, [address];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r9, 32;
leave:
  ret;
}
)";

constexpr const char* pair_of_ctas = R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry kernel(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128], .param .u64 d)
.reqntid 128, 1, 1
.reqnctapercluster 2, 1, 1
{{
  .reg .b32 %r<16>, %f<8>;
  .reg .b64 %rd<16>, %rs<4>, %rt<4>;
  .reg .b16 %h0;
  .reg .pred %p<4>;
  .shared .align 1024 .b8 tile_a[{a_bytes}];
  .shared .align 1024 .b8 tile_b[{b_bytes}];
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 address;
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  mov.u32 %r3, %cluster_ctarank;
  setp.ne.u32 %p0, %r1, 0;
  setp.ne.u32 %p1, %r2, 0;
  @%p0 bra made;
  mbarrier.init.shared::cta.b64 [full], 1;
  mbarrier.init.shared::cta.b64 [done], 1;
  fence.mbarrier_init.release.cluster;
made:
  bar.warp.sync 0xffffffff;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  @%p1 bra allocated;
  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [address], 256;
  tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
allocated:
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r0, [address];
  @%p0 bra store;
  setp.ne.u32 %p2, %r3, 0;
  mov.u32 %r4, full;
  mapa.shared::cluster.u32 %r5, %r4, 0;
  @!%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], {all_bytes};
  mul.lo.u32 %r6, %r3, {rows};
  mul.lo.u32 %r7, %r3, {half};
  mov.b64 %rd5, a;
  cvta.param.u64 %rd5, %rd5;
  mov.b64 %rd6, b;
  cvta.param.u64 %rd6, %rd6;
  mov.b32 %r8, 0;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [tile_a], [%rd5, {{%r8, %r6}}], [%r5];
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [tile_b], [%rd6, {{%r8, %r7}}], [%r5];
  @%p2 bra store;
loaded:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [full], 0;
  @!%p3 bra loaded;
  tcgen05.fence::after_thread_sync;
  mov.u32 %r10, tile_a;
  shr.u32 %r4, %r10, 4;
  and.b32 %r14, %r4, 0x3fff;
  cvt.u64.u32 %rd8, %r14;
  or.b64 %rd0, %rd8, {descriptor};
  mov.u32 %r11, tile_b;
  shr.u32 %r5, %r11, 4;
  and.b32 %r15, %r5, 0x3fff;
  cvt.u64.u32 %rd9, %r15;
  or.b64 %rd1, %rd9, {descriptor};
{mmas}
  mov.b16 %h0, 3;
  mov.u32 %r12, done;
  tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r12], %h0;
store:
  bar.warp.sync 0xffffffff;
multiplied:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [done], 0;
  @!%p3 bra multiplied;
  tcgen05.fence::after_thread_sync;
  bar.warp.sync 0xffffffff;
  shl.b32 %r9, %r2, 21;
  add.u32 %r9, %r9, %r0;
  mad.lo.u32 %r13, %r3, 128, %r1;
  ld.param.u64 %rd4, [d];
  mul.wide.u32 %rd7, %r13, {pitch};
  add.s64 %rd4, %rd4, %rd7;
{loads}
  tcgen05.fence::before_thread_sync;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  tcgen05.fence::after_thread_sync;
  @%p1 bra leave;
  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r0, 256;
leave:
  ret;
}}
)";

constexpr const char* meeting_contract = R"({"entry": "kernel", "grid": [4], "block": [96], "cluster": [2],
  "buffers": {"R": {"dtype": "u32", "shape": [2]}}, "params": [{"buffer": "R"}]})";

// A pair multiplies one tile: K of the swizzle's span, bf16 operands of small integers, and each CTA writes what its
// tensor memory holds.
struct OneMma {
  int m = 0, n = 0, span = 0;  // span: bytes
  int rows() const { return m / 2; }
  int columns() const { return m == 256 ? n : n / 2; }
  int k() const { return span / 2; }

  std::string contract() const {
    return fmt::format(R"({{"entry": "kernel", "grid": [2], "block": [128], "cluster": [2],
  "buffers": {{"A": {{"dtype": "bf16", "shape": [{0}, {2}], "init": {{"integers": [-4, 4], "seed": 1}}}},
               "B": {{"dtype": "bf16", "shape": [{1}, {2}], "init": {{"integers": [-4, 4], "seed": 2}}}},
               "D": {{"dtype": "f32", "shape": [256, {3}]}}}},
  "tensor_maps": {{"A_map": {{"buffer": "A", "box": [{2}, {4}], "swizzle": "{6}B"}},
                   "B_map": {{"buffer": "B", "box": [{2}, {5}], "swizzle": "{6}B"}}}},
  "params": [{{"tensor_map": "A_map"}}, {{"tensor_map": "B_map"}}, {{"buffer": "D"}}]}})",
                       m, n, k(), columns(), rows(), n / 2, span);
  }

  std::string text() const {
    const unsigned long long swizzle = span == 128 ? 2 : span == 64 ? 4 : 6;
    const unsigned long long descriptor = swizzle << 61 | 1ull << 46 | std::uint64_t(span * 8 / 16) << 32 | 1ull << 16;
    const unsigned idesc = unsigned(m / 16) << 24 | unsigned(n / 8) << 17 | 0x490;
    std::string mmas, loads;
    for (int step = 0; step < span / 32; ++step)
      mmas += fmt::format(
          "  add.s64 %rs{3}, %rd0, {0};\n  add.s64 %rt{3}, %rd1, {0};\n  tcgen05.mma.cta_group::2.kind::f16 "
          "[%r0], %rs{3}, %rt{3}, {1}, {2};\n",
          2 * step, idesc, step > 0 ? 1 : 0, step);
    for (int c = 0; c < columns(); c += 8)
      loads += fmt::format(
          "  tcgen05.ld.sync.aligned.32x32b.x8.b32 {{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}}, "
          "[%r9+{0}];\n  tcgen05.wait::ld.sync.aligned;\n  st.global.v4.b32 [%rd4+{1}], "
          "{{%f0, %f1, %f2, %f3}};\n  st.global.v4.b32 [%rd4+{2}], {{%f4, %f5, %f6, %f7}};\n",
          c, 4 * c, 4 * c + 16);
    return fmt::format(pair_of_ctas, fmt::arg("a_bytes", rows() * span), fmt::arg("b_bytes", n / 2 * span),
                       fmt::arg("all_bytes", (rows() + n / 2) * span * 2), fmt::arg("rows", rows()),
                       fmt::arg("half", n / 2), fmt::arg("descriptor", descriptor), fmt::arg("mmas", mmas),
                       fmt::arg("loads", loads), fmt::arg("pitch", 4 * columns()));
  }
};

std::string reasons(const diag::Sink& sink) {
  std::string out;
  for (const diag::Diagnostic& d : sink.all()) out += d.slug + ": " + d.message + "\n";
  return out;
}

}  // namespace

TEST_CASE("S3-45, S3-46: kernels of CTA pairs lowered for sm_90a give the right result in several schedules") {
  for (const Case& c : cases()) {
    CAPTURE(c.kernel);
    diag::Sink sink;
    const auto low = lowered(library_kernel(c.kernel, c.sizes), isa::sm_90a, sink);
    INFO(diag::render_text(sink));
    REQUIRE(low);
    CHECK(low->text->text().find("tcgen05") == std::string_view::npos);
    CHECK(low->text->text().find("cta_group") == std::string_view::npos);
    CHECK(low->contract.launches.at(0).cluster.volume() == 2);
    for (const std::uint64_t seed : {1, 2}) check_right(simulated(*low, seed));
  }
}

TEST_CASE("S3-46: a pair in CUDA C++, compiled by nvcc and by clang, is lowered and right") {
  for (const char* file : {"gemm_bf16_cluster.ptx", "clang_gemm_bf16_cluster.ptx"}) {
    CAPTURE(file);
    diag::Sink sink;
    const auto low = lowered(interop_kernel(file), isa::sm_90a, sink);
    INFO(diag::render_text(sink));
    REQUIRE(low);
    for (const std::uint64_t seed : {1, 2}) check_right(simulated(*low, seed));
  }
}

TEST_CASE("S3-45: one MMA of a pair leaves the same sums when it is lowered, for both M, all swizzles and many N") {
  const OneMma all[] = {{256, 256, 128}, {256, 16, 128}, {256, 48, 64},  {256, 112, 32}, {256, 224, 128},
                        {128, 256, 128}, {128, 32, 128}, {128, 144, 64}, {128, 80, 32},  {128, 16, 128}};
  for (const OneMma& mma : all) {
    CAPTURE(mma.m);
    CAPTURE(mma.n);
    CAPTURE(mma.span);
    Kernel kernel = parsed(mma.text(), harness::read_contract(mma.contract(), "l.json"));
    harness::fill(kernel.contract);
    const std::vector<std::uint8_t> want = simulated(kernel).at("D").bytes;
    CHECK(std::any_of(want.begin(), want.end(), [](std::uint8_t b) { return b != 0; }));
    for (const isa::Target target : {isa::sm_90a, isa::sm_120a}) {
      diag::Sink sink;
      const auto low = lowered(kernel, target, sink);
      INFO(diag::render_text(sink));
      REQUIRE(low);
      CHECK(simulated(*low).at("D").bytes == want);
    }
  }
}

TEST_CASE("barrier.cluster waits for the kernel's own threads, and not for those that have left") {
  Kernel kernel = parsed(meeting, harness::read_contract(meeting_contract, "l.json"));
  harness::fill(kernel.contract);
  for (const isa::Target target : {isa::sm_90a, isa::sm_120a}) {
    diag::Sink sink;
    const auto low = lowered(kernel, target, sink);
    INFO(diag::render_text(sink));
    REQUIRE(low);
    for (const std::uint64_t seed : {1, 2, 3}) {
      const launch::Contract after = simulated(*low, seed);
      for (std::size_t at = 0; at < 8; at += 4)
        CHECK(after.at("R").bytes.at(at) + 256 * after.at("R").bytes.at(at + 1) == 384);
    }
  }
}

TEST_CASE("a second arrival at the cluster's barrier waits for the phase of the first") {
  std::string text = meeting;
  const std::string once = "  barrier.cluster.arrive.release;\n  barrier.cluster.wait.acquire;\n";
  const std::size_t at = text.find(once);
  REQUIRE(at != std::string::npos);
  text.replace(at, once.size(),
               "  barrier.cluster.arrive.release;\n  barrier.cluster.arrive.release;\n"
               "  barrier.cluster.wait.acquire;\n  barrier.cluster.wait.acquire;\n");
  Kernel kernel = parsed(text, harness::read_contract(meeting_contract, "l.json"));
  harness::fill(kernel.contract);
  diag::Sink sink;
  const auto low = lowered(kernel, isa::sm_90a, sink);
  REQUIRE_MESSAGE(low, diag::render_text(sink));
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const launch::Contract after = simulated(*low, seed);
    for (std::size_t word = 0; word < 8; word += 4)
      CHECK(after.at("R").bytes.at(word) + 256 * after.at("R").bytes.at(word + 1) == 384);
  }
}

TEST_CASE("S3-57: what a pair does that cannot be split is refused where it stands") {
  const Kernel kernel = library_kernel("gemm_v5", {});
  const auto refused = [](const Kernel& k, const launch::Contract* contract, const char* why) {
    CAPTURE(why);
    diag::Sink sink;
    CHECK_FALSE(lower::lower(k.module, {isa::sm_90a, lower::Place::automatic, contract}, sink));
    INFO(reasons(sink));
    const auto named = [&](const diag::Diagnostic& d) {
      return d.slug == "lower-pair" && d.message.find(why) != std::string::npos && !d.where.place.empty();
    };
    CHECK(std::any_of(sink.all().begin(), sink.all().end(), named));
  };
  refused(kernel, nullptr, "no contract tells");
  const auto changed = [&](std::string_view from, const std::string& to) {
    std::string text(kernel.text->text());
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return parsed(text.replace(at, from.size(), to), kernel.contract);
  };
  refused(changed("relinquish_alloc_permit.cta_group::2", "relinquish_alloc_permit.cta_group::1"), &kernel.contract,
          "cta_group::1 and cta_group::2 in one kernel");
}

TEST_CASE("a pair that leaves a kilobyte less of shared memory has smaller rings, and is right with them") {
  Kernel kernel = library_kernel("gemm_v6", {{"m", 264}, {"n", 328}, {"k", 592}, {"ctas", 2}});
  const auto has_large_rings = [&] {
    diag::Sink sink;
    const auto low = lowered(kernel, isa::sm_90a, sink);
    INFO(diag::render_text(sink));
    REQUIRE(low);
    check_right(simulated(*low));
    return low->text->text().find(".b8 lw_mail[384];") != std::string::npos;
  };
  CHECK(has_large_rings());
  for (launch::Launch& l : kernel.contract.launches) l.dynamic_smem += 1024;
  CHECK_FALSE(has_large_rings());
}

// Kernels that ask for 16 bytes rely on where dynamic shared memory begins.
TEST_CASE("what a pair and its cluster add to static shared memory is a multiple of a swizzle's period") {
  for (const char* name : {"gemm_v5", "gemm_v6", "gemm_bf16_basic"}) {
    CAPTURE(name);
    diag::Sink sink;
    const auto low = lowered(library_kernel(name, {}), isa::sm_90a, sink);
    REQUIRE(low);
    std::uint64_t at = 0;
    for (const ir::Item& item : low->module.items)
      if (const auto* function = std::get_if<ir::Function>(&item); function && function->body)
        for (const ir::Statement& s : function->body->statements) {
          const auto* v = std::get_if<ir::Variable>(&s.node);
          if (!v || v->space != isa::Space::shared || !v->name.starts_with("lw_")) continue;
          CHECK(at % v->alignment() == 0);  // no gap in this order
          at += v->bytes();
        }
    CHECK(at > 0);
    CHECK(at % 1024 == 0);
  }
}

}  // namespace lower_pair
