// Tensor and shared memory of a CTA as pictures: what lies where, and what reads and writes it.
#pragma once

#include <string>

#include "sim/views/memory_map.hpp"

namespace kiln::harness {

/// 128 lanes by 512 columns, with a line under it for every use.
std::string tensor_memory_picture(const sim::MemoryMap&);

/// Regions by address beside a strip that is to scale.
std::string shared_memory_picture(const sim::MemoryMap&);

}  // namespace kiln::harness
