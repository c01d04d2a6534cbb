// What a kernel of the DSL knows of its launches, as `kiln check KERNEL` uses it.
#include <doctest/doctest.h>

#include "dsl/dsl.hpp"
#include "emit/emit.hpp"
#include "tools/command/judge.hpp"
#include "tools/command/kernel_text.hpp"

namespace kernel_facts {

using namespace kiln;
using namespace kiln::dsl;

namespace {

using Tile = SharedTile<f32, 128, 32, K_major, swizzle_128B>;

// Copies two tiles to each slot of a ring, or forgets the second one.
Kernel two_copies(bool forgets) {
  KernelBuilder k("two_copies", sm_100a, warps<5>);
  const auto x = k.param<TensorMap<Tile>>("x");
  const auto n = k.param<u32>("n");
  auto in = k.ring<2, Tile, Tile>("in");
  k.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(n, [&](U32 i) {
      const auto slot = in.acquire(t);
      t.tma_load(slot.get<0>(), x.at(0, i * 64), slot.full);
      if (!forgets) t.tma_load(slot.get<1>(), x.at(0, i * 64 + 32), slot.full);
    });
  });
  k.role("read", warpgroup<0>, [&](Warpgroup& g) { g.loop(n, [&](U32) { in.release(g, in.wait(g)); }); });
  return k.build();
}

// Copies with a map whose box the launch says.
Kernel bare_copy() {
  KernelBuilder k("bare_copy", sm_100a, warps<1>);
  const auto x = k.param<TensorMapHandle<f32, 2>>("x");
  const auto full = k.mbarrier("full");
  const auto tile = k.shared<Tile>();
  k.role("load", warp<0>.elect(), [&](Thread t) {
    t.expect_tx(full, Tile::transaction_bytes);
    t.tma_load(tile, x.at(0, 0), full);
    t.wait(full, Phase{0});
  });
  return k.build();
}

diag::Sink judged(const Kernel& kernel, verifier::LaunchFacts known) {
  const auto text = std::make_shared<const diag::Source>("k.ptx", emit::emit_unverified(kernel.module));
  return command::judge_kernel(text, {}, std::move(known)).found;
}

}  // namespace

TEST_CASE("the boxes that a kernel was written for say which bytes its copies bring") {
  const Kernel good = two_copies(false), bad = two_copies(true);
  CHECK(judged(good, command::launch_facts(good)).all().empty());
  const diag::Sink found = judged(bad, command::launch_facts(bad));
  REQUIRE(found.all().size() == 1);
  CHECK(found.all()[0].slug == "mbarrier-bytes");
  CHECK(found.all()[0].severity == diag::Severity::error);
  CHECK(found.all()[0].message.find("32768 bytes expected and 16384 copied") != std::string::npos);
  // Without what the kernel knows, that is assumed to be right.
  CHECK_FALSE(judged(bad, {}).has_errors());
}

TEST_CASE("the box of a bare map is the launch's, and --problem says it") {
  const Kernel kernel = bare_copy();
  const diag::Sink found = judged(kernel, command::launch_facts(kernel));
  REQUIRE(found.all().size() == 1);
  CHECK(found.all()[0].severity == diag::Severity::note);
  CHECK(found.all()[0].message.find("--problem says it") != std::string::npos);
}

TEST_CASE("what is known of every launch: threads, dynamic shared memory and boxes") {
  const Kernel kernel = two_copies(false);
  const verifier::LaunchFacts known = command::launch_facts(kernel);
  CHECK(known.block[0] == 160);
  CHECK(known.dynamic_shared == kernel.dynamic_smem);
  CHECK(kernel.dynamic_smem >= 4 * 128 * 32 * 4);
  REQUIRE(known.boxes.size() == 1);
  CHECK(known.boxes.at(0).box_bytes() == 128 * 32 * 4);
}

}  // namespace kernel_facts
