// Handles whose shapes are values: they write what handles of types write, and build() reports what types refuse.
#include <doctest/doctest.h>

#include <string>

#include "dsl/dsl.hpp"
#include "emit/emit.hpp"

namespace dsl_shapes {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int K = 64;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 256, 128, cta_group_2>;
using ATile = Mma::ATile<K, K_major, swizzle_128B>;
using BTile = Mma::BTile<K, K_major, swizzle_128B>;

std::string text(const Kernel& k) {
  std::string out, line;
  for (const char c : emit::emit_unverified(k.module)) {
    line += c;
    if (c != '\n') continue;
    if (line.find(".loc") == std::string::npos && line.find(".file") == std::string::npos) out += line;
    line.clear();
  }
  return out;
}

Kernel with_types(Target target) {
  KernelBuilder k("k", target, warps<6>, cta_group_2);
  auto A = k.param<TensorMap<ATile>>("A");
  auto B = k.param<TensorMap<BTile>>("B");
  auto D = k.param<Pointer<bf16>>("D");
  auto in = k.ring<3, ATile, BTile>("in");
  auto acc = k.accumulator_ring<1, Mma>("acc");
  k.role("load", warp<4>.elect(), [&](Thread t) {
    auto slot = in.acquire(t);
    t.tma_load(slot.get<0>(), A.at(0, 0), slot.full);
    t.tma_load(slot.get<1>(), B.at(0, 0), slot.full);
  });
  k.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) {
    auto d = acc.acquire(t);
    auto slot = in.wait(t);
    auto a = slot.get<0>();
    auto b = slot.get<1>();
    for (int i = 0; i < K; i += 16) t.mma<Mma>(d.sums, a.k_slice(i), b.k_slice(i), accumulate(i != 0));
    t.commit(slot.empty, all_ctas);
    t.commit(d.full, all_ctas);
  });
  k.role("store", warpgroup<0>, [&](Warpgroup& g) {
    auto d = acc.wait(g);
    for (int c = 0; c < 128; c += 32) {
      auto sums = g.wait(g.load(d.sums.columns<32>(c)));
      g.store_global(D.address(), cvt<bf16>(sums), k.constant(128), c);
    }
    acc.release(g, d);
  });
  return k.build();
}

Kernel with_values(Target target) {
  const TileShape a_tile = ATile::shape, b_tile = BTile::shape;
  const MmaSpec mma = Mma::spec;
  KernelBuilder k("k", target, warps<6>, cta_group_2);
  auto A = k.param("A", a_tile);
  auto B = k.param("B", b_tile);
  auto D = k.pointer("D", element_type<bf16>);
  auto in = k.ring("in", 3, {a_tile.part(), b_tile.part()});
  auto acc = k.accumulator_ring("acc", 1, mma.d_columns(), element_type<f32>);
  k.role("load", warp<4>.elect(), [&](Thread t) {
    auto slot = in.acquire(t);
    t.tma_load(slot.tile(0, a_tile), A.at(0, 0), slot.full);
    t.tma_load(slot.tile(1, b_tile), B.at(0, 0), slot.full);
  });
  k.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) {
    auto d = acc.acquire(t);
    auto slot = in.wait(t);
    auto a = slot.tile(0, a_tile), b = slot.tile(1, b_tile);
    for (int i = 0; i < K; i += 16) t.mma(mma, d.sums, a.k_slice(i), b.k_slice(i), accumulate(i != 0));
    t.commit(slot.empty, all_ctas);
    t.commit(d.full, all_ctas);
  });
  k.role("store", warpgroup<0>, [&](Warpgroup& g) {
    auto d = acc.wait(g);
    for (int c = 0; c < 128; c += 32) {
      auto sums = g.wait(g.load(d.sums.columns(c, 32)));
      g.store_global(D.address(), converted(sums, element_type<bf16>), k.constant(128), c);
    }
    acc.release(g, d.empty);
  });
  return k.build();
}

