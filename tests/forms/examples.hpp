// Small kernels that use every form that the DSL writes, one file a family. They are printed for FileCheck and
// assembled by ptxas, but not run.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dsl/dsl.hpp"

namespace kiln::forms {

using namespace kiln::dsl;

/// One kernel of a family, and the targets that have its instructions; the first is the one that is printed.
struct Example {
  std::string_view name;
  std::vector<Target> targets;
  Kernel (*build)(std::string_view name, Target target);
};

// The families.
std::span<const Example> mma();
std::span<const Example> tmem_moves();
std::span<const Example> tma();
std::span<const Example> bulk();
std::span<const Example> mbarrier();
std::span<const Example> cluster();
std::span<const Example> tensormap();
std::span<const Example> atomics();
std::span<const Example> operations();

/// Targets that have tcgen05, and those and Hopper.
inline const std::vector<Target> tcgen05_targets{sm_100a, sm_100f, sm_103a, sm_110a, sm_107a};
/// Those that have what PTX 9.4 brought with sm_107.
inline const std::vector<Target> sm_107_targets{sm_107a, sm_107f};
inline const std::vector<Target> bulk_targets{sm_100a, sm_90a, sm_100f, sm_103a, sm_110a};

/// A kernel of one warp, whose one role is executed by its elected thread, or by the whole warp.
template <class Body>
Kernel in_thread(KernelBuilder& k, Body body) {
  k.role("example", warp<0>.elect(), body);
  return k.build();
}
template <class Body>
Kernel in_warp(KernelBuilder& k, Body body) {
  k.role("example", warp<0>, body);
  return k.build();
}

/// Shared memory for whatever an example moves.
using Bytes = SharedTile<u8, 64, 64, K_major, packed>;

}  // namespace kiln::forms
