// What threads compute, exchange within a warp and add to memory. Whether it is right, tests/differential shows.
#include "tests/forms/examples.hpp"

namespace kiln::forms {
namespace {

Kernel functions(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 out = k.param<Pointer<f32>>("out").address();
  return in_thread(k, [&](Thread t) {
    const F32 x = t.ld_global_f32(out), y = x / 3 - x;
    const U32 n = t.thread_index();
    F32 sum = -abs(sqrt_rn(x)) + rcp_rn(y);
    for (const F32& f : {sqrt_approx_ftz(x), rsqrt_approx_ftz(x), lg2_approx_ftz(x), sin_approx_ftz(x),
                         cos_approx_ftz(x), tanh_approx(x), cvt_sat(x), floor(x), ceil(x), trunc(x), rint(x),
                         copysign(x, y), select(x != y, convert<F32>(n), convert<F32>(convert<S32>(y))),
                         convert<F32>(convert<U64>(x)), bit_cast<F32>(convert<U32, Rounding::rpi>(x))})
      t.red<RedOp::add>(out, f);
    for (const U32& w :
         {popc(n), clz(n), brev(n), bfe(n, 3, 4), bfi(n, 7, 3, 4), prmt(n, 1, 0x5410), mul_hi(n, n),
          shf_l_wrap(n, 1, 5), shf_r_wrap(n, 1, 5), lop3<0x96>(n, n >> 1, n >> 2), ~n, min(n, 9), max(n, 9)})
      t.red<RedOp::add>(out + 4, w);
    t.red<RedOp::add>(out, sum);
    t.red<RedOp::add>(out, -n + convert<U32>(abs(mul_hi(convert<S32>(x), 3))));
    t.exit_when(n == 31);
    t.trap_if((x < 0) == (n != 3));
  });
}

Kernel packed_floats(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 out = k.param<Pointer<f32>>("out").address();
  return in_thread(k, [&](Thread t) {
    const F32 x = t.ld_global_f32(out), y = x + 1;
    const auto a = pack<F32x2>(x, y);
    const auto [low, high] = unpack(fma(a + a, a - a, a * a));
    const auto b = pack<BF16x2>(low, high);
    const auto c = pack<F16x2>(low, high);
    t.red<RedOp::add>(out, max(fma(b + b, b, b), b * b));
    t.red<RedOp::add>(out, select(b < abs(b), -b, b));
    t.red<RedOp::add>(out, select(c != abs(c), -c, c));
    t.red<RedOp::add>(out, unpack(select(a >= abs(a), -a, a))[0]);
    t.red<RedOp::add>(out + 4, min(fma(c - c, c, c), c));
    t.red<RedOp::add>(out + 8, unpack(b)[0] + unpack(c)[1]);
  });
}

template <class T>
void convert_and_add(Thread& t, const U64& out, const F32& x) {
  const auto narrow = cvt<T>(make_registers<8>([&](int i) { return x * i; }));
  t.red<RedOp::add>(out, combined(widen(narrow), [](const F32& a, const F32& b) { return a + b; }));
}
Kernel narrow_floats(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 out = k.param<Pointer<f32>>("out").address();
  return in_thread(k, [&](Thread t) {
    const F32 x = t.ld_global_f32(out);
    convert_and_add<e4m3>(t, out, x);
    convert_and_add<e5m2>(t, out, x);
    convert_and_add<f16>(t, out, x);
  });
}
Kernel narrower_floats(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 out = k.param<Pointer<f32>>("out").address();
  return in_thread(k, [&](Thread t) {
    const F32 x = t.ld_global_f32(out);
    convert_and_add<unpacked<e2m3>>(t, out, x);
    convert_and_add<unpacked<e3m2>>(t, out, x);
    convert_and_add<e2m1>(t, out, x);
    convert_and_add<ue8m0>(t, out, x);
    const auto scale = cvt<ue8m0, isa::Rounding::rz>(make_registers<4>([&](int) { return x; }));
    t.red<RedOp::add>(out, U32(t.recorder(), scale.operands()[0]));
  });
}

Kernel elements(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 out = k.param<Pointer<f32>>("out").address();
  const U32 shared = k.shared<Bytes>().address;
  const auto wide = k.shared<SharedTile<bf16, 64, 128, K_major, swizzle_128B>>();
  return in_thread(k, [&](Thread t) {
    const F32 x = t.ld_global<f32>(out);
    const U32 n = t.ld_global<u8>(out) + t.ld_global<u16>(out, relaxed_gpu) + t.ld_global<u32>(out, acquire_gpu);
    const Pred p = n < 3;
    t.st_global(out, x, p);
    t.st_global(out, t.ld_global<u64>(out, p, 0), release_gpu);
    t.st_global<bf16>(out, t.ld_global<f16>(out, p, x));
    t.st_global<u8>(out, convert<U32>(t.ld_global<s8>(out)), p, relaxed_gpu);
    t.st_global(out, t.ld_global<F16x2>(out, relaxed_sys));
    t.st_shared(shared, t.ld_shared<F32x2>(shared));
    t.st_shared<f16>(shared, t.ld_shared<bf16>(shared));
    t.st_shared<u16>(shared, 3, p);
    t.st_shared(shared, t.ld_shared<u32>(shared, p, 1));
    t.store_row(wide, n, n * 8, t.load_row<8>(wide.columns<64>(64).rows<8>(n), n, n * 8));
  });
}

Kernel exchange(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<4>);
  const U64 out = k.param<Pointer<f32>>("out").address();
  const WarpgroupScratch scratch = k.warpgroup_scratch();
  k.role("exchange", warpgroup<0>, [&](Warpgroup& g) {
    const F32 x = convert<F32>(g.lane());
    const F32 near =
        g.shfl_sync_bfly(x, 16) + g.shfl_sync_idx<8>(x, 0) + g.shfl_sync_up(x, 1) + g.shfl_sync_down<4>(x, 2);
    g.red<RedOp::add>(out, g.shfl_sync_bfly(widen(g.row()), 2));
    const Pred p = near > 3;
    const Pred q = g.vote_sync_all(p) || g.vote_sync_any(!p) || g.vote_sync_uni(p);
    const U32 n = g.vote_sync_ballot(q) + g.redux_sync<RedOp::xor_>(g.row()) + g.warp_reduce<RedOp::min>(g.row());
    g.red<RedOp::add>(out, g.warp_reduce<RedOp::add>(near));
    g.red<RedOp::add>(out + 4, n + g.bar_red_popc(p) + select(g.bar_red_and(p) || g.bar_red_or(p), n, 1));
    g.red<RedOp::add>(out + 8, g.warpgroup_reduce<RedOp::max>(near, scratch));
  });
  return k.build();
}

Kernel redux_f32(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 out = k.param<Pointer<f32>>("out").address();
  return in_warp(k, [&](Warp w) {
    w.red<RedOp::add>(
        out, w.redux_sync<RedOp::min>(convert<F32>(w.lane())) + w.warp_reduce<RedOp::max>(convert<F32>(w.lane())));
  });
}

Kernel reductions(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 out = k.param<Pointer<f32>>("out").address();
  const U32 shared = k.shared<Bytes>().address;
  return in_thread(k, [&](Thread t) {
    const U32 n = t.thread_index();
    const F32 x = convert<F32>(n);
    t.red<RedOp::add>(out, x, release_gpu);
    t.red<RedOp::min>(out, convert<S32>(x));
    t.red<RedOp::or_>(shared, n);
    t.red<RedOp::add>(out, widen(n));
    t.red<RedOp::add>(out, make_registers<4>([&](int i) { return x * i; }));
    t.red<RedOp::add>(out, cvt<bf16>(make_registers<8>([&](int i) { return x * i; })));
    t.red<RedOp::add>(out, cvt<f16>(make_registers<4>([&](int i) { return x * i; })), relaxed_sys);
    t.red<RedOp::add>(out, t.atom<RedOp::add>(out, x, acq_rel_gpu));
    t.red<RedOp::add>(out, t.atom<RedOp::exch>(shared, x));
    t.red<RedOp::add>(out, t.atom<RedOp::add>(out, pack<BF16x2>(x, x)));
    t.red<RedOp::add>(out, t.atom_cas(out, n, 7, relaxed_gpu));
  });
}

}  // namespace

std::span<const Example> operations() {
  static const std::vector<Target> with_redux{sm_100a, sm_100f, sm_103a};
  static const std::vector<Example> examples{
      {"functions", bulk_targets, functions},   {"packed_floats", tcgen05_targets, packed_floats},
      {"narrow_floats", bulk_targets, narrow_floats},
      {"narrower_floats", tcgen05_targets, narrower_floats},
      {"elements", bulk_targets, elements},
      {"exchange", bulk_targets, exchange},     {"redux_f32", with_redux, redux_f32},
      {"reductions", bulk_targets, reductions},
  };
  return examples;
}

}  // namespace kiln::forms
