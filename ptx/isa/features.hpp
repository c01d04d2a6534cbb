// Instructions and parts of instructions that some targets, or some PTX versions, lack. Measured with ptxas 13.0.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/isa/targets.hpp"

namespace kiln::isa {

enum class Feature : std::uint8_t {
  kind_i8,        // tcgen05.mma.kind::i8
  scale_input_d,  // the scale-input-d operand
  ld_red,         // tcgen05.ld.red
  shift,          // tcgen05.shift
  scale_vec,      // the spelling .scale_vec::1X, 2X, 4X
  scale_vec_4x,   // .scale_vec::4X
  sparse_mxf4,    // tcgen05.mma.sp with mxf4 and mxf4nvf4
  mxf4nvf4,       // kind::mxf4nvf4
  block_size,     // .block16, .block32, and block scaling with no size written
  // Around tcgen05
  hopper,                  // clusters, bulk copies, mbarrier transactions, stmatrix, and what else came with sm_90
  shared_cta_destination,  // bulk copies to .shared::cta
  mbarrier_relaxed,        // .relaxed on mbarrier instructions
  sync_restrict,           // .sync_restrict on fences
  tensormap_proxy,         // fence.proxy.tensormap and tensormap.cp_fenceproxy
  tensormap_replace,       // tensormap.replace
  swizzle_atomicity,       // tensormap.replace.tile.swizzle_atomicity
  packed_elemtype,         // tensormap.replace.tile.elemtype 13...15
  byte_mask,               // .cp_mask
  modes_to_cta,            // .tile::gather4 and .im2col::w to .shared::cta
  tensor_modes,            // the same to a cluster, .tile::scatter4, .im2col::w::128 and .cta_group on tensor copies
  launch_control,          // clusterlaunchcontrol
  launch_control_all,      // .multicast::cluster::all
  setmaxnreg,
  packed_f32,              // add, sub, mul and fma of .f32x2
  three_inputs,            // min and max of three f32
  mixed_floats,            // add, sub and fma of f32 with f16 or bf16
  access_256,              // ld and st of 256 bits
  bulk_store,              // st.bulk
  narrow_conversion,       // cvt from and to floats below 8 bits and ue8m0
  stochastic_rounding,     // cvt.rs
  saturated_tf32,          // cvt.rn.satfinite.tf32 and .rz
  redux_f32,               // redux.sync of f32
  matrix_b8,               // ldmatrix and stmatrix of 8-bit and narrower elements
  mma_fp8,                 // mma.sync of e4m3 and e5m2
  mma_fp8_short,           // the same with .m16n8k16 or an f16 accumulator
  mma_narrow,              // mma.sync.kind::f8f6f4 and block scaling, and sparse 8-bit floats with an f16 accumulator
  mma_sparse,              // mma.sp
  mma_sparse_ordered,      // mma.sp::ordered_metadata
  wgmma,
  wgmma_sparse,            // wgmma.mma_async.sp
  wgmma_mixed_signs        // wgmma of u8 by s8
};

constexpr std::string_view spelling(Feature f) {
  switch (f) {
    case Feature::kind_i8: return ".kind::i8";
    case Feature::scale_input_d: return "the scale-input-d operand";
    case Feature::ld_red: return "tcgen05.ld.red";
    case Feature::shift: return "tcgen05.shift";
    case Feature::scale_vec: return ".scale_vec";
    case Feature::scale_vec_4x: return ".scale_vec::4X";
    case Feature::sparse_mxf4: return ".sp with a packed 4-bit kind";
    case Feature::mxf4nvf4: return ".kind::mxf4nvf4";
    case Feature::block_size: return ".block16, .block32 or block scaling with no size";
    case Feature::hopper: return "an instruction of sm_90";
    case Feature::shared_cta_destination: return "a bulk copy to .shared::cta";
    case Feature::mbarrier_relaxed: return ".relaxed";
    case Feature::sync_restrict: return ".sync_restrict";
    case Feature::tensormap_proxy: return "the tensormap proxy";
    case Feature::tensormap_replace: return "tensormap.replace";
    case Feature::swizzle_atomicity: return ".swizzle_atomicity";
    case Feature::packed_elemtype: return "a packed element type";
    case Feature::byte_mask: return ".cp_mask";
    case Feature::modes_to_cta: return ".tile::gather4 or .im2col::w";
    case Feature::tensor_modes: return ".cta_group, .tile::gather4, .tile::scatter4 or .im2col::w on a tensor copy";
    case Feature::launch_control: return "clusterlaunchcontrol";
    case Feature::launch_control_all: return ".multicast::cluster::all";
    case Feature::setmaxnreg: return "setmaxnreg";
    case Feature::packed_f32: return ".f32x2";
    case Feature::three_inputs: return "a minimum or maximum of three";
    case Feature::mixed_floats: return "f32 with f16 or bf16";
    case Feature::access_256: return "an access of 256 bits";
    case Feature::bulk_store: return "st.bulk";
    case Feature::narrow_conversion: return "cvt of floats below 8 bits or ue8m0";
    case Feature::stochastic_rounding: return "cvt.rs";
    case Feature::saturated_tf32: return "cvt.satfinite.tf32";
    case Feature::redux_f32: return "redux.sync.f32";
    case Feature::matrix_b8: return "a matrix of 8-bit elements";
    case Feature::mma_fp8: return "mma.sync of 8-bit floats";
    case Feature::mma_fp8_short: return "mma.sync of 8-bit floats with .m16n8k16 or .f16";
    case Feature::mma_narrow: return "mma.sync.kind::";
    case Feature::mma_sparse: return "mma.sp";
    case Feature::mma_sparse_ordered: return "mma.sp::ordered_metadata";
    case Feature::wgmma: return "wgmma";
    case Feature::wgmma_sparse: return "wgmma.mma_async.sp";
    case Feature::wgmma_mixed_signs: return "wgmma of signed and unsigned integers";
  }
  return "";
}

/// Whether a target has the feature; for parts of the tcgen05 family, whether one that has the family does.
constexpr bool has(Feature f, Target t) {
  const bool suffixed = t.suffix != TargetSuffix::none;
  switch (f) {
    case Feature::kind_i8: return t.suffix == TargetSuffix::a && t.sm != 103;
    case Feature::scale_input_d: return t.sm == 100 || t.sm == 103;
    case Feature::ld_red: return t.sm != 100;
    case Feature::shift:
    case Feature::scale_vec:
    case Feature::scale_vec_4x:
    case Feature::sparse_mxf4: return t.suffix == TargetSuffix::a;
    case Feature::mxf4nvf4:
    case Feature::block_size: return true;
    case Feature::hopper:
    case Feature::shared_cta_destination:
    case Feature::mbarrier_relaxed:
    case Feature::sync_restrict:
    case Feature::tensormap_proxy: return t.sm >= 90;
    case Feature::setmaxnreg:
    case Feature::tensormap_replace: return t.sm >= 90 && suffixed;
    case Feature::byte_mask:
    case Feature::modes_to_cta:
    case Feature::packed_f32:
    case Feature::three_inputs:
    case Feature::mixed_floats:
    case Feature::access_256:
    case Feature::bulk_store:
    case Feature::saturated_tf32:
    case Feature::launch_control: return t.sm >= 100;
    case Feature::swizzle_atomicity:
    case Feature::packed_elemtype:
    case Feature::launch_control_all:
    case Feature::narrow_conversion:
    case Feature::matrix_b8: return t.sm >= 100 && suffixed;
    case Feature::stochastic_rounding: return t.suffix == TargetSuffix::a && (t.sm == 100 || t.sm == 103);
    case Feature::redux_f32: return suffixed && (t.sm == 100 || t.sm == 103);
    case Feature::tensor_modes: return has_tcgen05(t);
    case Feature::mma_fp8:
    case Feature::mma_fp8_short: return t.sm >= 89;
    case Feature::mma_narrow: return t.sm >= 120 && suffixed;
    case Feature::mma_sparse:
    case Feature::mma_sparse_ordered: return t.sm >= 80;
    case Feature::wgmma:
    case Feature::wgmma_sparse:
    case Feature::wgmma_mixed_signs: return t.sm == 90 && suffixed;
  }
  return false;
}

/// The lowest `.version` that knows the feature.
constexpr PtxVersion lowest_version(Feature f) {
  switch (f) {
    case Feature::mma_sparse: return {7, 1};
    case Feature::hopper: return {7, 8};
    case Feature::setmaxnreg:
    case Feature::wgmma: return {8, 0};
    case Feature::wgmma_sparse: return {8, 2};
    case Feature::tensormap_proxy:
    case Feature::tensormap_replace: return {8, 3};
    case Feature::mma_fp8:
    case Feature::wgmma_mixed_signs: return {8, 4};
    case Feature::mma_sparse_ordered: return {8, 5};
    case Feature::mma_fp8_short:
    case Feature::mma_narrow:
    case Feature::packed_elemtype:
    case Feature::mxf4nvf4:
    case Feature::stochastic_rounding:
    case Feature::scale_vec_4x: return {8, 7};
    case Feature::three_inputs:
    case Feature::access_256:
    case Feature::block_size:
    case Feature::ld_red: return {8, 8};
    default: return {8, 6};
  }
}

}  // namespace kiln::isa
