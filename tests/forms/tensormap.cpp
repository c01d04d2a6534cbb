// tensormap.replace, field by field, and the copy that publishes the result.
#include "tests/forms/examples.hpp"

namespace kiln::forms {
namespace {

using Field = TensorMapField;

Kernel replace(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 global_map = k.param<Pointer<u8>>("map").address();
  const U32 map = k.shared<Bytes>().address, n = k.ctaid.x;
  k.role("edit", warp<0>.elect(), [&](Thread t) {
    t.tensormap_replace<Field::global_address>(map, global_map);
    t.tensormap_replace<Field::rank>(map, 4);
    t.tensormap_replace<Field::box_dim, 0>(map, 64);
    t.tensormap_replace<Field::global_dim, 4>(map, n);
    t.tensormap_replace<Field::global_stride, 3>(map, widen(n));
    t.tensormap_replace<Field::element_stride, 1>(map, 1);
    t.tensormap_replace<Field::elemtype, 9>(map);
    t.tensormap_replace<Field::interleave_layout, 0>(map);
    t.tensormap_replace<Field::swizzle_mode, 3>(map);
    t.tensormap_replace<Field::fill_mode, 1>(map);
    t.tensormap_replace<Field::global_dim, 0>(global_map, n);
  });
  return in_warp(k, [&](Warp w) { w.tensormap_cp_fenceproxy(global_map, map, release_gpu); });
}

Kernel atomicity(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U32 map = k.shared<Bytes>().address;
  return in_thread(k, [&](Thread t) { t.tensormap_replace<Field::swizzle_atomicity, 1>(map); });
}

}  // namespace

std::span<const Example> tensormap() {
  static const std::vector<Example> examples{
      {"tensormap_replace", bulk_targets, replace},
      {"tensormap_atomicity", tcgen05_targets, atomicity},
  };
  return examples;
}

}  // namespace kiln::forms
