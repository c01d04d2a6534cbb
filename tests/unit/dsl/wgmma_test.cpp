// Kernels for sm_90a: what MMAs become where the tensor core is wgmma, and what it has no way to do.
#include <doctest/doctest.h>

#include <string>

#include "dsl/dsl.hpp"
#include "dsl/register_sums.hpp"
#include "emit/emit.hpp"
#include "ptx/isa/wgmma.hpp"
#include "ptx/rules/catalogue.hpp"
#include "ptx/rules/wgmma.hpp"

namespace dsl_wgmma {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int K = 64;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 256, 256, cta_group_2>;
using ATile = SharedTile<bf16, 128, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 256, K, K_major, swizzle_128B>;
using BHalf = Mma::BTile<K, K_major, swizzle_128B>;

int count(const std::string& text, std::string_view part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

bool has(const std::string& text, std::string_view part) { return count(text, part) > 0; }

// A GEMM of one tile: how it multiplies and how it reads the sums are the test's business.
struct Gemm {
  KernelBuilder k;
  TensorMap<ATile> A;
  TensorMap<BTile> B;
  Ring<4, ATile, BTile> in;
  Mbarrier done;

  Gemm()
      : k("k", sm_90a, warps<6>),
        A(k.param<TensorMap<ATile>>("A")),
        B(k.param<TensorMap<BTile>>("B")),
        in(k.ring<4, ATile, BTile>("in")),
        done(k.mbarrier("done")) {}

  void load() {
    k.role("load", warp<4>.elect(), [&](Thread t) {
      auto slot = in.acquire(t);
      t.tma_load(slot.get<ATile>(), A.at(0, 0), slot.full);
      t.tma_load(slot.get<BTile>(), B.at(0, 0), slot.full);
    });
  }
  template <class Sums>
  void multiply(const Sums& sums) {
    k.role("mma", warp<5>.elect(), [&](Thread t) {
      auto slot = in.wait(t);
      for (int i = 0; i < K; i += 16)
        t.mma(sums, slot.get<ATile>().k_slice(i), slot.get<BTile>().k_slice(i), accumulate(i != 0));
      t.commit(slot.empty);
      t.commit(done);
    });
  }
  template <class Read>
  void store(Read read) {
    k.role("store", warpgroup<0>, [&](Warpgroup& g) {
      g.wait(done, Phase{0});
      read(g);
    });
  }
  std::string text() { return emit::emit_unverified(k.build().module); }
  std::string refused() {
    try {
      (void)k.build();
    } catch (const diag::Rejected& r) {
      return r.findings().all().front().slug;
    }
    return "";
  }
};

// Reads all columns in their order.
template <int N>
void read_all(Warpgroup& g, const Tmem<f32, 128, N>& sums) {
  for (int c = 0; c < N; c += 32) (void)g.wait(g.load(sums.template columns<32>(c)));
}

}  // namespace

TEST_CASE("on sm_90a two warpgroups more multiply with wgmma, and nothing of tcgen05 is left") {
  Gemm gemm;
  auto sums = gemm.k.tmem<f32, 128, 256>("sums");
  gemm.load(), gemm.multiply(sums), gemm.store([&](Warpgroup& g) { read_all(g, sums); });
  const std::string ptx = gemm.text();
  CHECK_FALSE(has(ptx, "tcgen05"));
  CHECK(has(ptx, ".reqntid 512, 1, 1"));  // 6 warps, 8 with two that idle, and 8
  CHECK(count(ptx, "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16") == 2 * K / 16);
  CHECK(count(ptx, "wgmma.fence") == 1);
  CHECK(count(ptx, "wgmma.commit_group") == 1);
}

TEST_CASE("a slot is given back one commit later, and every one at the end") {
  Gemm gemm;
  auto sums = gemm.k.tmem<f32, 128, 256>("sums");
  gemm.load(), gemm.multiply(sums), gemm.store([&](Warpgroup& g) { read_all(g, sums); });
  const std::string ptx = gemm.text();
  CHECK(count(ptx, "wgmma.wait_group.sync.aligned 1;") == 1);
  CHECK(ptx.find("wgmma.wait_group.sync.aligned 1;") < ptx.find("wgmma.wait_group.sync.aligned 0;"));
  // Eight warps give back each of four slots, and hand over sums in two places.
  CHECK(count(ptx, "], 8;") == 4 + 2);
}

TEST_CASE("the warps that multiply take registers from the others where the sums want them") {
  Gemm gemm;
  auto sums = gemm.k.tmem<f32, 128, 256>("sums");
  gemm.load(), gemm.multiply(sums), gemm.store([&](Warpgroup& g) { read_all(g, sums); });
  const std::string ptx = gemm.text();
  // 256 threads of 168 and 256 of 88 are the 64 Ki of an SM.
  CHECK(has(ptx, "setmaxnreg.inc.sync.aligned.u32 168;"));
  CHECK(has(ptx, "setmaxnreg.dec.sync.aligned.u32 88;"));
}

TEST_CASE("of what both CTAs of a pair multiply by, each CTA loads its half for both") {
  KernelBuilder k("k", sm_90a, warps<6>, cta_group_2);
  auto A = k.param<TensorMap<ATile>>("A");
  auto B = k.param<TensorMap<BHalf>>("B");
  auto in = k.ring<7, ATile, BHalf>("in");
  auto acc = k.accumulator_ring<2, Mma>("acc");
  k.role("load", warp<4>.elect(), [&](Thread t) {
    auto slot = in.acquire(t);
    t.tma_load(slot.get<ATile>(), A.at(0, 0), slot.full);
    t.tma_load(slot.get<BHalf>(), B.at(0, 0), slot.full);
  });
  k.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) {
    auto d = acc.acquire(t);
    auto slot = in.wait(t);
    t.mma<Mma>(d.sums, slot.get<ATile>().k_slice(0), slot.get<BHalf>().k_slice(0), accumulate(false));
    t.commit(slot.empty, all_ctas);
    t.commit(d.full, all_ctas);
  });
  k.role("store", warpgroup<0>, [&](Warpgroup& g) {
    auto d = acc.wait(g);
    read_all(g, d.sums);
    acc.release(g, d);
  });
  const Kernel kernel = k.build();
  const std::string ptx = emit::emit_unverified(kernel.module);
  CHECK(count(ptx, ".multicast::cluster") == 1);
  CHECK(has(ptx, "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r"));
  CHECK(has(ptx, ", 49152;"));  // 16 KiB of A and twice 16 KiB of B, in a slot as in an announcement
  // Four of the seven slots fit beside 32 KiB of sums on their way out.
  CHECK(kernel.dynamic_smem == 4 * 48 * 1024 + 32 * 1024);
}

