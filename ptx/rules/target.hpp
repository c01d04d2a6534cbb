// Targets and versions: what each of them supports.
#pragma once

#include "ptx/isa/features.hpp"
#include "ptx/isa/launch_limits.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

constexpr Verdict target_tcgen05(isa::Target t) {
  return isa::has_tcgen05(t) ? legal : breaks(Rule::target_tcgen05, t.sm, 100);
}

constexpr Verdict target_version(isa::Target t, isa::PtxVersion v) {
  const isa::PtxVersion low = isa::lowest_version(t);
  return v >= low ? legal : breaks(Rule::target_version, v.major * 10 + v.minor, low.major * 10 + low.minor);
}

/// A feature of the target and the version; a tcgen05 feature needs a target that has tcgen05.
constexpr Verdict target_feature(isa::Feature f, isa::Target t, isa::PtxVersion v) {
  return isa::has(f, t) && v >= isa::lowest_version(f, t) ? legal : breaks(Rule::target_feature, int(f));
}

/// Bytes of a kernel's parameters, with the gaps that their alignments leave.
constexpr Verdict param_budget(std::int64_t bytes, isa::Target t, isa::PtxVersion v) {
  const int most = isa::max_parameter_bytes_of(t, v);
  return bytes <= most ? legal : breaks(Rule::param_budget, bytes, most);
}

}  // namespace kiln::rules