// The slug of the first rule that a role's body breaks.
template <class Body>
std::string broken(Body body) {
  KernelBuilder k("k", sm_100a, warps<4>);
  auto sums = k.tmem<f32, 128, 256>("sums").any();
  k.role("r", warpgroup<0>, [&](Warpgroup& g) { body(g, sums, k.constant(0)); });
  try {
    (void)k.build();
  } catch (const diag::Rejected& r) {
    return r.findings().all().front().slug;
  }
  return "built";
}

// The same of an MMA of two tiles.
std::string broken(const MmaSpec& mma, const TileShape& a, const TileShape& b, int k = 0) {
  return broken([&](Warpgroup& g, const AnyTmem& sums, const U32& at) {
    g.elect([&](Thread t) {
      t.mma(mma, sums, AnyShared{at, a}.k_slice(k), AnyShared{at, b}.k_slice(k), accumulate(false));
    });
  });
}

constexpr MmaSpec spec(int m, int n) {
  MmaSpec s = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 128>::spec;
  s.shape.m = m, s.shape.n = n;
  return s;
}
constexpr TileShape tile(int rows) { return {element_type<bf16>, rows, K, K_major, swizzle_128B}; }

}  // namespace

TEST_CASE("a kernel of values is the kernel of types, on both kinds of tensor core") {
  for (const Target target : {sm_100a, sm_90a}) CHECK(text(with_values(target)) == text(with_types(target)));
}

TEST_CASE("what types refuse of an MMA, build() reports of values") {
  CHECK(broken(spec(128, 128), tile(128), tile(128)) == "built");
  CHECK(broken(spec(96, 128), tile(96), tile(128)) == "tcgen05-mma-m");
  CHECK(broken(spec(128, 100), tile(128), tile(100)) == "tcgen05-mma-n");
  CHECK(broken(spec(128, 128), tile(128), {element_type<e4m3>, 128, K, K_major, swizzle_64B}) == "tcgen05-mma-types");
  CHECK(broken(spec(128, 128), {element_type<bf16>, 128, K, K_major, packed}, tile(128)) == "shared-tile-layout");
  CHECK(broken(spec(128, 128), tile(128), tile(128), 56) == "shared-tile-slice");
}

TEST_CASE("registers of values are read after the wait, and loads have a legal width") {
  const auto read = [](bool waits, int width) {
    return broken([=](Warpgroup& g, const AnyTmem& sums, const U32&) {
      const AnyRegisters loaded = g.load(sums.columns(0, width));
      (void)(waits ? g.wait(loaded) : loaded).f32(0);
    });
  };
  CHECK(read(true, 32) == "built");
  CHECK(read(false, 32) == "tcgen05-ld-wait");
  CHECK(read(true, 24) == "tcgen05-ld-repeat");
  CHECK(read(true, 512) == "tcgen05-tmem-range");
}

TEST_CASE("a launch of values gives each parameter once, with a value of its type") {
  const Kernel k = with_types(sm_100a);
  const auto refused = [&](std::vector<NamedArgument> arguments) -> std::string {
    launch::Contract c;
    try {
      launch_kernel(c, k, {2, 1, 1}, std::move(arguments));
    } catch (const diag::Rejected& r) {
      return r.findings().all().front().slug;
    }
    return c.launches.size() == 1 && c.tensor_maps.size() == 2 ? "launched" : "lost";
  };
  const NamedArgument a{"A", GlobalTensor{"A", 256, 64}}, b{"B", GlobalTensor{"B", 128, 64}}, d{"D", std::string("D")};
  CHECK(refused({a, b, d}) == "launched");
  CHECK(refused({d, b, a}) == "launched");
  CHECK(refused({a, b}) == "dsl-launch-arguments");
  CHECK(refused({a, b, b}) == "dsl-launch-arguments");
  CHECK(refused({a, b, d, d}) == "dsl-launch-arguments");
  CHECK(refused({a, b, {"D", std::uint64_t(5)}}) == "dsl-launch-arguments");
}

}  // namespace dsl_shapes
