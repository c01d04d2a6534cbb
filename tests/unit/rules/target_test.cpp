#include "tests/unit/rules/switch.hpp"

#include "ptx/isa/ptx_versions.hpp"
#include "ptx/rules/dsl.hpp"
#include "ptx/rules/forms.hpp"
#include "ptx/rules/ptxas.hpp"
#include "ptx/rules/target.hpp"

using namespace kiln;
using namespace kiln::rules;
using isa::CtaGroup, isa::Feature;
using kiln::test::is_broken;

TEST_CASE("target-tcgen05: suffixed members of the Blackwell data-centre families") {
  for (isa::Target t : {isa::sm_100a, isa::sm_100f, isa::sm_103a, isa::sm_110f}) CHECK(target_tcgen05(t).ok());
  for (isa::Target t : {isa::Target{100}, isa::sm_120a, isa::sm_90a})
    CHECK(is_broken(target_tcgen05(t), Rule::target_tcgen05));
}

TEST_CASE("target-version: the .version that introduced the target") {
  CHECK(target_version(isa::sm_100a, {8, 6}).ok());
  CHECK(target_version(isa::sm_100f, {8, 8}).ok());
  CHECK(is_broken(target_version(isa::sm_100f, {8, 7}), Rule::target_version, 88));
  CHECK(is_broken(target_version(isa::sm_110a, {8, 8}), Rule::target_version, 90));
  CHECK(target_version({75}, {6, 3}).ok());
  CHECK(is_broken(target_version({75}, {6, 2}), Rule::target_version, 63));
  CHECK(is_broken(target_version({87}, {7, 3}), Rule::target_version, 74));
  CHECK(is_broken(target_version({88}, {8, 8}), Rule::target_version, 90));
}

// Both sides of each boundary as ptxas 12.8 and 13.0 to 13.4 have them; lit/verify/param-budget-ptxas.ptx asks ptxas.
TEST_CASE("param-budget: 32764 bytes since PTX 8.1 and sm_70, 4352 before either") {
  for (isa::Target t : {isa::Target{70}, isa::Target{75}, isa::sm_80, isa::sm_90a}) {
    CHECK(param_budget(32764, t, {8, 1}).ok());
    CHECK(is_broken(param_budget(32765, t, {8, 1}), Rule::param_budget, 32764));
    CHECK(param_budget(4352, t, {8, 0}).ok());
    CHECK(is_broken(param_budget(4353, t, {8, 0}), Rule::param_budget, 4352));
  }
  for (isa::Target t : {isa::Target{50}, isa::Target{62}}) {
    CHECK(param_budget(4352, t, {8, 7}).ok());
    CHECK(is_broken(param_budget(4353, t, {8, 7}), Rule::param_budget, 4352));
  }
  CHECK(param_budget(32764, isa::sm_100a, {8, 6}).ok());
  CHECK(is_broken(param_budget(32765, isa::sm_120a, {9, 1}), Rule::param_budget, 32764));
}

TEST_CASE("target-feature: what ptxas 13.0 takes where") {
  const isa::PtxVersion v{9, 0};
  const isa::Target targets[] = {isa::sm_100a, isa::sm_100f, isa::sm_103a, isa::sm_103f, isa::sm_110a, isa::sm_110f};
  const auto row = [&](Feature f) {
    std::string out;
    for (isa::Target t : targets) out += target_feature(f, t, v).ok() ? '1' : '0';
    return out;
  };
  CHECK(row(Feature::kind_i8) == "100010");
  CHECK(row(Feature::scale_input_d) == "111100");
  CHECK(row(Feature::ld_red) == "001111");
  CHECK(row(Feature::shift) == "101010");
  CHECK(row(Feature::scale_vec) == "101010");
  CHECK(row(Feature::sparse_mxf4) == "101010");
  CHECK(row(Feature::block_size) == "111111");
  CHECK(is_broken(target_feature(Feature::mxf4nvf4, isa::sm_100a, {8, 6}), Rule::target_feature));
  CHECK(is_broken(target_feature(Feature::block_size, isa::sm_100a, {8, 7}), Rule::target_feature));
  CHECK(target_feature(Feature::mma_sparse_packed, isa::sm_120a, v).ok());
  CHECK(target_feature(Feature::mma_narrow, {120, isa::TargetSuffix::f}, v).ok());
  CHECK(is_broken(target_feature(Feature::mma_sparse_packed, {120, isa::TargetSuffix::f}, v), Rule::target_feature));
}

