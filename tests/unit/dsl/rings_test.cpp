// Rings with several roles on a side: how many arrivals the builder counts, and what it says where roles do not fit.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "dsl/dsl.hpp"
#include "emit/emit.hpp"
#include "ptx/diag/error.hpp"

namespace dsl_rings {

using namespace kiln;
using namespace kiln::dsl;

namespace {

using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 64>;

std::string text(KernelBuilder& k) { return emit::emit_unverified(k.build().module); }

/// The arrivals of each mbarrier, in the order in which they are initialised.
std::string arrivals(const std::string& ptx) {
  std::string out;
  for (std::size_t at = ptx.find("mbarrier.init"); at != std::string::npos; at = ptx.find("mbarrier.init", at + 1)) {
    const std::size_t comma = ptx.find(", ", at);
    out += ptx.substr(comma + 2, ptx.find(';', comma) - comma - 2) + " ";
  }
  return out;
}

/// "slug: message" of what build() reports, and whether that is so.
std::string refused(KernelBuilder& k) {
  try {
    (void)k.build();
  } catch (const diag::Rejected& r) {
    std::string out;
    for (const diag::Diagnostic& d : r.findings().all()) out += d.slug + ": " + d.message;
    return out;
  }
  return "";
}

bool found(KernelBuilder& k, std::string_view slug, std::string_view what) {
  const std::string report = refused(k);
  return report.starts_with(slug) && report.find(what) != std::string::npos;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A kernel whose ring of one slot TMA fills with an A and a B.
struct Filled {
  KernelBuilder k;
  Ring<4, ATile, BTile> in;
  TensorMap<ATile> A;
  TensorMap<BTile> B;
  explicit Filled(Target target = sm_100a, CtaGroup group = cta_group_1)
      : k("k", target, warps<16>, group),
        in(k.ring<4, ATile, BTile>("in")),
        A(k.param<TensorMap<ATile>>("A")),
        B(k.param<TensorMap<BTile>>("B")) {}
  void load() {
    k.role("load", warp<12>.elect(), [&](Thread t) {
      const auto slot = in.acquire(t);
      t.tma_load(slot.get<ATile>(), A.at(0, 0), slot.full);
      t.tma_load(slot.get<BTile>(), B.at(0, 0), slot.full);
    });
  }
  void load_a(const Ring<4, ATile, BTile>& ring) {
    k.role("load_a", warp<12>.elect(), [&](Thread t) {
      auto of = ring;
      const auto slot = of.acquire<ATile>(t);
      t.tma_load(slot.get<ATile>(), A.at(0, 0), slot.full);
    });
  }
  void load_b() {
    k.role("load_b", warp<13>.elect(), [&](Thread t) {
      const auto slot = in.acquire<BTile>(t);
      t.tma_load(slot.get<BTile>(), B.at(0, 0), slot.full);
    });
  }
  void read(const std::string& name, WholeWarpgroup warps) {
    k.role(name, warps, [&](Warpgroup& g) {
      const auto slot = in.wait(g);
      (void)g.load(slot.get<ATile>());
      in.release(g, slot);
    });
  }
};

}  // namespace

TEST_CASE("on sm_90a a slot that a warpgroup reads beside the MMAs is empty after both") {
  Filled f(sm_90a);
  const auto sums = f.k.tmem<f32, 128, 64>("sums");
  const auto done = f.k.mbarrier("done");
  f.load();
  f.k.role("multiply", warp<13>.elect(), [&](Thread t) {
    const auto slot = f.in.wait(t);
    t.mma(sums, slot.get<ATile>().k_slice(0), slot.get<BTile>().k_slice(0), accumulate(false));
    t.commit(slot.empty);
    t.commit(done);
  });
  f.read("read", warpgroup<1>);
  f.k.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.wait(done, Phase{0});
    for (int c = 0; c < 64; c += 32) (void)g.wait(g.load(sums.columns<32>(c)));
  });
  // in_full, in_empty: eight warps that multiply and one arrival of the warpgroup; the two places of the sums; done.
  CHECK(arrivals(text(f.k)) == "1 1 1 1 9 9 9 9 8 8 4 4 1 ");
}

TEST_CASE("a role of two warpgroups gives an accumulator back by its eight warps, and a slot by one arrival") {
  Filled f;
  auto sums = f.k.accumulator_ring<1, Mma>("sums");
  f.load();
  f.k.role("multiply", warp<13>.elect(), [&](Thread t) { t.commit(sums.acquire(t).full); });
  f.k.role("read", warpgroups<0, 2>, [&](Warpgroups<2>& g) {
    const auto slot = f.in.wait(g);
    f.in.release(g, slot);
    const auto block = sums.wait(g);
    (void)g.wait(g.load(g.share(block.sums)));
    sums.release(g, block);
    g.sync();
  });
  const std::string ptx = text(f.k);
  CHECK(has(ptx, "bar.sync 1, 256;"));
  CHECK(arrivals(ptx) == "1 1 1 1 1 1 1 1 1 8 ");
}

