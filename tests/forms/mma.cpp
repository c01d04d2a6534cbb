// tcgen05.mma in every form, tcgen05.cp, tcgen05.shift, tcgen05.commit.
#include "tests/forms/examples.hpp"

namespace kiln::forms {
namespace {

// Operands of an MMA: A and B as shared tiles of the elements as stored, 64 or 128 bytes of K.
template <class Mma, class StoredA = typename Mma::A, class StoredB = typename Mma::B>
struct Operands {
  static constexpr int a_k = 64 * 8 / StoredA::bits, b_k = (Mma::form.sparse ? 128 : 64) * 8 / StoredB::bits;
  using A = SharedTile<StoredA, Mma::a_rows, a_k, K_major, swizzle_64B>;
  using B = SharedTile<StoredB, Mma::b_rows, b_k, K_major, Mma::form.sparse ? swizzle_128B : swizzle_64B>;
  using D = typename Mma::Accumulator;
  explicit Operands(KernelBuilder& k)
      : a(k.shared<A>().k_slice(0)), b(k.shared<B>().k_slice(0)), d(k.tensor_memory<D>("D")) {}
  KSlice<A> a;
  KSlice<B> b;
  D d;
};

// A dense, sparse or weight-stationary MMA, A from shared and from tensor memory.
template <class Mma, class StoredA = typename Mma::A, class StoredB = typename Mma::B>
Kernel plain(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>, Mma::group);
  const Operands<Mma, StoredA, StoredB> o(k);
  const auto in_tmem = k.tensor_memory<TmemAOf<Mma, 32 * 8 / StoredA::bits, StoredA>>("A").k_slice(0);
  return in_thread(k, [&](Thread t) {
    if constexpr (Mma::form.sparse) {
      const auto meta = k.tensor_memory<SparseMetadata<Mma, 2>>("metadata");
      t.mma<Mma>(o.d, o.a, o.b, accumulate(false), meta.at(0));
      t.mma<Mma>(o.d, in_tmem, o.b, accumulate(true), meta.at(1));
    } else {
      t.mma<Mma>(o.d, o.a, o.b, accumulate(false));
      t.mma<Mma>(o.d, in_tmem, o.b, accumulate(true));
    }
  });
}

// A block-scaled MMA with its scales, whose two slots are contiguous.
template <class Mma, class StoredA = typename Mma::A, class StoredB = typename Mma::B>
Kernel scaled(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>, Mma::group);
  const Operands<Mma, StoredA, StoredB> o(k);
  const auto sfa = k.tensor_memory<SFA<Mma, 2>>("SFA");
  const auto sfb = k.tensor_memory<SFB<Mma, 2>>("SFB");
  return in_thread(k, [&](Thread t) {
    if constexpr (Mma::form.sparse) {
      const auto meta = k.tensor_memory<SparseMetadata<Mma, 2>>("metadata");
      t.mma<Mma>(o.d, o.a, o.b, accumulate(false), scales(sfa.at(0), sfb.at(0)), meta.at(0));
    } else {
      t.mma<Mma>(o.d, o.a, o.b, accumulate(false), scales(sfa.at(0), sfb.at(0)), collector_a_fill);
      t.mma<Mma>(o.d, o.a, o.b, accumulate(true), collector_a_lastuse, scales(sfa.at(1), sfb.at(1)));
    }
  });
}

using Bf16 = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 64>;
using Pair = tcgen05_mma<kind_f16, bf16, bf16, f32, 256, 64, cta_group_2>;
using Ws = tcgen05_mma<kind_f16, bf16, bf16, f32, 64, 64, weight_stationary, max_shift<16>>;

// What may follow enable-input-d of a dense MMA.
template <class Mma>
Kernel options(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>, Mma::group);
  const Operands<Mma> o(k);
  const auto a = k.tensor_memory<TmemA<bf16, Mma::a_rows, 16>>("A").k_slice(0);
  const U32 word = k.param<u32>("word");
  const U64 b = k.param<u64>("b");
  return in_thread(k, [&](Thread t) {
    const U32 m = t.thread_index();
    const auto lanes = [&] {
      if constexpr (Mma::group == cta_group_2) return disable_output_lane(m, m, m, m, m, m, m, m);
      else return disable_output_lane(m, m, m, m);
    }();
    t.mma<Mma>(o.d, o.a, o.b, accumulate(m == 0), collector_a_fill);
    t.mma<Mma>(o.d, o.a, o.b, accumulate(true), collector_a_use, lanes);
    t.mma<Mma>(o.d, o.a, o.b, accumulate(true), collector_a_lastuse);
    t.mma<Mma>(o.d, o.a, o.b, accumulate(true), collector_a_discard);
    t.mma<Mma>(o.d, a, o.b, accumulate(true), ashift, lanes);
    t.mma<Mma>(o.d, o.a, o.b, accumulate(true), instruction_descriptor(word));
    t.mma<Mma>(o.d.address(), t.descriptor(o.a), SharedDescriptor::raw(b), accumulate(true));
  });
}