TEST_CASE("a matrix descriptor of a tile is the same for wgmma but for version and code of the swizzle") {
  const isa::SharedDescriptor d = ATile::descriptor();
  const isa::SharedDescriptorFields f = isa::unpack_wgmma(isa::wgmma_word(d));
  CHECK(f.stride == d.fields().stride);
  CHECK(f.version == 0);
  CHECK(isa::wgmma_swizzle(f.swizzle_code) == isa::Swizzle::b128);
  CHECK(f.reserved == 0);
}

TEST_CASE("wgmma-form: dense MMAs of 128 rows a CTA, of types that wgmma has, with 32-bit sums") {
  const isa::MmaForm f16{.kind = isa::MmaKind::f16};
  const isa::MmaShape bf16{.a = ScalarType::bf16, .b = ScalarType::bf16, .m = 128, .n = 256};
  CHECK(rules::wgmma_form(f16, bf16).ok());
  const auto slug = [](const isa::MmaForm& f, const isa::MmaShape& s) {
    const rules::Verdict v = rules::wgmma_form(f, s);
    return v.broken() ? std::string(rules::info(v.rule).slug) : "";
  };
  isa::MmaForm sparse = f16, scaled = f16, from_tmem = f16;
  sparse.sparse = true, scaled.kind = isa::MmaKind::mxf4, from_tmem.a_in_tmem = true;
  for (const isa::MmaForm& f : {sparse, scaled, from_tmem}) CHECK(slug(f, bf16) == "wgmma-form");
  isa::MmaShape half = bf16, halves = bf16, narrow = bf16;
  half.m = 64, halves.d = ScalarType::f16, narrow.n = 48;
  for (const isa::MmaShape& s : {half, halves, narrow}) CHECK(slug(f16, s) == "wgmma-form");
}

TEST_CASE("wgmma-form: operands of 16 bits may lie MN-major, others may not") {
  isa::MmaShape both{.a = ScalarType::bf16, .b = ScalarType::bf16, .m = 128, .n = 256};
  both.a_major = both.b_major = Major::MN;
  CHECK(rules::wgmma_form({.kind = isa::MmaKind::f16}, both).ok());
  both.n = 192;  // one part of three spans
  CHECK(rules::wgmma_form({.kind = isa::MmaKind::f16}, both).ok());
  both.n = 224;  // two parts of 112 columns: the second would begin inside a swizzle span
  CHECK(rules::wgmma_form({.kind = isa::MmaKind::f16}, both).broken());
  isa::MmaShape tf32{.a = ScalarType::tf32, .b = ScalarType::tf32, .m = 128, .n = 256};
  CHECK(rules::wgmma_form({.kind = isa::MmaKind::tf32}, tf32).ok());
  tf32.b_major = Major::MN;
  CHECK(rules::wgmma_form({.kind = isa::MmaKind::tf32}, tf32).broken());
}