TEST_CASE("target-feature: what PTX 9.1 to 9.5 brought") {
  const isa::Target targets[] = {isa::sm_90a, {100},        isa::sm_100f, isa::sm_103a,
                                 {107},       isa::sm_107f, isa::sm_107a, isa::sm_120a};
  const auto row = [&](Feature f) {
    std::string out;
    for (isa::Target t : targets) out += target_feature(f, t, {9, 5}).ok() ? '1' : '0';
    return out;
  };
  for (Feature f : {Feature::multimem_copy, Feature::ignore_oob, Feature::async_store_128, Feature::mbarrier_layout,
                    Feature::strong_copy, Feature::multicast_16b, Feature::release_of_reads, Feature::alias_order})
    CHECK(row(f) == "11111111");
  CHECK(row(Feature::strong_copy_to_cluster) == "10110110");
  CHECK(row(Feature::fabric) == "01111111");
  CHECK(row(Feature::packed_bytes) == "00000111");
  for (Feature f : {Feature::copy_report, Feature::copy_override, Feature::multicast_32b, Feature::ue5m3,
                    Feature::mixed_pairs, Feature::bulk_priority})
    CHECK(row(f) == "00000110");
  for (Feature f : {Feature::sparse_compression, Feature::s2f6_to_zero}) CHECK(row(f) == "00000010");
  CHECK(row(Feature::narrow_product) == "00010000");
  CHECK(is_broken(target_feature(Feature::exclusive, isa::sm_100a, {9, 3}), Rule::target_feature));
  CHECK(target_feature(Feature::kind_ti16, isa::sm_107f, {9, 4}).ok());
  CHECK(is_broken(target_feature(Feature::kind_ti16, isa::sm_103a, {9, 5}), Rule::target_feature));
  CHECK(is_broken(target_feature(Feature::kind_i8, isa::sm_107a, {9, 5}), Rule::target_feature));
}

TEST_CASE("targets: which are known, and where code runs") {
  for (isa::Target t : {isa::sm_80, isa::sm_90a, isa::sm_107a, isa::sm_107f, isa::sm_120a}) CHECK(isa::is_known(t));
  for (isa::Target t : {isa::Target{150, isa::TargetSuffix::a}, {90, isa::TargetSuffix::f}, {89, isa::TargetSuffix::a}})
    CHECK_FALSE(isa::is_known(t));
  CHECK(isa::runs_on(isa::sm_100f, isa::sm_107a));
  CHECK(isa::runs_on(isa::sm_103f, isa::sm_107f));
  CHECK(isa::runs_on(isa::sm_80, isa::sm_90a));
  CHECK_FALSE(isa::runs_on(isa::sm_107f, isa::sm_103a));
  CHECK_FALSE(isa::runs_on(isa::sm_100a, isa::sm_107a));
  CHECK_FALSE(isa::runs_on(isa::sm_100f, isa::sm_110a));
  CHECK_FALSE(isa::runs_on(isa::sm_100f, isa::sm_120a));
}