TEST_CASE("a slot that two roles fill is full after both have announced what they bring") {
  Filled f;
  f.load_a(f.in), f.load_b(), f.read("read", warpgroup<0>);
  const std::string ptx = text(f.k);
  CHECK(has(ptx, ", 16384;"));  // 128 x 64 bf16
  CHECK(has(ptx, ", 8192;"));
  CHECK(arrivals(ptx) == "2 2 2 2 1 1 1 1 ");
}

TEST_CASE("a slot that threads and TMA fill is full after an arrival of each, and threads announce nothing") {
  Filled f;
  f.load_b(), f.read("read", warpgroup<0>);
  const auto rows = f.k.param<Pointer<bf16>>("rows");
  f.k.role("store_a", warpgroup<1>, [&](Warpgroup& g) {
    const auto slot = f.in.acquire<ATile>(g);
    g.store(slot.get<ATile>(), g.load_global<bf16, 64>(rows.at(widen(g.row() * 64)), f.k.constant(64)));
    f.in.publish(g, slot);
  });
  CHECK(arrivals(text(f.k)) == "2 2 2 2 1 1 1 1 ");
}

TEST_CASE("of roles that take turns one fills a slot and one reads it") {
  KernelBuilder k("k", sm_100a, warps<10>);
  auto in = k.ring<4, ATile>("in");
  const auto map = k.param<TensorMap<ATile>>("A");
  for (const int i : {0, 1})
    k.role("load" + std::to_string(i), i == 0 ? warp<8>.elect() : warp<9>.elect(), [&](Thread t) {
      auto mine = in.turn(i, 2);
      t.loop(4, [&](U32 j) {
        const auto slot = mine.acquire(t);
        t.tma_load(slot.get<ATile>(), map.at(j * 2 + i, 0), slot.full);
      });
    });
  for (const int i : {0, 1})
    k.role("read" + std::to_string(i), i == 0 ? warpgroup<0> : warpgroup<1>, [&](Warpgroup& g) {
      auto mine = in.turn(i, 2);
      g.loop(4, [&](U32) {
        const auto slot = mine.wait(g);
        (void)g.load(slot.get<ATile>());
        mine.release(g, slot);
      });
    });
  CHECK(arrivals(text(k)) == "1 1 1 1 1 1 1 1 ");
}

TEST_CASE("warps that read every slot at their own pace arrive each, warps that take turns once") {
  for (const bool turns : {false, true}) {
    Filled f;
    f.load();
    f.k.role("read", warpgroup<0>, [&](Warpgroup& g) {
      g.each_warp([&](Warp w) {
        auto in = turns ? f.in.by_warp() : f.in;
        const auto slot = in.wait(w);
        in.release(w, slot);
      });
    });
    CHECK(arrivals(text(f.k)) == (turns ? "1 1 1 1 1 1 1 1 " : "1 1 1 1 4 4 4 4 "));
  }
}

TEST_CASE("a role that leaves parts of some slots out fills all of them, and announces what it copies") {
  KernelBuilder k("k", sm_100a, warps<8>);
  auto A = k.param<TensorMap<ATile>>("A");
  auto B = k.param<TensorMap<BTile>>("B");
  AnyRing in = k.ring("in", 4, {ATile::part, BTile::part});
  k.role("load", warp<4>.elect(), [&](Thread t) {
    for (const std::vector<int>& parts : {std::vector<int>{}, std::vector<int>{0}}) {
      const AnySlot slot = in.acquire(t, parts);
      t.tma_load(slot.tile(0, ATile::shape), A.at(0, 0).any(), slot.full);
      if (parts.empty()) t.tma_load(slot.tile(1, BTile::shape), B.at(0, 0).any(), slot.full);
    }
  });
  k.role("read", warpgroup<0>, [&](Warpgroup& g) { in.release(g, in.wait(g)); });
  const std::string ptx = text(k);
  CHECK(has(ptx, ", " + std::to_string(ATile::transaction_bytes + BTile::transaction_bytes) + ";"));
  CHECK(has(ptx, ", " + std::to_string(ATile::transaction_bytes) + ";"));
}

