// What every instruction of the tensor core does when a thread issues it.
#pragma once

#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/rules/verdict.hpp"
#include "sim/core/machine.hpp"
#include "sim/ops/binder.hpp"

namespace kiln::sim {

/// Faults when a rule is broken whose severity is error; reports the others and goes on.
void judge(Context& c, const Inst& i, const rules::Verdict& v);

/// The swizzle of a matrix descriptor, after the rules that it must keep by itself.
isa::Swizzle judge_descriptor(Context& c, const Inst& i, const isa::SharedDescriptorFields& d);

/// Faults when cta_group::2 is used in a cluster that is not made of pairs.
void check_pair(const Context& c, isa::CtaGroup group);

}  // namespace kiln::sim
