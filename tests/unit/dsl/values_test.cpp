// Values, rings and budgets: what build() reports, once a mistake, and how many arrivals it counts.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "dsl/dsl.hpp"
#include "emit/emit.hpp"

namespace dsl_values {

using namespace kiln;
using namespace kiln::dsl;

namespace {

using Tile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 64>;

std::string text(KernelBuilder& k) { return emit::emit_unverified(k.build().module); }

std::vector<diag::Diagnostic> refused(KernelBuilder& k) {
  try {
    (void)k.build();
  } catch (const diag::Rejected& r) {
    return r.findings().all();
  }
  return {};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// The counts with which the kernel's mbarriers are initialised, in order.
std::vector<std::string> arrivals(const std::string& ptx) {
  std::vector<std::string> out;
  for (std::size_t at = ptx.find("mbarrier.init"); at != std::string::npos; at = ptx.find("mbarrier.init", at + 1)) {
    const std::size_t end = ptx.find(';', at), comma = ptx.rfind(' ', end);
    out.push_back(ptx.substr(comma + 1, end - comma - 1));
  }
  return out;
}

}  // namespace

TEST_CASE("an index beyond an array of registers is reported with its line") {
  KernelBuilder k("k", sm_100a, warps<1>);
  unsigned line = 0;
  k.role("r", warp<0>.elect(), [&](Thread t) {
    auto sums = t.vars<4>(0.0f);
    line = __LINE__ + 1;
    sums.at(4) = 1.0f;
  });
  const auto found = refused(k);
  REQUIRE(found.size() == 1);
  CHECK(found[0].slug == "dsl-register-index");
  CHECK(found[0].where.line == line);
  CHECK(has(found[0].message, "got 4, the last is 3"));
}

TEST_CASE("an A and a B cut in the same wrong steps are one report, which names the step") {
  KernelBuilder k("k", sm_100a, warps<4>);
  const auto a = k.shared<SharedTile<e4m3, 128, 128, K_major, swizzle_128B>>();
  const auto b = k.shared<SharedTile<e4m3, 64, 128, K_major, swizzle_128B>>();
  const auto d = k.tmem<f32, 128, 64>("d");
  k.role("r", warp<0>.elect(), [&](Thread t) { t.mma(d, a.k_slice(16), b.k_slice(16), accumulate(false)); });
  const auto found = refused(k);
  REQUIRE(found.size() == 1);
  CHECK(found[0].slug == "shared-tile-slice");
  CHECK(has(found[0].message, "16 of 128, in steps of the 32 that one MMA takes"));
}

TEST_CASE("too much shared memory is reported with what takes it") {
  KernelBuilder k("k", sm_100a, warps<1>);
  (void)k.ring<12, Tile>("in");
  (void)k.shared<Tile>();
  (void)k.shared<Tile>();
  (void)k.shared<Tile>();
  const auto found = refused(k);
  const auto budget = std::find_if(found.begin(), found.end(), [](const auto& d) { return d.slug == "shared-budget"; });
  REQUIRE(budget != found.end());
  CHECK(has(budget->message, "ring 'in' 196608, a tile 16384, a tile 16384"));
}

TEST_CASE("too many columns are reported with what takes them") {
  KernelBuilder k("k", sm_100a, warps<4>);
  (void)k.tmem<f32, 128, 512>("a");
  (void)k.tmem<f32, 128, 32>("b");
  const auto found = refused(k);
  REQUIRE(found.size() == 1);
  CHECK(has(found[0].message, "'a' 512, 'b' 32"));
}

TEST_CASE("a slot that two roles read is empty after both have given it back") {
  KernelBuilder k("k", sm_100a, warps<9>);
  auto in = k.ring<1, Tile>("in");
  const auto map = k.param<TensorMap<Tile>>("A");
  k.role("load", warp<8>.elect(), [&](Thread t) {
    const auto slot = in.acquire(t);
    t.tma_load(slot.get<Tile>(), map.at(0, 0), slot.full);
  });
  for (const char* name : {"one", "two"})
    k.role(name, name[0] == 'o' ? warpgroup<0> : warpgroup<1>, [&](Warpgroup& g) {
      const auto slot = in.wait(g);
      (void)g.load(slot.get<Tile>());
      in.release(g, slot);
    });
  const std::string ptx = text(k);
  CHECK(arrivals(ptx) == std::vector<std::string>{"1", "2"});
  // Each thread's reads are ordered before what TMA writes to the slot next.
  CHECK(has(ptx, "fence.proxy.async.shared::cta"));
}

TEST_CASE("an accumulator that two warpgroups read is empty after eight warps") {
  KernelBuilder k("k", sm_100a, warps<9>);
  auto sums = k.accumulator_ring<1, Mma>("sums");
  k.role("multiply", warp<8>.elect(), [&](Thread t) { t.commit(sums.acquire(t).full); });
  for (const char* name : {"one", "two"})
    k.role(name, name[0] == 'o' ? warpgroup<0> : warpgroup<1>, [&](Warpgroup& g) {
      const auto slot = sums.wait(g);
      (void)g.wait(g.load<32>(slot.sums, 0));
      sums.release(g, slot);
    });
  CHECK(arrivals(text(k)) == std::vector<std::string>{"1", "8"});
}

TEST_CASE("a constant predicate decides a trap while the kernel is being built") {
  KernelBuilder k("k", sm_100a, warps<1>);
  k.role("r", warp<0>.elect(), [&](Thread t) {
    t.trap_if(Pred(t.recorder(), ir::Operand::number(0)));
    t.trap_if(t.thread_index() == 5);
  });
  const std::string ptx = text(k);
  CHECK(has(ptx, " trap;"));
  CHECK(ptx.find("trap;") == ptx.rfind("trap;"));
}

TEST_CASE("a value or registers that outlive their loop are reported where registers take them") {
  const auto kept_for = [](const auto& take) {
    KernelBuilder k("k", sm_100a, warps<4>);
    const auto sums = k.tmem<f32, 128, 32>("sums");
    k.role("r", warpgroup<0>, [&](Warpgroup& g) {
      std::optional<F32> value;
      std::optional<Registers<f32, 32>> row;
      g.loop(4, [&](U32 i) {
        value.emplace(convert<F32>(i));
        row.emplace(g.wait(g.load(sums)));
      });
      take(g, *value, *row);
    });
    return refused(k);
  };
  const auto check = [&](unsigned line, const auto& take) {
    const auto found = kept_for(take);
    REQUIRE(found.size() == 1);
    CHECK(found[0].slug == "dsl-value-scope");
    CHECK(has(found[0].where.file, "values_test.cpp"));
    CHECK(found[0].where.line == line);
  };
  using Row = Registers<f32, 32>;
  check(__LINE__, [](Warpgroup&, const F32& x, const Row&) { (void)make_registers<1>([&](int) { return x; }); });
  check(__LINE__, [](Warpgroup&, const F32& x, const Row&) { (void)make_registers(1, [&](int) { return x; }); });
  check(__LINE__, [](Warpgroup&, const F32&, const Row& row) { (void)row[3]; });
  check(__LINE__, [](Warpgroup&, const F32&, const Row& row) { (void)cvt<bf16>(row); });
  check(__LINE__, [](Warpgroup&, const F32&, const Row& row) { (void)combined(row, [](F32 a, F32 b) { return max(a, b); }); });
  check(__LINE__, [](Warpgroup& g, const F32&, const Row& row) { g.store_global(widen(g.row()), row, g.row()); });
  check(__LINE__, [](Warpgroup& g, const F32&, const Row& row) { (void)g.wait(row); });
}

}  // namespace dsl_values
