// What the bare members of scopes write and refuse, beyond the spelling of each form (which lit/emit/forms reads).
#include <doctest/doctest.h>

#include <string>

#include "dsl/dsl.hpp"
#include "emit/emit.hpp"

namespace dsl_moves {

using namespace kiln;
using namespace kiln::dsl;

namespace {

using Tile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;

std::string text(KernelBuilder& k) { return emit::emit_unverified(k.build().module); }

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// The one finding of build(): its slug and line.
std::pair<std::string, unsigned> refused(KernelBuilder& k) {
  try {
    (void)k.build();
  } catch (const diag::Rejected& r) {
    REQUIRE(r.findings().all().size() == 1);
    const diag::Diagnostic& d = r.findings().all()[0];
    return {d.slug, unsigned(d.where.line)};
  }
  return {};
}

// Statements of one thread's role, as text.
template <class Body>
std::string in_thread(Target target, Body body) {
  KernelBuilder k("k", target, warps<1>);
  const U32 slot = k.shared<Tile>().address;
  const Mbarrier full = k.mbarrier("full");
  const auto map = k.param<TensorMapHandle<bf16, 2>>("map");
  k.role("r", warp<0>.elect(), [&](Thread t) { body(t, slot, full, map); });
  return text(k);
}

using Map = TensorMapHandle<bf16, 2>;

}  // namespace

TEST_CASE("extras come in any order and are written in PTX's") {
  const auto one = in_thread(sm_100a, [](Thread& t, const U32& slot, const Mbarrier& full, const Map& map) {
    t.cp_async_bulk_tensor(slot, map.at(0, 0), full, {multicast_cluster(3), cta_group_2, L2_cache_hint(7)},
                           Here::nowhere());
  });
  const auto other = in_thread(sm_100a, [](Thread& t, const U32& slot, const Mbarrier& full, const Map& map) {
    t.cp_async_bulk_tensor(slot, map.at(0, 0), full, {L2_cache_hint(7), multicast_cluster(3), cta_group_2},
                           Here::nowhere());
  });
  CHECK(one == other);
  CHECK(has(one, ".multicast::cluster.cta_group::2.L2::cache_hint"));
}

TEST_CASE("a mask in a register is cut to 16 bits, and a number is not") {
  const auto ptx = in_thread(sm_100a, [](Thread& t, const U32& slot, const Mbarrier& full, const Map& map) {
    t.cp_async_bulk_tensor(slot, map.at(0, 0), full, multicast_cluster(t.thread_index()));
  });
  CHECK(has(ptx, "cvt.u16.u32 %h0"));
  CHECK(has(ptx, "], %h0;"));
}

TEST_CASE("what the target lacks is reported at the line that asks for it") {
  KernelBuilder k("k", sm_90a, warps<1>);
  const auto map = k.param<TensorMapHandle<bf16, 2>>("map");
  const U32 slot = k.shared<Tile>().address;
  const unsigned line = __LINE__ + 1;
  k.role("r", warp<0>.elect(), [&](Thread t) { t.cp_async_bulk_tensor(map.scatter4(0, {0, 1, 2, 3}), slot); });
  CHECK(refused(k) == std::pair<std::string, unsigned>{"target-feature", line});
}

TEST_CASE("tcgen05.ld.red is refused on sm_100a, where the rest of tcgen05 is") {
  KernelBuilder k("k", sm_100a, warps<1>);
  const U32 cells = k.tmem<f32, 128, 32>("cells").address();
  const unsigned line = __LINE__ + 1;
  k.role("r", warp<0>, [&](Warp w) { (void)w.tcgen05_ld_red<shape_32x32b, 8, RedOp::min, f32>(cells); });
  CHECK(refused(k) == std::pair<std::string, unsigned>{"target-feature", line});
}

TEST_CASE("tensor memory on a target without tcgen05 is reported once in a role") {
  KernelBuilder k("k", sm_90a, warps<1>);
  const U32 slot = k.shared<Tile>().address;
  k.role("r", warp<0>, [&](Warp w) {
    w.tcgen05_alloc<64>(slot);
    w.tcgen05_dealloc<64>(w.ld_shared_v4(slot)[0]);
  });
  CHECK(refused(k).first == "target-tcgen05");
}

TEST_CASE("numbers that host code knows are checked while the kernel is built") {
  const auto role = [](auto body) {
    KernelBuilder k("k", sm_100a, warps<1>);
    const U32 slot = k.shared<Tile>().address;
    const Mbarrier b = k.mbarrier("b");
    const U64 data = k.param<Pointer<u8>>("data").address();
    k.role("r", warp<0>.elect(), [&](Thread t) { body(t, slot, b, data); });
    return refused(k).first;
  };
  CHECK(role([](Thread& t, const U32&, const Mbarrier& b, const U64&) { t.mbarrier_arrive(b, 0); }) ==
        "mbarrier-count");
  CHECK(role([](Thread& t, const U32&, const Mbarrier& b, const U64&) { t.mbarrier_expect_tx(b, 1 << 20); }) ==
        "mbarrier-tx");
  CHECK(role([](Thread& t, const U32& slot, const Mbarrier&, const U64& data) { t.cp_async_bulk(data, slot, 24); }) ==
        "bulk-size");
  CHECK(role([](Thread& t, const U32& slot, const Mbarrier&, const U64& data) { t.cp_async_bulk(data, slot, 32); }) ==
        "");
}

TEST_CASE("an arrival on a slot's barrier in another CTA releases the slot too") {
  KernelBuilder k("k", sm_100a, warps<2>);
  auto ring = k.ring<2, Tile>("ring");
  const auto map = k.param<TensorMap<Tile>>("map");
  k.role("load", warp<0>.elect(), [&](Thread t) {
    auto slot = ring.acquire(t);
    t.tma_load(slot.get<Tile>(), map.at(0, 0), slot.full);
  });
  k.role("read", warp<1>.elect(), [&](Thread t) {
    auto slot = ring.wait(t);
    t.mbarrier_arrive(t.mapa(slot.empty, 0));
  });
  CHECK(has(text(k), "mbarrier.arrive.shared::cluster.b64 _"));
}

TEST_CASE("an arrival by each warp follows the accesses of its lanes, after a barrier where none stands there") {
  const auto syncs = [](const auto& body) {
    KernelBuilder k("k", sm_100a, warps<4>);
    const auto tile = k.shared<SharedTile<bf16, 128, 64, K_major, swizzle_128B>>();
    const auto done = k.mbarrier<4>("done");
    k.role("r", warpgroup<0>, [&](Warpgroup& g) { body(g, tile, done); });
    const std::string ptx = text(k);
    constexpr std::string_view barrier = "bar.warp.sync 0xffffffff;\n  ";
    return ptx.substr(0, ptx.rfind("elect.sync")).ends_with(barrier);
  };
  CHECK(syncs([](Warpgroup& g, auto& tile, auto& done) { (void)g.load(tile), g.arrive_by_warp(done); }));
  CHECK_FALSE(syncs([](Warpgroup& g, auto& tile, auto& done) { (void)g.load(tile), g.sync(), g.arrive_by_warp(done); }));
  CHECK_FALSE(syncs([](Warpgroup& g, auto&, auto& done) { g.arrive_by_warp(done); }));
}

TEST_CASE("a bare instruction has the operands of its signature") {
  const auto ptx = in_thread(sm_100a, [](Thread& t, const U32& slot, const Mbarrier&, const Map&) {
    const U32 mixed = t.ptx<"prmt.b32", U32(U32, U32, U32)>(t.warp_index(), t.var(7u), 0x5410);
    const F32 number = t.ptx<"cvt.rn.f32.u32", F32(U32)>(mixed);
    const Pred small = t.ptx<"setp.lt.f32", Pred(F32, F32)>(number, 2.0f);
    t.ptx<"st.shared.b32", void(Address<U32>, U32)>(slot, t.ptx<"selp.b32", U32(U32, U32, Pred)>(mixed, 1, small));
    t.ptx<"nanosleep.u32", void(U32)>(20);
  });
  CHECK(has(ptx, "prmt.b32 %r"));
  CHECK(has(ptx, ", 21520;"));
  CHECK(has(ptx, "cvt.rn.f32.u32 %f"));
  CHECK(has(ptx, "setp.lt.f32 %p"));
  CHECK(has(ptx, "selp.b32 %r"));
  CHECK(has(ptx, "nanosleep.u32 20;"));
}

TEST_CASE("a wait may be for a parity or for the state of an arrival") {
  const auto ptx = in_thread(sm_100a, [](Thread& t, const U32&, const Mbarrier& full, const Map&) {
    t.wait(full, Phase(t.mbarrier_arrive(full)));
    t.wait(full, Phase{1}, acquire_cluster);
  });
  CHECK(has(ptx, "mbarrier.try_wait.shared::cta.b64"));
  CHECK(has(ptx, "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64"));
}

TEST_CASE("constants travel to tensor memory in registers, as PTX refuses a vector of numbers") {
  KernelBuilder k("k", sm_100a, warps<1>);
  const U32 cells = k.tmem<f32, 128, 32>("cells").address();
  k.role("r", warp<0>, [&](Warp w) {
    w.tcgen05_st<shape_32x32b, 2>(cells, make_registers<2>([&](int i) { return k.constant(unsigned(i)); }));
    w.tcgen05_wait_st();
  });
  const std::string ptx = text(k);
  CHECK(has(ptx, "mov.b32 %r10, 0;"));
  CHECK(has(ptx, "{%r10, %r11}"));
}

TEST_CASE("a row is read 16 bytes at a time, and is zero where the matrix has ended") {
  KernelBuilder k("k", sm_100a, warps<4>);
  const auto from = k.param<Pointer<bf16>>("from");
  const auto to = k.param<Pointer<f32>>("to");
  k.role("r", warpgroup<0>, [&](Warpgroup& g) {
    const auto row = widen(g.load_global<bf16, 8>(from.address(), k.constant(12), 8));
    g.store_global(to.address(), row, k.constant(12), 8);
  });
  const std::string out = text(k);
  const std::size_t zero = out.find("mov.b32 %r"), read = out.find("ld.global.v4.b32");
  REQUIRE(read != std::string::npos);
  CHECK(zero < read);
  CHECK(has(out, "@%p"));
  CHECK(has(out, "+16]"));
  CHECK(has(out, "shl.b32"));
  CHECK(has(out, "0xffff0000"));
}

TEST_CASE("approximations are written as PTX names them") {
  const auto out = in_thread(sm_100a, [](Thread& t, const U32& slot, const Mbarrier&, const Map& map) {
    const F32 x = t.ld_global_f32(map.address());
    const F32 y = rcp_approx_ftz(1.0f + ex2_approx_ftz(x));
    t.ptx("st.shared.f32", {ir::Operand::address(slot.operand()), y.operand()});
  });
  CHECK(has(out, "ld.global.f32"));
  CHECK(has(out, "ex2.approx.ftz.f32"));
  CHECK(has(out, "rcp.approx.ftz.f32"));
}

}  // namespace dsl_moves
