// Records of the commits of a pair that are under way, in both CTAs: an mbarrier for the two messengers, the mbarrier
// that waits for the commit, and the mask of CTAs. The first records are for the commits that the even CTA gives, the
// others for those of the odd one.
#pragma once

#include "lower/code.hpp"
#include "lower/plan/plan.hpp"

namespace kiln::lower {

inline constexpr unsigned record_target = 8, record_mask = 12;

/// Declarations at the kernel's head, and their initial values, which one thread writes.
void declare_records(Builder&, const Plan&);
void make_records(Builder&, const Plan&);
/// A number by which both CTAs know a commit that this CTA gives.
Register take_record(Builder&, const Plan&);

}  // namespace kiln::lower