TEST_CASE("target-feature: around tcgen05") {
  const isa::PtxVersion v{9, 0};
  const isa::Target targets[] = {isa::sm_80, {90}, isa::sm_90a, {100}, isa::sm_100f, {120}, isa::sm_120a};
  const auto row = [&](Feature f) {
    std::string out;
    for (isa::Target t : targets) out += target_feature(f, t, v).ok() ? '1' : '0';
    return out;
  };
  CHECK(row(Feature::hopper) == "0111111");
  CHECK(row(Feature::setmaxnreg) == "0010101");
  CHECK(row(Feature::tensormap_replace) == "0010101");
  CHECK(row(Feature::modes_to_cta) == "0001111");
  CHECK(row(Feature::tensor_modes) == "0000100");
  CHECK(row(Feature::launch_control) == "0001111");
  CHECK(row(Feature::launch_control_all) == "0000101");
  CHECK(row(Feature::swizzle_atomicity) == "0000101");
  CHECK(row(Feature::byte_mask) == "0001111");
  for (Feature f : {Feature::packed_f32, Feature::three_inputs, Feature::mixed_floats, Feature::access_256,
                    Feature::bulk_store, Feature::saturated_tf32})
    CHECK(row(f) == "0001111");
  CHECK(row(Feature::narrow_conversion) == "0000101");
  CHECK(row(Feature::redux_f32) == "0000100");
  CHECK(row(Feature::stochastic_rounding) == "0000000");  // of sm_100a and sm_103a
  CHECK(target_feature(Feature::stochastic_rounding, isa::sm_100a, v).ok());
  CHECK(is_broken(target_feature(Feature::three_inputs, isa::sm_100a, {8, 7}), Rule::target_feature));
  CHECK(row(Feature::mma_fp8) == "0111111");
  CHECK(row(Feature::mma_narrow) == "0000001");
  CHECK(row(Feature::mma_sparse) == "1111111");
  CHECK(row(Feature::mma_sparse_ordered) == "1111111");
  for (Feature f : {Feature::wgmma, Feature::wgmma_sparse, Feature::wgmma_mixed_signs}) CHECK(row(f) == "0010000");
  CHECK(is_broken(target_feature(Feature::mma_sparse, isa::sm_80, {7, 0}), Rule::target_feature));
  CHECK(is_broken(target_feature(Feature::mma_sparse_ordered, isa::sm_120a, {8, 4}), Rule::target_feature));
  CHECK(is_broken(target_feature(Feature::wgmma_sparse, isa::sm_90a, {8, 1}), Rule::target_feature));
  CHECK(is_broken(target_feature(Feature::wgmma_mixed_signs, isa::sm_90a, {8, 3}), Rule::target_feature));
  CHECK(is_broken(target_feature(Feature::mbarrier_relaxed, isa::sm_90a, {8, 5}), Rule::target_feature));
  CHECK(is_broken(target_feature(Feature::tensormap_proxy, isa::sm_90a, {8, 1}), Rule::target_feature));
}

TEST_CASE("target-feature: before sm_90") {
  const isa::Target targets[] = {{75}, isa::sm_80, {86}, {89}, {90}};
  const auto row = [&](Feature f) {
    std::string out;
    for (isa::Target t : targets) out += target_feature(f, t, {9, 0}).ok() ? '1' : '0';
    return out;
  };
  for (Feature f : {Feature::ampere, Feature::cache_policy, Feature::cache_lines, Feature::widened_bf16,
                    Feature::mbarrier_parity, Feature::mma_binary_and, Feature::reserved_shared})
    CHECK(row(f) == "01111");
  CHECK(row(Feature::xorsign) == "00111");
  CHECK(row(Feature::conversion_fp8) == "00011");
  CHECK(row(Feature::out_of_bounds) == "00001");
  for (Feature f : {Feature::cache_priority, Feature::shared_cta, Feature::barrier_cta, Feature::joined_table,
                    Feature::stack, Feature::ldmatrix, Feature::mma_turing})
    CHECK(row(f) == "11111");
}

TEST_CASE("form-modifier, form-operands, tcgen05-cta-group-mixed: asked with what was found") {
  CHECK(form_modifier(true).ok());
  CHECK(is_broken(form_modifier(false), Rule::form_modifier));
  CHECK(form_operands(true).ok());
  CHECK(is_broken(form_operands(false), Rule::form_operands));
  CHECK(cta_group_mixed(CtaGroup::two, CtaGroup::two).ok());
  CHECK(is_broken(cta_group_mixed(CtaGroup::one, CtaGroup::two), Rule::cta_group_mixed, 1));
}