// scale-input-d, which sm_110 has not.
Kernel scaled_input(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const Operands<Bf16> o(k);
  return in_thread(k, [&](Thread t) {
    const U32 m = t.thread_index();
    t.mma<Bf16>(o.d, o.a, o.b, accumulate(true), scale_input_d<3>);
    t.mma<Bf16>(o.d, o.a, o.b, accumulate(true), scale_input_d<15>, disable_output_lane(m, m, m, m));
  });
}

// Every collector of .ws, and both ways to give a zero-column mask.
Kernel weight_stationary_options(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const Operands<Ws> o(k);
  const U64 mask = k.param<u64>("mask");
  return in_thread(k, [&](Thread t) {
    const auto chain = [&](auto fill, auto use, auto lastuse, auto discard) {
      t.mma<Ws>(o.d, o.a, o.b, accumulate(true), fill);
      t.mma<Ws>(o.d, o.a, o.b, accumulate(true), use);
      t.mma<Ws>(o.d, o.a, o.b, accumulate(true), lastuse);
      t.mma<Ws>(o.d, o.a, o.b, accumulate(true), discard);
    };
    chain(collector_b0_fill, collector_b0_use, collector_b0_lastuse, collector_b0_discard);
    chain(collector_b1_fill, collector_b1_use, collector_b1_lastuse, collector_b1_discard);
    chain(collector_b2_fill, collector_b2_use, collector_b2_lastuse, collector_b2_discard);
    chain(collector_b3_fill, collector_b3_use, collector_b3_lastuse, collector_b3_discard);
    constexpr isa::ZeroMaskFields every_other{.generate = true, .skip = 4, .use = 4, .shift = 2};
    t.mma<Ws>(o.d, o.a, o.b, accumulate(true), zero_column_mask_of<every_other>);
    t.mma<Ws>(o.d, o.a, o.b, accumulate(true), zero_column_mask(mask));
  });
}

// sm_107 keeps B too.
template <class Mma>
Kernel kept_b(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>, Mma::group);
  const Operands<Mma> o(k);
  return in_thread(k, [&](Thread t) {
    t.mma<Mma>(o.d, o.a, o.b, accumulate(false), collector_b_fill);
    t.mma<Mma>(o.d, o.a, o.b, accumulate(true), collector_b_use, collector_a_fill);
    t.mma<Mma>(o.d, o.a, o.b, accumulate(true), collector_a_lastuse, collector_b_lastuse);
    t.mma<Mma>(o.d, o.a, o.b, accumulate(true), collector_b_discard);
  });
}

// Kinds by the types of the tiles alone.
Kernel inferred(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto d = k.tmem<f32, 128, 64>("D");
  const auto a16 = k.shared<SharedTile<f16, 128, 32, K_major, swizzle_64B>>();
  const auto b16 = k.shared<SharedTile<f16, 64, 32, MN_major, swizzle_128B>>();
  const auto a32 = k.shared<SharedTile<tf32, 128, 16, K_major, swizzle_64B>>();
  const auto b32 = k.shared<SharedTile<tf32, 64, 16, MN_major, swizzle_128B_atom_32B>>();
  const auto a8 = k.shared<SharedTile<e5m2, 128, 64, K_major, swizzle_64B>>();
  const auto b4 = k.shared<SharedTile<unpacked<e2m1>, 64, 64, K_major, swizzle_64B>>();
  return in_thread(k, [&](Thread t) {
    t.mma(d, a16.k_slice(0), b16.k_slice(0), accumulate(false));
    t.mma(d, a32.k_slice(8), b32.k_slice(8), accumulate(true));
    t.mma(d, a8.k_slice(32), b4.k_slice(32), accumulate(true));
  });
}

