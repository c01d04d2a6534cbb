// What buffers hold before a launch.
#pragma once

#include <string>

#include "launch/contract.hpp"

namespace kiln::harness {

/// Fills a buffer as its `init` says: the same seed, name, type and shape give the same bytes everywhere. Poison is
/// 0xFF in every byte: NaN in each floating-point type that has one. `folder` is where relative .npy paths start.
/// Throws InputError for fills that the type cannot hold and files that do not fit. A quantised buffer needs its
/// contract when it names others, which it fills too.
void fill(launch::Buffer&, const std::string& folder = {});
void fill(launch::Contract&, const std::string& folder = {});

}  // namespace kiln::harness
