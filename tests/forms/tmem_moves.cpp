// tcgen05.ld, tcgen05.ld.red, tcgen05.st, their waits, and the allocation of tensor memory.
#include "tests/forms/examples.hpp"

namespace kiln::forms {
namespace {

Kernel load(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U32 cells = k.tmem<f32, 128, 32>("cells").address();
  return in_warp(k, [&](Warp w) {
    (void)w.wait(w.tcgen05_ld<shape_32x32b, 2>(cells));
    (void)w.wait(w.tcgen05_ld<shape_16x64b, 1>(cells));
    (void)w.wait(w.tcgen05_ld<shape_16x128b, 1>(cells));
    (void)w.wait(w.tcgen05_ld<shape_16x256b, 1>(cells));
    (void)w.wait(w.tcgen05_ld<shape_16x32bx2, 2, 16>(cells));
    (void)w.wait(w.tcgen05_ld<shape_32x32b, 1, pack_16b>(cells));
    (void)w.wait(w.tcgen05_ld<shape_16x32bx2, 1, 16, pack_16b>(cells));
  });
}

Kernel store(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U32 cells = k.tmem<f32, 128, 32>("cells").address();
  return in_warp(k, [&](Warp w) {
    const auto numbers = make_registers<4>([&](int i) { return k.constant(std::uint32_t(i)); });
    const auto thread = make_registers<1>([&](int) { return w.thread_index(); });
    w.tcgen05_st<shape_16x256b, 1>(cells, numbers);
    w.tcgen05_st<shape_32x32b, 4>(cells, w.wait(w.tcgen05_ld<shape_32x32b, 4>(cells)));
    w.tcgen05_st<shape_16x64b, 1, unpack_16b>(cells, thread);
    w.tcgen05_st<shape_16x32bx2, 1, 16>(cells, thread);
    w.tcgen05_st<shape_16x32bx2, 1, unpack_16b, 16>(cells, thread);
    w.tcgen05_wait_st();
  });
}

Kernel load_reduced(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U32 cells = k.tmem<f32, 128, 32>("cells").address();
  return in_warp(k, [&](Warp w) {
    const auto row = w.wait(w.tcgen05_ld_red<shape_32x32b, 2, RedOp::max, f32, Comparison::abs_NaN>(cells));
    const auto words = w.wait(w.tcgen05_ld_red<shape_16x32bx2, 2, RedOp::min, u32, 16>(cells));
    const auto scaled = make_registers<1>([&](int) { return row.reduced[0] * row.values[1]; });
    w.tcgen05_st<shape_32x32b, 1>(cells, scaled);
    w.tcgen05_st<shape_32x32b, 1>(cells, words.reduced);
    w.tcgen05_wait_st();
  });
}

Kernel load_greatest(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<4>);
  const auto rows = k.tmem<f32, 128, 8>("rows");
  const auto halves = k.tmem<f32, 64, 16>("halves");
  const U64 out = k.param<Pointer<f32>>("out").address();
  k.role("example", warpgroup<0>, [&](Warpgroup& g) {
    const auto first = g.wait(g.load_reduced<RedOp::max, Comparison::NaN>(rows));
    const auto second = g.wait(g.load_reduced<RedOp::min>(halves));
    g.red<RedOp::add>(out, first.reduced[0] + second.reduced[0]);
  });
  return k.build();
}

template <isa::CtaGroup group>
Kernel allocate(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>, group);
  const U32 slot = k.shared<Bytes>().address;
  return in_warp(k, [&](Warp w) {
    w.tcgen05_alloc<64>(slot);
    w.tcgen05_relinquish_alloc_permit();
    w.tcgen05_dealloc<64>(w.ld_shared_v4(slot)[0]);
  });
}

// With .exclusive, any multiple of 32; sm_107 has 64 columns more.
template <int columns>
Kernel allocate_all(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U32 slot = k.shared<Bytes>().address;
  return in_warp(k, [&](Warp w) {
    w.tcgen05_alloc_exclusive<columns>(slot);
    w.tcgen05_dealloc_exclusive<columns>(w.ld_shared_v4(slot)[0]);
  });
}

// A warpgroup's rows, there and back, with arithmetic between; state that is a float.
Kernel rows(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<4>);
  const auto sums = k.tmem<f32, 128, 32>("sums");
  const auto a = k.tensor_memory<TmemA<f16, 128, 32>>("A");
  k.role("rows", warpgroup<0>, [&](Warpgroup& g) {
    auto total = g.var(0.5f);
    const auto row = g.wait(g.load(sums.columns<16>(16)));
    const F32 x = select(g.row() < 8, row[0], -1.0f);
    const F32 power = ex2_approx_ftz(x), part = rcp_approx_ftz(row[1]);
    total = fma(power, part, total.read());
    auto other = g.var(total.read());
    other = max(other.read(), row[2]);
    g.store(a, cvt<f16>(row), 16);
    g.store(sums.columns<2>(2), make_registers<2>([&](int i) { return i ? other.read() : total.read(); }));
    g.tcgen05_wait_st();
  });
  return k.build();
}

}  // namespace

std::span<const Example> tmem_moves() {
  static const std::vector<Example> examples{
      {"tmem_load", tcgen05_targets, load},
      {"tmem_store", tcgen05_targets, store},
      {"tmem_rows", tcgen05_targets, rows},
      {"tmem_load_greatest", {sm_103a, sm_103f, sm_110a, sm_110f}, load_greatest},
      {"tmem_load_reduced", {sm_103a, sm_103f, sm_110a, sm_110f}, load_reduced},
      {"tmem_allocate", tcgen05_targets, allocate<cta_group_1>},
      {"tmem_allocate_pair", tcgen05_targets, allocate<cta_group_2>},
      {"tmem_allocate_576", sm_107_targets, allocate_all<576>},
      {"tmem_allocate_exclusive", {sm_103a, sm_107a, sm_107f}, allocate_all<96>},
  };
  return examples;
}

}  // namespace kiln::forms