// Shapes, multicasts and formats of tcgen05.cp; tcgen05.shift is a matter of the a targets.
template <CtaGroup group>
Kernel copies(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>, group);
  const U32 cells = k.tmem<f32, 128, 32>("cells").address();
  const auto bytes = k.shared<SharedTile<u8, 128, 128, K_major, swizzle_128B>>();
  return in_thread(k, [&](Thread t) {
    const SharedDescriptor from = t.descriptor(bytes);
    t.tcgen05_cp<shape_128x256b>(cells, from);
    t.tcgen05_cp<shape_4x256b>(cells, from);
    t.tcgen05_cp<shape_128x128b>(cells, from);
    t.tcgen05_cp<shape_64x128b, warpx2_02_13>(cells, from);
    t.tcgen05_cp<shape_64x128b, warpx2_01_23>(cells, from);
    t.tcgen05_cp<shape_32x128b, warpx4>(cells, from);
    t.tcgen05_cp<shape_128x256b, no_multicast, b6x16_p32>(cells, from);
    t.tcgen05_cp<shape_32x128b, warpx4, b4x16_p64>(cells, from);
  });
}

// Scales go from shared memory to where the MMA looks for them.
Kernel scale_copy(std::string_view name, Target target) {
  using Mma = tcgen05_mma<kind_mxf4nvf4, e2m1, e2m1, f32, 128, 256, block16>;
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto sfa = k.tensor_memory<SFA<Mma, 2>>("SFA");
  const auto sfb = k.tensor_memory<SFB<Mma, 2>>("SFB");
  const auto a = k.shared<ScaleTile<ue4m3, 128, 8>>();
  const auto b = k.shared<ScaleTile<ue4m3, 256, 8>>();
  return in_thread(k, [&](Thread t) {
    t.copy(sfa, a);
    t.copy(sfb, b);
  });
}

// Metadata of a sparse A, the images of one slot.
template <class Mma>
Kernel metadata_copy(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>, Mma::group);
  const auto kept = k.tensor_memory<SparseMetadata<Mma, 4>>("kept");
  const auto images = k.shared<MetadataTile<Mma, 4>>();
  return in_thread(k, [&](Thread t) { t.copy(kept, images); });
}

template <CtaGroup group>
Kernel shift(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>, group);
  const U32 cells = k.tmem<f32, 128, 32>("cells").address();
  return in_thread(k, [&](Thread t) { t.tcgen05_shift_down(cells); });
}

template <CtaGroup group>
Kernel commit(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>, group);
  const auto done = k.mbarrier("done");
  return in_thread(k, [&](Thread t) {
    t.commit(done);
    t.commit(done, k.constant(3));
    t.wait(done, Phase(0));
  });
}

Kernel commit_32b(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto done = k.mbarrier("done");
  return in_thread(k, [&](Thread t) {
    t.commit(done, multicast_cluster_32b(3));
    t.commit(done, multicast_cluster_32b(k.ctaid.x));
    t.wait(done, Phase(0));
  });
}

// Targets that spell scale vectors as sizes, and those that have sparse packed kinds.
const std::vector<Target> a_targets{sm_100a, sm_103a, sm_110a};
const std::vector<Target> i8_targets{sm_100a, sm_110a};

template <auto... options>
using F16 = tcgen05_mma<kind_f16, f16, f16, f16, 128, 64, options...>;
template <auto... options>
using Tf32 = tcgen05_mma<kind_tf32, tf32, tf32, f32, 128, 64, options...>;
template <auto... options>
using F8 = tcgen05_mma<kind_f8f6f4, e4m3, e3m2, f32, 128, 64, options...>;
template <auto... options>
using I8 = tcgen05_mma<kind_i8, s8, u8, s32, 128, 64, options...>;
template <auto... options>
using Mxf8 = tcgen05_mma<kind_mxf8f6f4, e4m3, e2m1, f32, 128, 64, options...>;
template <auto... options>
using Mxf4 = tcgen05_mma<kind_mxf4, e2m1, e2m1, f32, 128, 64, options...>;
template <auto... options>
using Nvf4 = tcgen05_mma<kind_mxf4nvf4, e2m1, e2m1, f32, 128, 64, options...>;
template <auto... options>
using Nvf4Pair = tcgen05_mma<kind_mxf4nvf4, e2m1, e2m1, f32, 256, 64, cta_group_2, options...>;

}  // namespace

