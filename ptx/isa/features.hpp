// Parts of the tcgen05 family, and of what feeds it, that some targets or some PTX versions lack. Measured with ptxas 13.0.
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
  gather4,        // tile::gather4
  scatter4,       // tile::scatter4
  im2col_w,       // im2col::w
  im2col_w_128,   // im2col::w::128
  copy_cta_group, // .cta_group on cp.async.bulk.tensor
  cp_mask,        // .cp_mask on cp.async.bulk
  launch_control, // clusterlaunchcontrol
  launch_control_all,  // .multicast::cluster::all
  swizzle_atomicity    // the field of tensormap.replace
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
    case Feature::gather4: return ".tile::gather4";
    case Feature::scatter4: return ".tile::scatter4";
    case Feature::im2col_w: return ".im2col::w";
    case Feature::im2col_w_128: return ".im2col::w::128";
    case Feature::copy_cta_group: return ".cta_group on a tensor copy";
    case Feature::cp_mask: return ".cp_mask";
    case Feature::launch_control: return "clusterlaunchcontrol";
    case Feature::launch_control_all: return ".multicast::cluster::all";
    case Feature::swizzle_atomicity: return ".swizzle_atomicity";
  }
  return "";
}

/// Whether the target has the feature. What belongs to tcgen05 is asked of targets that have tcgen05.
constexpr bool has(Feature f, Target t) {
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
    case Feature::scatter4:
    case Feature::im2col_w_128:
    case Feature::copy_cta_group: return has_tcgen05(t);
    case Feature::gather4:
    case Feature::im2col_w:
    case Feature::cp_mask:
    case Feature::launch_control: return t.sm >= 100;
    case Feature::launch_control_all:
    case Feature::swizzle_atomicity: return t.sm >= 100 && t.suffix != TargetSuffix::none;
  }
  return false;
}

/// The lowest `.version` that knows the feature.
constexpr PtxVersion lowest_version(Feature f) {
  switch (f) {
    case Feature::mxf4nvf4:
    case Feature::scale_vec_4x: return {8, 7};
    case Feature::block_size:
    case Feature::ld_red: return {8, 8};
    default: return {8, 6};
  }
}

}  // namespace kiln::isa
