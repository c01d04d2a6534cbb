// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

// Four MMAs of kind::f16 share an image; two would leave half of it to other columns.
using Mma = tcgen05_mma<kind_f16, f16, f16, f32, 128, 64, sparse>;
#ifdef BREAK
constexpr int steps = 2;
#else
constexpr int steps = 4;
#endif
void body(Thread t, SparseMetadata<Mma, steps> to, Shared<MetadataTile<Mma, steps>> from) {
  t.copy(to, from);
}

// CHECK-DAG: error: {{.*}}images of metadata are for MMAs whose rows are the lanes, M of 128 for cta_group::1 or 256 for cta_group::2, and the tile must hold the same whole images as tensor memory: of 4 MMAs of kind::f16 or tf32, of 2 of another kind [tcgen05-metadata-image]
// CHECK-DAG: tcgen05-metadata-image.cpp:17:
