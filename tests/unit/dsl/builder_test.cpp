// What the kernel builder writes, and what it refuses when it has the whole kernel.
#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include "dsl/dsl.hpp"
#include "emit/emit.hpp"
#include "ptx/diag/render.hpp"

namespace dsl_builder {

using namespace kiln;
using namespace kiln::dsl;

namespace {

using Tile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;

std::string text(KernelBuilder& k) { return emit::emit_unverified(k.build().module); }

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

int count(const std::string& text, std::string_view part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// The slugs that build() reports, in order.
std::string refused(KernelBuilder& k) {
  try {
    (void)k.build();
  } catch (const diag::Rejected& r) {
    std::string slugs;
    for (const diag::Diagnostic& d : r.findings().all()) slugs += d.slug + ' ';
    return slugs;
  }
  return "";
}

}  // namespace

TEST_CASE("a device loop with a run-time count skips zero trips") {
  KernelBuilder k("k", sm_100a, warps<1>);
  const U32 n = k.param<u32>("n");
  auto b = k.mbarrier("b");
  k.role("r", warp<0>.elect(), [&](Thread t) { t.loop(n, [&](U32) { t.arrive(b); }); });
  const std::string ptx = text(k);
  CHECK(has(ptx, "setp.eq.u32"));
  CHECK(has(ptx, "bra loop_r_end;"));
}

TEST_CASE("a host loop unrolls and a device loop does not") {
  KernelBuilder k("k", sm_100a, warps<1>);
  auto b = k.mbarrier("b");
  k.role("r", warp<0>.elect(), [&](Thread t) {
    for (int i = 0; i < 3; ++i) t.arrive(b);
    t.loop(5, [&](U32) { t.arrive(b); });
  });
  CHECK(count(text(k), "mbarrier.arrive") == 4);
}

TEST_CASE("a value computed twice from the same operands is one instruction") {
  KernelBuilder k("k", sm_100a, warps<1>);
  const U32 n = k.param<u32>("n");
  auto b = k.mbarrier<1>("b");
  k.role("r", warp<0>.elect(), [&](Thread t) {
    t.wait(b, Phase((n * 3 + 1) & 1));
    t.wait(b, Phase((n * 3 + 1) & 1));
  });
  CHECK(count(text(k), "mul.lo.u32") == 1);
}

TEST_CASE("unused arithmetic is not written") {
  KernelBuilder k("k", sm_100a, warps<1>);
  const U32 unused = k.param<u32>("n") * 3;
  (void)unused;
  const std::string ptx = text(k);
  CHECK_FALSE(has(ptx, "mul"));
  CHECK_FALSE(has(ptx, "ld.param"));
}

TEST_CASE("multiplying, dividing and taking remainders by powers of two shift and mask") {
  KernelBuilder k("k", sm_100a, warps<1>);
  const U32 n = k.param<u32>("n");
  auto b = k.mbarrier("b");
  k.role("r", warp<0>.elect(), [&](Thread t) { t.wait(b, Phase(n * 8 + n / 4 + n % 16)); });
  const std::string ptx = text(k);
  for (const char* part : {"shl.b32", "shr.u32", "and.b32"}) CHECK(has(ptx, part));
  CHECK_FALSE(has(ptx, "div"));
  CHECK_FALSE(has(ptx, "rem"));
}

TEST_CASE("each instruction names the line of the kernel that asked for it") {
  KernelBuilder k("k", sm_100a, warps<1>);
  auto b = k.mbarrier("b");
  int line = 0;
  k.role("r", warp<0>.elect(), [&](Thread t) {
    line = __LINE__ + 1;
    t.arrive(b);
  });
  const std::string ptx = text(k);
  CHECK(has(ptx, "builder_test.cpp\""));
  CHECK(has(ptx, ".loc 1 " + std::to_string(line) + " "));
  CHECK(count(ptx, ".file") == 1);
}

TEST_CASE("a variable keeps its value over iterations and a value does not change") {
  KernelBuilder k("k", sm_100a, warps<1>);
  auto b = k.mbarrier("b");
  k.role("r", warp<0>.elect(), [&](Thread t) {
    auto phase = t.var(0);
    t.loop(4, [&](U32) {
      t.wait(b, Phase(phase));
      phase = phase ^ 1;
    });
  });
  CHECK(has(text(k), "xor.b32"));
}

TEST_CASE("a kernel allocates what its handles need, rounded up to a power of two") {
  KernelBuilder k("k", sm_100a, warps<4>);
  auto a = k.tmem<f32, 128, 64>("a");
  auto b = k.tmem<f32, 128, 32>("b");
  CHECK(a.first == 0);
  CHECK(b.first == 64);
  const std::string ptx = text(k);
  CHECK(has(ptx, "[kiln_tmem], 128;"));
  CHECK(count(ptx, "tcgen05.dealloc") == 1);
}

TEST_CASE("a kernel says for how many CTAs of an SM its registers are meant, if it is told") {
  const auto performance = [](int ctas) {
    KernelBuilder k("k", sm_100a, warps<1>);
    if (ctas > 0) k.minnctapersm(ctas);
    k.role("r", warp<0>, [](Warp) {});
    return emit::emit_unverified(k.build().module);
  };
  CHECK(performance(0).find(".minnctapersm") == std::string::npos);
  CHECK(performance(1).find(".minnctapersm 1\n") != std::string::npos);
}

TEST_CASE("build reports tensor memory beyond 512 columns") {
  KernelBuilder k("k", sm_100a, warps<4>);
  (void)k.tmem<f32, 128, 512>("a");
  (void)k.tmem<f32, 128, 32>("b");
  CHECK(refused(k) == "tcgen05-tmem-budget ");
}

TEST_CASE("build reports tensor memory on a target without it") {
  KernelBuilder k("k", isa::sm_120a, warps<4>);
  (void)k.tmem<f32, 128, 64>("a");
  CHECK(refused(k) == "target-tcgen05 ");
}

TEST_CASE("build reports shared memory beyond the target's") {
  KernelBuilder k("k", sm_100a, warps<1>);
  for (int i = 0; i < 15; ++i) (void)k.shared<Tile>();
  CHECK(refused(k) == "shared-budget ");
}

TEST_CASE("build reports a ring without a consumer") {
  KernelBuilder k("k", sm_100a, warps<1>);
  auto ring = k.ring<2, Tile>("in");
  k.role("load", warp<0>.elect(), [&](Thread t) { (void)ring.acquire(t); });
  CHECK(refused(k) == "ring-roles ");
}

TEST_CASE("build reports a ring with two producers") {
  KernelBuilder k("k", sm_100a, warps<3>);
  auto ring = k.ring<2, Tile>("in");
  k.role("one", warp<0>.elect(), [&](Thread t) { (void)ring.acquire(t); });
  k.role("two", warp<1>.elect(), [&](Thread t) { (void)ring.acquire(t); });
  k.role("read", warp<2>.elect(), [&](Thread t) { t.arrive(ring.wait(t).empty); });
  CHECK(refused(k) == "ring-roles ");
}

TEST_CASE("build reports slots that are never given back") {
  KernelBuilder k("k", sm_100a, warps<2>);
  auto ring = k.ring<2, Tile>("in");
  k.role("load", warp<0>.elect(), [&](Thread t) { (void)ring.acquire(t); });
  k.role("read", warp<1>.elect(), [&](Thread t) { (void)ring.wait(t); });
  CHECK(refused(k) == "ring-release ");
}

TEST_CASE("build reports a role on a warp that the CTA has not") {
  KernelBuilder k("k", sm_100a, warps<2>);
  k.role("r", warp<2>.elect(), [&](Thread) {});
  CHECK(refused(k) == "dsl-role-warps ");
}

TEST_CASE("build reports a value used after its block") {
  KernelBuilder k("k", sm_100a, warps<1>);
  auto b = k.mbarrier("b");
  k.role("r", warp<0>.elect(), [&](Thread t) {
    std::optional<U32> kept;
    t.loop(4, [&](U32 i) { kept.emplace(i); });
    t.wait(b, Phase(*kept & 1));
  });
  CHECK(refused(k) == "dsl-value-scope ");
}

TEST_CASE("build reports a value of another kernel") {
  KernelBuilder other("other", sm_100a, warps<1>), k("k", sm_100a, warps<1>);
  const U32 n = other.param<u32>("n");
  auto b = k.mbarrier("b");
  k.role("r", warp<0>.elect(), [&](Thread t) { t.wait(b, Phase(n)); });
  CHECK(refused(k) == "dsl-value-scope ");
}

TEST_CASE("build reports a column range outside the handle, with the line of the kernel") {
  KernelBuilder k("k", sm_100a, warps<4>);
  auto acc = k.tmem<f32, 128, 64>("acc");
  const unsigned line = __LINE__ + 1;
  k.role("r", warpgroup<0>, [&](Warpgroup& g) { (void)g.wait(g.load(acc.columns<32>(48))); });
  try {
    (void)k.build();
    FAIL("not refused");
  } catch (const diag::Rejected& r) {
    REQUIRE(r.findings().all().size() == 1);
    CHECK(r.findings().all()[0].slug == "tcgen05-tmem-range");
    CHECK(r.findings().all()[0].where.line == line);
    CHECK(has(diag::render_text(r.findings()), "builder_test.cpp"));
  }
}

TEST_CASE("build reports a K slice that does not fit the tile") {
  KernelBuilder k("k", sm_100a, warps<1>);
  auto tile = k.shared<Tile>();
  (void)tile.k_slice(56);
  CHECK(refused(k) == "shared-tile-slice ");
}

// 384 threads have 168 registers at entry, 64512 in all; 2 * 128 * 240 leave 24 for each of the others, not 32.
TEST_CASE("build refuses roles that take more registers than the CTA has at entry") {
  const auto build = [](auto rest) {
    KernelBuilder k("k", sm_90a, warps<12>);
    k.minnctapersm(1);
    k.role("first", warpgroup<0>, [](Warpgroup& g) { g.setmaxnreg_inc<240>(); });
    k.role("second", warpgroup<1>, [](Warpgroup& g) { g.setmaxnreg_inc<240>(); });
    k.role("third", warpgroup<2>, [](Warpgroup& g) { g.setmaxnreg_dec<decltype(rest)::value>(); });
    return refused(k);
  };
  CHECK(build(std::integral_constant<int, 24>()) == "");
  CHECK(build(std::integral_constant<int, 32>()) == "setmaxnreg-budget ");
}

// ptxas never gives a thread more than 255 registers, the hardware gives them in eights.
TEST_CASE("build takes roles that ask for all 256 registers of a thread") {
  KernelBuilder k("k", sm_90a, warps<8>);
  k.minnctapersm(1);
  k.role("first", warpgroup<0>, [](Warpgroup& g) { g.setmaxnreg_inc<256>(); });
  k.role("second", warpgroup<1>, [](Warpgroup& g) { g.setmaxnreg_inc<256>(); });
  CHECK(refused(k) == "");
}

TEST_CASE("build counts roles that ask for no registers with those at entry") {
  KernelBuilder k("k", sm_90a, warps<12>);
  k.minnctapersm(1);
  k.role("first", warpgroup<0>, [](Warpgroup& g) { g.setmaxnreg_inc<176>(); });
  k.role("second", warpgroup<1>, [](Warpgroup&) {});
  CHECK(refused(k) == "");  // the third warpgroup has no role, and is gone
  k.role("third", warpgroup<2>, [](Warpgroup&) {});
  CHECK(refused(k) == "setmaxnreg-budget ");
}

}  // namespace dsl_builder
