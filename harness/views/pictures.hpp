// Tensor and shared memory as pictures, each one SVG.
#pragma once

#include <string>

#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tmem.hpp"
#include "sim/views/memory_map.hpp"

namespace kiln::harness {

/// Tensor memory of a CTA: 128 lanes by 512 columns, with a line under it for every use.
std::string tensor_memory_picture(const sim::MemoryMap&);
/// Shared memory of a CTA: regions by address beside a strip that is to scale.
std::string shared_memory_picture(const sim::MemoryMap&);

/// Which row m and column n lies where, of an accumulator of M x N; both CTAs of a pair side by side.
std::string accumulator_picture(isa::DataPath path, int m, int n);
/// The scales that one MMA reads for 128 rows of A, in one quarter of the lanes.
std::string scale_picture(int scales);
/// The metadata of sixteen rows of a sparse A.
std::string metadata_picture(isa::MmaKind kind);

/// A dense MMA of M x N with this accumulator layout: for each CTA its shared memory (purple) and its tensor memory
/// (orange), and between them the MMA (green), which is one for both CTAs of a pair.
std::string placement_picture(isa::DataPath path, int m, int n);

}  // namespace kiln::harness
