// Kernels for sm_90a: what MMAs become where the tensor core is wgmma, and what it has no way to do.
#include <doctest/doctest.h>

#include <string>

#include "dsl/dsl.hpp"
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