TEST_CASE("dsl-body-result, dsl-value-scope, ring-roles, ring-release, dsl-role-warps, dsl-launch-arguments") {
  CHECK(body_result(true).ok());
  CHECK(is_broken(body_result(false), Rule::body_result));
  CHECK(value_scope(true).ok());
  CHECK(is_broken(value_scope(false), Rule::value_scope));
  CHECK(ring_roles(1, 1).ok());
  CHECK(ring_roles(1, 3).ok());
  CHECK(ring_roles(2, 1).ok());
  CHECK(is_broken(ring_roles(0, 1), Rule::ring_roles, 1));
  CHECK(ring_shares(true).ok());
  CHECK(is_broken(ring_shares(false), Rule::ring_roles));
  CHECK(is_broken(ring_roles(1, 0), Rule::ring_roles, 1));
  CHECK(ring_release(true).ok());
  CHECK(is_broken(ring_release(false), Rule::ring_release));
  CHECK(role_warps(5, 6).ok());
  CHECK(is_broken(role_warps(6, 6), Rule::role_warps, 5));
  CHECK(launch_arguments(true).ok());
  CHECK(is_broken(launch_arguments(false), Rule::launch_arguments));
}

TEST_CASE("ptxas-version: the versions that refuse an instruction, and those older than its .version") {
  const isa::PtxasRange later{{13, 1}, {13, 5}}, earlier{{13, 0}, {13, 3}};
  CHECK(ptxas_takes(later, {13, 0}).ok());
  CHECK(is_broken(ptxas_takes(later, {13, 1}), Rule::ptxas_version));
  CHECK(is_broken(ptxas_takes(earlier, {13, 3}), Rule::ptxas_version));
  CHECK(ptxas_takes(earlier, {13, 4}).ok());
  CHECK(ptxas_knows({9, 2}, {13, 2}).ok());
  CHECK(ptxas_knows({8, 6}, {13, 0}).ok());
  CHECK(is_broken(ptxas_knows({9, 3}, {13, 2}), Rule::ptxas_version));
  CHECK(isa::oldest_ptxas_for({9, 3}) == isa::PtxasVersion{13, 3});
  CHECK(isa::oldest_ptxas_for({8, 8}) == isa::oldest_ptxas);
  CHECK_FALSE(isa::oldest_ptxas_for({9, 6}));
}

TEST_CASE("ptxas-withdrawn and ptxas-crash: where the newest version refuses, or does not end") {
  CHECK(is_broken(ptxas_withdrawn({{13, 1}, isa::newest_ptxas}), Rule::ptxas_withdrawn));
  CHECK(ptxas_withdrawn({{13, 0}, {13, 4}}).ok());
  CHECK(is_broken(ptxas_crash({{13, 4}, isa::newest_ptxas}), Rule::ptxas_crash));
  CHECK(ptxas_crash({{13, 4}, {13, 4}}).ok());
}

TEST_CASE("versions of PTX as text") {
  CHECK(isa::parse_ptx_version("9.5") == isa::PtxVersion{9, 5});
  CHECK(isa::parse_ptx_version("7.8") == isa::PtxVersion{7, 8});
  for (const char* text : {"9.6", "8.9", "10.0", "9", "9.", "9.4x", "", "sm_90"})
    CHECK_FALSE(isa::parse_ptx_version(text));
}

TEST_CASE("dsl-register-index: an index lies in its array") {
  CHECK(register_index(0, 4).ok());
  CHECK(register_index(3, 4).ok());
  CHECK(is_broken(register_index(4, 4), Rule::register_index, 3));
  CHECK(is_broken(register_index(-1, 4), Rule::register_index, 3));
}

TEST_CASE("dsl-scope: a thread that was elected for a while does not end its role") {
  CHECK(role_exit(true).ok());
  CHECK(is_broken(role_exit(false), Rule::scope));
}