TEST_CASE("slices of an MN-major tile along its rows begin a whole span further") {
  using Turned = SharedTile<bf16, 256, K, MN_major, swizzle_128B>;
  CHECK(Turned::shape.row_offset(64) == Turned::block_bytes);
  CHECK(Turned::shape.row_offset(128) == 2 * Turned::block_bytes);
  CHECK(ATile::shape.row_offset(64) == 64 * ATile::row_pitch);
}

namespace {

// Two warpgroups that multiply what one thread loads, and keep the sums: each half of the rows, or runs of slots.
struct InRegisters {
  static constexpr int stages = 5;
  MmaSpec mma;
  TileShape a_tile, b_tile;
  KernelBuilder k;
  AnyTensorMap A, B;
  AnyRing in;

  InRegisters(Target target, CtaGroup group, int columns)
      : mma(spec(group, columns)),
        a_tile(mma.a_tile(element_type<bf16>, K, K_major, swizzle_128B)),
        b_tile(mma.b_tile(element_type<bf16>, K, K_major, swizzle_128B)),
        k("k", target, warps<9>, group),
        A(k.param("A", a_tile)),
        B(k.param("B", b_tile)),
        in(k.ring("in", stages, {a_tile.part(), b_tile.part()})) {}
  static MmaSpec spec(CtaGroup group, int columns) {
    MmaSpec s;
    s.form.kind = kind_f16, s.form.group = group;
    s.shape.a = s.shape.b = ScalarType::bf16, s.shape.d = ScalarType::f32;
    s.shape.m = group == cta_group_2 ? 256 : 128, s.shape.n = columns;
    s.complete();
    return s;
  }
  void load() {
    k.role("load", warp<8>.elect(), [&](Thread t) {
      t.loop(6, [&](U32 i) {
        const AnySlot slot = in.acquire(t);
        t.tma_load(slot.tile(0, a_tile), A.at(0, i * K), slot.full);
        t.tma_load(slot.tile(1, b_tile), B.at(0, i * K), slot.full);
      });
    });
  }
  // What each of the two warpgroups does: body(warpgroup, its number).
  template <class Body>
  void in_both(const Body& body) {
    for (const int which : {0, 1})
      k.role("multiply" + std::to_string(which), which == 0 ? warpgroup<0> : warpgroup<1>,
             [&](Warpgroup& g) { body(g, which); });
  }
  // The same, with slots and the sums of a half of the rows: body(warpgroup, slots, sums).
  template <class Body>
  void with_halves(const Body& body) {
    in_both([&](Warpgroup& g, int which) {
      AnyRing own = in.by_mmas();
      RegisterSums sums(g, mma, which, 1);
      body(g, own, sums);
    });
  }
  void multiply(bool in_runs) {
    in_both([&](Warpgroup& g, int which) {
      AnyRing own = in_runs ? in.in_runs(which, 2) : in.by_mmas();
      RegisterSums sums(g, mma, in_runs ? 0 : which, in_runs ? 2 : 1);
      if (in_runs && which == 1) own.skip(g, k.constant(3));
      g.loop(in_runs ? 3 : 6, [&](U32 i) {
        const AnySlot slot = own.wait(g);
        sums.multiply(slot.tile(0, a_tile), slot.tile(1, b_tile), i != 0);
        sums.commit(slot.empty);
      });
      sums.finish();
      CHECK(sums.columns(0, 8, 16).count() == 8);
    });
  }
  std::string text() { return emit::emit_unverified(k.build().module); }
};

}  // namespace

TEST_CASE("sums in registers: a warpgroup multiplies its 64 rows by 256 columns at once, and the launch has its warps alone") {
  InRegisters g(sm_90a, cta_group_1, 256);
  g.load(), g.multiply(false);
  const std::string text = g.text();
  CHECK(count(text, "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16") == 2 * K / 16);
  CHECK(has(text, ".reqntid 288, 1, 1"));
  CHECK_FALSE(has(text, "setmaxnreg"));
  // Both warpgroups give each slot back, by four warps each: four of 48 KiB fit.
  CHECK(count(text, "], 8;") == 4);
}