TEST_CASE("ring-roles says what to do where several roles fill one ring") {
  SUBCASE("the same parts") {
    Filled f;
    f.load(), f.load_b(), f.read("read", warpgroup<0>);
    CHECK(found(f.k, "ring-roles",
                "2 roles fill part 1 of each slot of ring 'in': each names the tiles that it "
                "fills, acquire<Tile>(t), or they take turns, turn(0, 2) and so on"));
  }
  SUBCASE("not all parts") {
    Filled f;
    f.load_b(), f.read("read", warpgroup<0>);
    CHECK(found(f.k, "ring-roles", "no role fills part 0 of each slot of ring 'in'"));
  }
  SUBCASE("turns that leave a gap") {
    Filled f;
    f.load_a(f.in.turn(0, 2)), f.read("read", warpgroup<0>);
    CHECK(found(f.k, "ring-roles", "of the 2 turns that ring 'in' gives its producers, 1 are taken"));
  }
  SUBCASE("one in turns and one always") {
    Filled f;
    f.load_a(f.in.turn(0, 2)), f.load_b(), f.read("read", warpgroup<0>);
    CHECK(found(f.k, "ring-roles",
                "the producers of ring 'in' take turns that do not fit together: with 2 roles, "
                "one is turn(0, 2), the next turn(1, ...)"));
  }
  SUBCASE("a ring whose slots the turns do not divide") {
    KernelBuilder k("k", sm_100a, warps<12>);
    auto in = k.ring<3, BTile>("in");
    for (const int i : {0, 1}) {
      k.role("load" + std::to_string(i), i == 0 ? warp<8>.elect() : warp<9>.elect(),
             [&](Thread t) { (void)in.turn(i, 2).acquire(t); });
      k.role("read" + std::to_string(i), i == 0 ? warpgroup<0> : warpgroup<1>, [&](Warpgroup& g) {
        const auto slot = in.turn(i, 2).wait(g);
        in.release(g, slot);
      });
    }
    CHECK(found(k, "ring-roles", "ring 'in' has 3 slots, which 2 turns do not divide: give it a multiple of 2"));
  }
  SUBCASE("a store ring") {
    KernelBuilder k("k", sm_100a, warps<8>);
    auto out = k.store_ring<1, ATile>("out");
    for (const int i : {0, 1})
      k.role("store" + std::to_string(i), i == 0 ? warpgroup<0> : warpgroup<1>,
             [&](Warpgroup& g) { (void)out.acquire(g); });
    CHECK(found(k, "ring-roles",
                "2 roles write ring 'out': each has a store ring of its own, or they are one "
                "role, warpgroups<0, 2>"));
  }
}

TEST_CASE("ring-roles says which role of a pair may read a ring that runs through both CTAs") {
  Filled f(sm_100a, cta_group_2);
  f.load(), f.read("read", warpgroup<0>);
  CHECK(found(f.k, "ring-roles",
              "a role of both CTAs of a pair reads ring 'in', whose slots are full in the "
              "leader: make it a role of leader_cta, or the ring a cta_ring"));
}

TEST_CASE("pages are copied to the rows of one tile, in every span, and none beside them") {
  using Page = SharedTile<bf16, 64, 128, K_major, swizzle_128B>;
  using Pages = SharedTile<bf16, 128, 128, K_major, swizzle_128B>;
  for (const int row : {64, 32}) {
    KernelBuilder k("k", sm_100a, warps<5>);
    auto in = k.ring<1, Pages>("in");
    const auto map = k.param<TensorMap<Page>>("K");
    k.role("load", warp<4>.elect(), [&](Thread t) {
      const auto slot = in.acquire(t);
      t.tma_load_part(slot.get<Pages>(), row, map.at(0, 0), slot.full);
    });
    k.role("read", warpgroup<0>, [&](Warpgroup& g) { in.release(g, in.wait(g)); });
    if (row == 32) {
      CHECK(found(k, "shared-tile-slice", "32"));
      continue;
    }
    const std::string ptx = text(k);
    // The second half of the rows: 64 of 128 bytes, and in the next span of 128 rows.
    CHECK(has(ptx, ", 8192;"));
    CHECK(has(ptx, ", 16384;"));
    CHECK(ptx.find("cp.async.bulk.tensor") != ptx.rfind("cp.async.bulk.tensor"));
  }
}

TEST_CASE("ring-release names the roles that keep a slot") {
  Filled f;
  f.load(), f.read("read", warpgroup<0>);
  f.k.role("keep", warpgroup<1>, [&](Warpgroup& g) { (void)f.in.wait(g); });
  CHECK(found(f.k, "ring-release", "role 'keep' reads ring 'in' and gives no slot back"));
}

}  // namespace dsl_rings
