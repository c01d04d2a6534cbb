// The thirteen checks that NVIDIA's device compiler makes of every tcgen05.mma before it selects it, in its order. Each
// is one of our rules; the vendor's sentence is quoted beside it. The compiler stops at the first that fails.
#pragma once

#include <array>
#include <string_view>

#include "ptx/isa/targets.hpp"
#include "ptx/rules/target.hpp"
#include "ptx/rules/tcgen05_form.hpp"

namespace kiln::rules {

/// The operands of the ladder.
struct LadderSubject {
  isa::MmaForm form;
  isa::Target target;
  isa::PtxVersion version = isa::newest_version;
  Profile profile = Profile::isa;
};

/// One step: its rule, the vendor compiler's text as CUDA 13.0.88 prints it (spelling included), and whether it holds.
struct LadderStep {
  Rule rule;
  std::string_view vendor_text;
  Verdict (*ask)(const LadderSubject&);
};

namespace detail {

constexpr Verdict ask_feature(const LadderSubject& s, isa::Feature f) {
  for (isa::Feature used : isa::mma_features(s.form))
    if (used == f) return target_feature(f, s.target, s.version);
  return legal;
}

/// Steps 11 to 13 are one rule, split by kind.
constexpr Verdict ask_vector(const LadderSubject& s, isa::MmaKind kind) {
  return s.form.kind == kind && s.form.block_scale && s.form.scale_vector != isa::ScaleVector::none ? scale_vector(s.form)
                                                                                                    : legal;
}

}  // namespace detail

inline constexpr std::array<LadderStep, 13> mma_ladder{{
    {Rule::target_feature, "INT8 type is supported only on arch-conditional variants.",
     [](const LadderSubject& s) { return detail::ask_feature(s, isa::Feature::kind_i8); }},
    {Rule::target_feature, "MXF4 and MXF4NVF4 types with Sparsity are supported only on arch-conditional variants.",
     [](const LadderSubject& s) { return detail::ask_feature(s, isa::Feature::sparse_mxf4); }},
    {Rule::target_feature, "Explicit scale vector size is supported only on arch-conditional variants.",
     [](const LadderSubject& s) {
       return first(detail::ask_feature(s, isa::Feature::scale_vec), detail::ask_feature(s, isa::Feature::scale_vec_4x));
     }},
    {Rule::target_feature, "Scale input accumulator is not supported on this architecture.",
     [](const LadderSubject& s) { return detail::ask_feature(s, isa::Feature::scale_input_d); }},
    {Rule::scale_input_d, "Scale input accumulator can only be used with f16 and tf32 types",
     [](const LadderSubject& s) { return scale_input_d(s.form, s.profile); }},
    {Rule::block_scale, "Block scale is not supported for f16, tf32, f8f6f4 and i8 types",
     [](const LadderSubject& s) {
       return s.form.block_scale ? block_scale(s.form) : legal;
     }},
    {Rule::ashift, "ashift is not supported with tcgen05.mma.block_scale variants",
     [](const LadderSubject& s) {
       return s.form.block_scale ? ashift(s.form) : legal;
     }},
    {Rule::ws_cta_group, "cta_group::2 is not supported with weight stationary",
     [](const LadderSubject& s) { return ws_group(s.form); }},
    {Rule::ws_kind, "Cannot use weight stationary with mxf8f6f4 and fp4 types",
     [](const LadderSubject& s) { return ws_kind(s.form); }},
    {Rule::ashift_collector, "Cannot use collector::a::use or colletor::a::fill with ashift",
     [](const LadderSubject& s) { return ashift_collector(s.form); }},
    {Rule::scale_vector, "Cannot use 2X or 4X as scale vector size for mxf8f6f4 type",
     [](const LadderSubject& s) { return detail::ask_vector(s, isa::MmaKind::mxf8f6f4); }},
    {Rule::scale_vector, "Cannot use 1X as scale vector size for mxf4nvf4 type",
     [](const LadderSubject& s) { return detail::ask_vector(s, isa::MmaKind::mxf4nvf4); }},
    {Rule::scale_vector, "Cannot use 1X or 4X as scale vector size for mxf4 type",
     [](const LadderSubject& s) { return detail::ask_vector(s, isa::MmaKind::mxf4); }},
}};

/// The first step that fails, counted from 1, and its verdict; 0 when all hold.
struct LadderAnswer {
  int step = 0;
  Verdict verdict = legal;
};

constexpr LadderAnswer climb(const LadderSubject& s) {
  for (std::size_t i = 0; i < mma_ladder.size(); ++i)
    if (const Verdict v = mma_ladder[i].ask(s); !v.ok()) return {int(i) + 1, v};
  return {};
}

}  // namespace kiln::rules