TEST_CASE("sums in registers: a tile of fewer rows than the MMA has columns is multiplied to the first of them") {
  InRegisters g(sm_90a, cta_group_1, 256);
  g.load();
  g.with_halves([&](Warpgroup& w, AnyRing& own, RegisterSums& sums) {
    TileShape half = g.b_tile;
    half.rows = 128;
    w.loop(6, [&](U32 i) {
      const AnySlot slot = own.wait(w);
      sums.multiply(slot.tile(0, g.a_tile), slot.tile(1, half), i != 0);
      sums.commit(slot.empty);
    });
    sums.finish();
  });
  CHECK(count(g.text(), "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16") == 2 * K / 16);
}

TEST_CASE("sums in registers: what was read of them stays what it was when they are multiplied again in the same scope") {
  InRegisters g(sm_90a, cta_group_1, 128);
  g.load();
  g.with_halves([&](Warpgroup& w, AnyRing& own, RegisterSums& sums) {
    w.loop(6, [&](U32) {
      const AnySlot slot = own.wait(w);
      const auto multiplied = [&] {
        sums.multiply(slot.tile(0, g.a_tile), slot.tile(1, g.b_tile), accumulate(false));
        sums.finish();
        return sums.columns(0, 0, 8).f32(0);
      };
      const F32 before = multiplied(), after = multiplied();
      const auto give_back = [&] { sums.commit(slot.empty); };
      w.when(before < after, give_back, give_back);
    });
    sums.finish();
  });
  // The sum is read twice by each warpgroup: once after each wait.
  const std::string text = g.text();
  const std::size_t sums = text.find('{', text.find("wgmma.mma_async")) + 1;
  const std::string first = text.substr(sums, text.find(',', sums) - sums);
  CHECK(count(text, ", " + first + ";") == 2);
}

TEST_CASE("sums in registers: of warpgroups that take runs of slots one gives each back, in a pair to both CTAs") {
  InRegisters one(sm_90a, cta_group_1, 128), pair(sm_90a, cta_group_2, 128);
  one.load(), one.multiply(true);
  pair.load(), pair.multiply(true);
  const std::string text = one.text(), of_pair = pair.text();
  CHECK(count(text, "wgmma.mma_async.sync.aligned.m64n128k16") == 2 * 2 * K / 16);
  CHECK(count(text, "], 4;") == InRegisters::stages);
  CHECK(count(of_pair, "], 8;") == InRegisters::stages);
  CHECK(count(of_pair, "mapa.shared::cluster") == 4);
  CHECK(has(of_pair, "barrier.cluster.arrive"));
}

TEST_CASE("sums in registers: what wgmma cannot do is refused, and a target without it") {
  const auto refused = [](InRegisters& g) {
    g.load(), g.multiply(false);
    try {
      (void)g.k.build();
    } catch (const diag::Rejected& r) {
      return r.findings().all().front().slug;
    }
    return std::string();
  };
  InRegisters blackwell(sm_100a, cta_group_1, 128), narrow(sm_90a, cta_group_1, 48);
  CHECK(refused(blackwell) == "target-feature");
  CHECK(refused(narrow) == "wgmma-form");
}

TEST_CASE("wgmma-sums: a second accumulator is refused") {
  Gemm gemm;
  auto sums = gemm.k.tmem<f32, 128, 128>("sums");
  (void)gemm.k.tmem<f32, 128, 128>("more");
  gemm.load(), gemm.store([&](Warpgroup& g) { read_all(g, sums); });
  CHECK(gemm.refused() == "wgmma-sums");
}

TEST_CASE("wgmma-sums-order: sums are read from the first column to the last") {
  Gemm gemm;
  auto sums = gemm.k.tmem<f32, 128, 256>("sums");
  gemm.load(), gemm.multiply(sums);
  gemm.store([&](Warpgroup& g) { (void)g.wait(g.load(sums.columns<32>(32))); });
  CHECK(gemm.refused() == "wgmma-sums-order");
}

TEST_CASE("wgmma-half: two halves of several spans each would not make one tile") {
  using Wide = Mma::BTile<2 * K, K_major, swizzle_128B>;
  KernelBuilder k("k", sm_90a, warps<6>, cta_group_2);
  (void)k.ring<2, ATile, Wide>("in");
  k.role("r", warp<0>.elect(), [](Thread) {});
  try {
    (void)k.build();
    FAIL("built");
  } catch (const diag::Rejected& r) {
    CHECK(r.findings().all().front().slug == "wgmma-half");
  }
}

}  // namespace dsl_wgmma