std::span<const Example> mma() {
  static const std::vector<Example> examples{
      {"mma_f16", tcgen05_targets, plain<F16<>>},
      {"mma_tf32", tcgen05_targets, plain<Tf32<>>},
      {"mma_f8f6f4", tcgen05_targets, plain<F8<>, e4m3, unpacked<e3m2>>},
      {"mma_i8", i8_targets, plain<I8<saturate>>},
      {"mma_sp_f16", tcgen05_targets, plain<F16<sparse, negate_a>>},
      {"mma_sp_tf32", tcgen05_targets, plain<Tf32<sparse, negate_b>>},
      {"mma_sp_f8f6f4", tcgen05_targets, plain<F8<sparse>, e4m3, unpacked<e3m2>>},
      {"mma_sp_i8", i8_targets, plain<I8<sparse>>},
      {"mma_ws_f16", tcgen05_targets, plain<F16<weight_stationary>>},
      {"mma_ws_tf32", tcgen05_targets, plain<Tf32<weight_stationary>>},
      {"mma_ws_f8f6f4", tcgen05_targets, plain<F8<weight_stationary>, e4m3, unpacked<e3m2>>},
      {"mma_ws_i8", i8_targets, plain<I8<weight_stationary>>},
      {"mma_ws_sp_f16", tcgen05_targets, plain<F16<weight_stationary, sparse>>},
      {"mma_ws_sp_tf32", tcgen05_targets, plain<Tf32<weight_stationary, sparse>>},
      {"mma_ws_sp_f8f6f4", tcgen05_targets, plain<F8<weight_stationary, sparse>, e4m3, unpacked<e3m2>>},
      {"mma_ws_sp_i8", i8_targets, plain<I8<weight_stationary, sparse>>},
      {"mma_pair", tcgen05_targets, plain<Pair>},
      {"mma_mxf8f6f4", tcgen05_targets, scaled<Mxf8<>, e4m3, unpacked<e2m1>>},
      {"mma_mxf8f6f4_block32", tcgen05_targets, scaled<Mxf8<block32>, e4m3, unpacked<e2m1>>},
      {"mma_mxf8f6f4_1X", a_targets, scaled<Mxf8<scale_vec_1X>, e4m3, unpacked<e2m1>>},
      {"mma_mxf4", tcgen05_targets, scaled<Mxf4<>>},
      {"mma_mxf4_block32", tcgen05_targets, scaled<Mxf4<block32>>},
      {"mma_mxf4_2X", a_targets, scaled<Mxf4<scale_vec_2X>>},
      {"mma_mxf4_K96", {sm_103a}, scaled<Mxf4<block32, K_96>>},
      {"mma_mxf4nvf4_block16", tcgen05_targets, scaled<Nvf4<block16>>},
      {"mma_mxf4nvf4_block16_ue8m0", tcgen05_targets, scaled<Nvf4<block16, block_scale<ue8m0>>>},
      {"mma_mxf4nvf4_block32", tcgen05_targets, scaled<Nvf4<block32>>},
      {"mma_mxf4nvf4_2X", a_targets, scaled<Nvf4<scale_vec_2X>>},
      {"mma_mxf4nvf4_4X", a_targets, scaled<Nvf4<scale_vec_4X>>},
      {"mma_mxf4nvf4_pair", tcgen05_targets, scaled<Nvf4Pair<block16>>},
      {"mma_sp_mxf8f6f4", tcgen05_targets, scaled<Mxf8<sparse>, e4m3, unpacked<e2m1>>},
      {"mma_sp_mxf4", a_targets, scaled<Mxf4<sparse>>},
      {"mma_sp_mxf4nvf4", a_targets, scaled<Nvf4<sparse, block16>>},
      {"mma_options", tcgen05_targets, options<Bf16>},
      {"mma_options_pair", tcgen05_targets, options<Pair>},
      {"mma_scale_input_d", {sm_100a, sm_100f, sm_103a}, scaled_input},
      {"mma_ws_options", tcgen05_targets, weight_stationary_options},
      {"mma_inferred", tcgen05_targets, inferred},
      {"cp", tcgen05_targets, copies<cta_group_1>},
      {"cp_pair", tcgen05_targets, copies<cta_group_2>},
      {"cp_scales", tcgen05_targets, scale_copy},
      {"cp_metadata", tcgen05_targets, metadata_copy<tcgen05_mma<kind_f16, f16, f16, f32, 128, 64, sparse>>},
      {"cp_metadata_pair", tcgen05_targets,
       metadata_copy<tcgen05_mma<kind_f8f6f4, e4m3, e4m3, f32, 256, 64, cta_group_2, sparse>>},
      {"shift", a_targets, shift<cta_group_1>},
      {"shift_pair", a_targets, shift<cta_group_2>},
      {"commit", tcgen05_targets, commit<cta_group_1>},
      {"commit_pair", tcgen05_targets, commit<cta_group_2>},
      {"commit_32b", sm_107_targets, commit_32b},
      {"mma_collector_b", sm_107_targets, kept_b<Bf16>},
      {"mma_collector_b_pair", sm_107_targets, kept_b<Pair>},
      {"mma_scales_ue5m3", sm_107_targets, scaled<Nvf4<block16, block_scale<ue5m3>>>},
  };
  return examples;
}

}  // namespace kiln::forms
