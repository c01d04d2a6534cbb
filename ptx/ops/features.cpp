#include "ptx/ops/features.hpp"

#include <algorithm>

#include "ptx/isa/ptx_versions.hpp"
#include "ptx/ops/features_before_hopper.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::ops {
namespace {

using isa::Feature;
using isa::Opcode;

std::vector<Feature> commit_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  std::vector<Feature> out;
  if (m.multicast_mask == isa::MulticastMask::cluster_16b) out.push_back(Feature::commit_16b);
  if (m.multicast_mask == isa::MulticastMask::cluster_32b) out.push_back(Feature::commit_32b);
  if (m.sync_restrict != isa::SyncRestrict::none) out.push_back(Feature::commit_reads);
  return out;
}

std::vector<Feature> tcgen05_features(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::tcgen05_ld_red: return {Feature::ld_red};
    case Opcode::tcgen05_shift: return {Feature::shift};
    case Opcode::tcgen05_ld_spcompress:
    case Opcode::tcgen05_ld_red_spcompress: return {Feature::compressed_load};
    case Opcode::tcgen05_commit: return commit_features(op);
    case Opcode::tcgen05_alloc:
    case Opcode::tcgen05_dealloc:
      return op.modifiers.exclusive ? std::vector{Feature::exclusive} : std::vector<Feature>{};
    default: break;
  }
  const auto mma = as<Mma>(op);
  if (!mma) return {};
  std::vector<Feature> out;
  for (Feature f : isa::mma_features(mma->form))
    // A size that is not written is newer for ptxas 13.0 alone, so the DSL asks for it and this does not.
    if (f != Feature::block_size || mma->form.scale_vector != isa::ScaleVector::none) out.push_back(f);
  return out;
}

bool loads_to_cluster(const isa::Modifiers& m) {
  return m.spaces[0] == isa::Space::shared_cluster && m.spaces[1] == isa::Space::global;
}

// Bulk copies, tensor copies among them.
std::vector<Feature> copy_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  std::vector<Feature> out{Feature::hopper};
  const bool to_cta = m.space() == isa::Space::shared_cta;
  const bool either = m.tensor_mode == isa::TensorMode::gather4 || m.tensor_mode == isa::TensorMode::im2col_w;
  if (to_cta) out.push_back(Feature::shared_cta_destination);
  if (m.cp_mask) out.push_back(Feature::byte_mask);
  if (either && to_cta) out.push_back(Feature::modes_to_cta);
  if (m.cta_group != isa::CtaGroup::none || (either && !to_cta) || m.tensor_mode == isa::TensorMode::im2col_w_128 ||
      m.tensor_mode == isa::TensorMode::scatter4)
    out.push_back(Feature::tensor_modes);
  if (m.ignore_oob) out.push_back(Feature::ignore_oob);
  if (m.semantics != isa::Semantics::none) out.push_back(Feature::strong_copy);
  if (m.semantics == isa::Semantics::relaxed && loads_to_cluster(m)) out.push_back(Feature::strong_copy_to_cluster);
  if (m.noftz && m.type() == isa::ScalarType::f32) out.push_back(Feature::noftz_f32);
  if (m.multicast_mask == isa::MulticastMask::cluster_16b) out.push_back(Feature::multicast_16b);
  if (m.multicast_mask == isa::MulticastMask::cluster_32b) out.push_back(Feature::multicast_32b);
  if (m.report != isa::Report::none) out.push_back(Feature::copy_report);
  if (m.override_address) out.push_back(Feature::copy_address);
  if (m.map_override != isa::MapOverride::none) out.push_back(Feature::copy_override);
  if (m.tensor_mode == isa::TensorMode::im2col_no_offs_w) out.push_back(Feature::im2col_no_offsets_w);
  if (m.l2 != isa::L2Eviction::none) out.push_back(Feature::copy_priority);
  return out;
}

// Of sm_80: init, inval, arrivals on the own CTA, test_wait, pending_count.
std::vector<Feature> mbarrier_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  std::vector<Feature> out;
  const bool arrives = op.opcode == Opcode::mbarrier_arrive || op.opcode == Opcode::mbarrier_arrive_drop;
  const bool counts = arrives && !m.no_complete && roles<Mbarrier>(op).count;
  if (m.expect_tx || counts || m.scope == isa::Scope::cluster || m.space() == isa::Space::shared_cluster ||
      op.opcode == Opcode::mbarrier_try_wait || op.opcode == Opcode::mbarrier_expect_tx ||
      op.opcode == Opcode::mbarrier_complete_tx)
    out.push_back(Feature::hopper);
  const bool transfers = op.opcode == Opcode::mbarrier_expect_tx || op.opcode == Opcode::mbarrier_complete_tx;
  if (m.semantics == isa::Semantics::relaxed && !transfers) out.push_back(Feature::mbarrier_relaxed);
  if (m.mbarrier_layout != isa::MbarrierLayout::none || op.opcode == Opcode::mbarrier_check_layout)
    out.push_back(Feature::mbarrier_layout);
  if (m.phase_type != isa::PhaseType::none) out.push_back(Feature::phase_type);
  if (m.multicast()) out.push_back(Feature::mbarrier_multicast);
  return out;
}

bool is_fp8(isa::ScalarType t) { return t == isa::ScalarType::e4m3 || t == isa::ScalarType::e5m2; }

bool has(const isa::Modifiers& m, std::string_view modifier) {
  return std::find(m.others.begin(), m.others.end(), modifier) != m.others.end();
}

// .kind::f8f6f4 of types that need no kind, which more targets have.
bool names_kind_of_fp8(const isa::Modifiers& m) {
  return m.kind == isa::MmaKind::f8f6f4 && is_fp8(m.types[1]) && is_fp8(m.types[2]);
}

std::vector<Feature> sparse_mma_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  std::vector<Feature> out{op.opcode == Opcode::mma_sp ? Feature::mma_sparse : Feature::mma_sparse_ordered};
  if (m.kind == isa::MmaKind::mxf4 || m.kind == isa::MmaKind::mxf4nvf4) out.push_back(Feature::mma_sparse_packed);
  if (m.scale_vector == isa::ScaleVector::x4 && m.types[4] == isa::ScalarType::ue8m0)
    out.push_back(Feature::mma_4x_ue8m0);
  else if (names_kind_of_fp8(m) && m.types[0] == isa::ScalarType::f32)
    out.push_back(Feature::mma_kind_fp8);
  else if (m.kind != isa::MmaKind::none || (is_fp8(m.types[1]) && m.types[0] == isa::ScalarType::f16))
    out.push_back(Feature::mma_narrow);
  else if (is_fp8(m.types[1]))
    out.push_back(Feature::mma_fp8);
  return out;
}

std::vector<Feature> mma_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  if (op.opcode == Opcode::mma_sp || has(m, "sp::ordered_metadata")) return sparse_mma_features(op);
  if (m.scale_vector == isa::ScaleVector::x4 && m.types[4] == isa::ScalarType::ue8m0) return {Feature::mma_4x_ue8m0};
  const bool k16 = has(m, "m16n8k16"), k4 = has(m, "m8n8k4");
  if (m.kind != isa::MmaKind::none && !names_kind_of_fp8(m)) return {Feature::mma_narrow};
  if (m.kind != isa::MmaKind::none && m.types[0] != isa::ScalarType::f16) return {Feature::mma_kind_fp8};
  if (m.kind != isa::MmaKind::none) return {Feature::mma_kind_fp8, Feature::mma_fp8_short};
  if (is_fp8(m.types[1]))
    return {k16 || m.types[0] == isa::ScalarType::f16 ? Feature::mma_fp8_short : Feature::mma_fp8};
  if (m.types[1] == isa::ScalarType::f64 && !k4) return {Feature::hopper};
  return {};
}

std::vector<Feature> wgmma_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  std::vector<Feature> out{Feature::wgmma};
  if (op.opcode == Opcode::wgmma_mma_async_sp) out.push_back(Feature::wgmma_sparse);
  if (m.types[0] == isa::ScalarType::s32 && m.types[1] != m.types[2]) out.push_back(Feature::wgmma_mixed_signs);
  return out;
}

std::vector<Feature> fence_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  std::vector<Feature> out;
  if (m.scope == isa::Scope::cluster || m.proxy == isa::Proxy::async || m.proxy == isa::Proxy::async_generic ||
      op.opcode == Opcode::fence_mbarrier_init)
    out.push_back(Feature::hopper);
  switch (m.sync_restrict) {
    case isa::SyncRestrict::none: break;
    case isa::SyncRestrict::shared_cluster_read: out.push_back(Feature::release_of_reads); break;
    case isa::SyncRestrict::read: out.push_back(Feature::alias_release_of_reads); break;
    default: out.push_back(Feature::sync_restrict);
  }
  // .alias and a proxy pair of the fabric are one group, of which such a fence has both.
  const auto is_of_fabric = [](std::string_view m) { return m.find("fabric") != m.npos; };
  const bool fabric =
      is_of_fabric(spelling(m.proxy)) || std::any_of(m.repeated.begin(), m.repeated.end(), is_of_fabric);
  if (fabric) out.push_back(Feature::fabric);
  if (op.opcode == Opcode::fence_proxy && !fabric && m.proxy == isa::Proxy::alias &&
      m.semantics != isa::Semantics::none)
    out.push_back(Feature::alias_order);
  if (m.proxy == isa::Proxy::tensormap_generic) out.push_back(Feature::tensormap_proxy);
  return out;
}

std::vector<Feature> tensormap_features(const ir::Operation& op) {
  if (has(op.modifiers, "swizzle_atomicity")) return {Feature::swizzle_atomicity};
  const auto edit = roles<TensorMapEdit>(op);  // g++ 13 warns of a reference out of a temporary
  const ir::Argument& value = edit.value;
  if (has(op.modifiers, "elemtype") && value.kind == ir::Argument::Kind::immediate && value.value > 12)
    return {Feature::packed_elemtype};
  if (has(op.modifiers, "swizzle_mode") && value.kind == ir::Argument::Kind::immediate && value.value == 4)
    return {Feature::swizzle_96};
  return {Feature::tensormap_replace};
}

bool is_bf16(isa::ScalarType t) { return t == isa::ScalarType::bf16 || t == isa::ScalarType::bf16x2; }

// Sums and products of bf16 (fma is older), approximations and comparisons; pairs of 16-bit integers; conversions that
// have no f32 on their other side.
bool is_arithmetic_of_hopper(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  const bool bf16 = is_bf16(m.types[0]) || is_bf16(m.types[1]);
  const bool pairs = m.type() == isa::ScalarType::s16x2 || m.type() == isa::ScalarType::u16x2;
  switch (op.opcode) {
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul: return m.types.count == 1 && (bf16 || pairs);
    case Opcode::min:
    case Opcode::max: return pairs || (m.relu && !isa::is_floating(m.type()));
    case Opcode::ex2:
    case Opcode::tanh:
    case Opcode::set:
    case Opcode::setp: return bf16;
    case Opcode::cvt:
      return bf16 && isa::bits(is_bf16(m.types[0]) ? m.types[1] : m.types[0]) >= 16 &&
             m.types[0] != isa::ScalarType::f32 && m.types[1] != isa::ScalarType::f32;
    default: return false;
  }
}

// Atomics of bf16, of vectors and of 128 bits; other CTAs of a cluster.
bool is_access_of_hopper(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  switch (op.opcode) {
    case Opcode::atom:
    case Opcode::red:
      if (is_bf16(m.type()) || isa::vector_width(m.vector) > 1 || isa::bits(m.type()) > 64) return true;
      [[fallthrough]];
    case Opcode::ld:
    case Opcode::st:
    case Opcode::cvta:
    case Opcode::isspacep: return m.scope == isa::Scope::cluster || m.spaces[0] == isa::Space::shared_cluster;
    case Opcode::prefetch: return has(m, "tensormap");
    default: return false;
  }
}

bool names_cluster(const ir::Argument& a) {
  if (a.kind != ir::Argument::Kind::special) return false;
  const std::string& name = a.operand->text;
  for (const std::string_view s : {"%cluster", "%ncluster", "%is_explicit_cluster", "%aggr_smem_size"})
    if (name.starts_with(s)) return true;
  return false;
}

// What came with sm_90 as a whole.
bool is_of_hopper(Opcode op) {
  constexpr Family families[] = {
      Family::async_store, Family::multimem_load,   Family::multimem_store, Family::cluster_barrier,
      Family::bulk_group,  Family::grid_dependency, Family::elect};
  return op == Opcode::mapa || op == Opcode::getctarank || std::ranges::count(families, family(op)) != 0;
}

bool is_pair_of_halves(isa::ScalarType t) { return t == isa::ScalarType::f16x2 || t == isa::ScalarType::bf16x2; }
bool is_packed_bytes(isa::ScalarType t) { return t == isa::ScalarType::u8x4 || t == isa::ScalarType::s8x4; }

// Two floats at a time, three inputs, or a narrower one among them.
std::vector<Feature> float_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  using isa::ScalarType;
  const bool saturates =
      m.sat && (m.type() == ScalarType::u32 || m.type() == ScalarType::u16x2 || m.type() == ScalarType::s16x2);
  if (is_packed_bytes(m.type()) || saturates) return {Feature::packed_bytes};
  if (m.type() == ScalarType::e4m3x4 || m.type() == ScalarType::e5m2x4) return {Feature::narrow_product};
  if (m.types.count > 1 && (m.types[1] == ScalarType::f32x2 || m.type() == ScalarType::f32x2)) return {Feature::mixed_pairs};
  if (m.type() == isa::ScalarType::f32x2) return {Feature::packed_f32};
  const bool compares = op.opcode == Opcode::min || op.opcode == Opcode::max;
  if (compares) return roles<Alu>(op).c ? std::vector{Feature::three_inputs} : std::vector<Feature>{};
  const bool mixed = m.type() == isa::ScalarType::f32 && m.types.count > 1;
  return mixed ? std::vector{Feature::mixed_floats} : std::vector<Feature>{};
}

bool is_narrow(isa::ScalarType t) {
  using enum isa::ScalarType;
  constexpr isa::ScalarType narrow[] = {ue8m0x2, e3m2x2, e2m3x2, e2m1x2, s2f6x2, e3m2x4, e2m3x4, e2m1x4};
  return std::find(std::begin(narrow), std::end(narrow), t) != std::end(narrow);
}

std::vector<Feature> conversion_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  if (m.rounding == isa::Rounding::rs) return {Feature::stochastic_rounding};
  using isa::ScalarType;
  const ScalarType to = m.types[0], from = m.types[1];
  if (to == ScalarType::ue5m3x2 || from == ScalarType::ue5m3x2 || m.positive_zero ||
      m.scale_factor == isa::ScaleFactor::n1_ue8m0)
    return {Feature::ue5m3};
  const bool byte = to == ScalarType::e4m3x2 || to == ScalarType::e5m2x2;
  const bool to_narrow = byte || is_narrow(to);
  if (to_narrow && m.rounding == isa::Rounding::rz && to != ScalarType::ue8m0x2)
    return {to == ScalarType::s2f6x2 ? Feature::s2f6_to_zero : Feature::narrowed_to_zero};
  if (to == ScalarType::s2f6x2 || from == ScalarType::s2f6x2) return {Feature::s2f6};
  if (to == ScalarType::bf16x2 && (is_narrow(from) || from == ScalarType::e4m3x2 || from == ScalarType::e5m2x2) &&
      from != ScalarType::ue8m0x2)
    return {Feature::widened_to_bf16x2};
  // ptxas 13.0 takes e2m1x2 from f16x2 at 9.0 too.
  const bool is_older = from == ScalarType::f16x2 && (byte || to == ScalarType::e2m1x2);
  if (to_narrow && to != ScalarType::ue8m0x2 && is_pair_of_halves(from) && !is_older) return {Feature::narrowed_halves};
  if (is_narrow(to) || is_narrow(from)) return {Feature::narrow_conversion};
  if (m.type() == isa::ScalarType::tf32 && m.rounding != isa::Rounding::rna)
    return {m.satfinite ? Feature::saturated_tf32 : Feature::hopper};
  return {};
}

std::vector<Feature> access_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  if (m.semantics == isa::Semantics::volatile_ && m.space() == isa::Space::local) return {Feature::volatile_local};
  // .mmio and .relaxed are one group, of which a text may have both, in any order.
  if (!m.repeated.empty()) {
    const bool is_first = m.semantics == isa::Semantics::mmio;
    const std::string_view other = is_first ? std::string_view(m.repeated[0]) : spelling(m.semantics);
    if ((is_first || m.repeated[0] == "mmio") && other != "relaxed") return {Feature::mmio_order};
  }
  if (m.read_only_proxy) return {Feature::read_only_proxy};
  const int bits = isa::vector_width(op.modifiers.vector) * isa::bits(op.modifiers.type());
  return bits > 128 ? std::vector{Feature::access_256} : std::vector<Feature>{};
}

std::vector<Feature> multimem_copy_features(const isa::Modifiers& m) {
  std::vector<Feature> out{Feature::multimem_copy};
  if (m.cp_mask) out.push_back(Feature::byte_mask);
  if (m.semantics != isa::Semantics::none) out.push_back(Feature::strong_copy);
  if (m.noftz && m.type() == isa::ScalarType::f32) out.push_back(Feature::noftz_f32);
  return out;
}

std::vector<Feature> fabric_features(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  const bool groups = has(m, "commit_group") || m.sync_restrict == isa::SyncRestrict::read;
  if (groups) return {Feature::fabric_groups};
  if (m.dims != isa::TensorDims::none) return {Feature::fabric_tensors};
  if (op.opcode == Opcode::fabric_try_atom) return {Feature::fabric_atomics};
  return {has(m, "acc::f32") || is_fp8(m.types[0]) ? Feature::fabric_half_sums : Feature::fabric};
}

std::vector<Feature> features_of_unit(const ir::Operation& op) {
  switch (isa::unit(op.opcode)) {
    case isa::Unit::tcgen05: return tcgen05_features(op);
    case isa::Unit::mbarrier: return mbarrier_features(op);
    default: break;
  }
  switch (family(op.opcode)) {
    case Family::bulk_copy:
    case Family::bulk_prefetch:
    case Family::tensor_copy:
    case Family::tensor_prefetch: return copy_features(op);
    case Family::fence: return fence_features(op);
    case Family::fabric: return fabric_features(op);
    case Family::wgmma:
    case Family::wgmma_order: return wgmma_features(op);
    default: break;
  }
  switch (op.opcode) {
    case Opcode::mma:
    case Opcode::mma_sp: return mma_features(op);
    case Opcode::tensormap_replace: return tensormap_features(op);
    case Opcode::tensormap_cp_fenceproxy: return {Feature::tensormap_proxy};
    case Opcode::setmaxnreg: return {Feature::setmaxnreg};
    case Opcode::clusterlaunchcontrol_try_cancel:
      return {op.modifiers.multicast_all ? Feature::launch_control_all : Feature::launch_control};
    case Opcode::clusterlaunchcontrol_query_cancel: return {Feature::launch_control};
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul:
    case Opcode::fma:
    case Opcode::min:
    case Opcode::max: return float_features(op);
    case Opcode::cvt: return conversion_features(op);
    case Opcode::set:
      return is_packed_bytes(op.modifiers.type()) || op.modifiers.type() == isa::ScalarType::u16x2 ||
                     op.modifiers.type() == isa::ScalarType::s16x2
                 ? std::vector{Feature::packed_sets}
                 : std::vector<Feature>{};
    case Opcode::createpolicy:
      return has(op.modifiers, "fabric") ? std::vector{Feature::fabric_atomics} : std::vector<Feature>{};
    case Opcode::neg:
      return is_packed_bytes(op.modifiers.type()) ? std::vector{Feature::packed_bytes} : std::vector<Feature>{};
    case Opcode::st_async:
      if (op.modifiers.type() == isa::ScalarType::b128) return {Feature::async_store_128};
      if (op.modifiers.space() == isa::Space::global || op.modifiers.semantics == isa::Semantics::release)
        return {Feature::async_store_global};
      return {Feature::hopper};
    case Opcode::multimem_ld_reduce:
    case Opcode::multimem_st: {
      const isa::ScalarType type = op.modifiers.type();
      const bool fp8 = is_fp8(type) || type == isa::ScalarType::e4m3x2 || type == isa::ScalarType::e5m2x2 ||
                       type == isa::ScalarType::e4m3x4 || type == isa::ScalarType::e5m2x4;
      return {fp8 ? Feature::multimem_fp8 : Feature::hopper};
    }
    case Opcode::atom:
    case Opcode::red:
      if (op.modifiers.noftz && op.modifiers.type() == isa::ScalarType::f32) return {Feature::noftz_f32};
      return {};
    case Opcode::prefetch:
      return op.modifiers.valid_address ? std::vector{Feature::valid_address} : std::vector<Feature>{};
    case Opcode::clmad: return {Feature::carryless};
    case Opcode::spcompress:
    case Opcode::spdecompress: return {Feature::sparse_compression};
    case Opcode::applypriority_bulk:
    case Opcode::applypriority_tensor: return {Feature::bulk_priority};
    case Opcode::multimem_st_async:
    case Opcode::multimem_red_async: return {Feature::multimem_async};
    case Opcode::multimem_cp_async_bulk:
    case Opcode::multimem_cp_reduce_async_bulk: return multimem_copy_features(op.modifiers);
    case Opcode::cp_async_bulk_wait_group:
      if (op.modifiers.sync_restrict != isa::SyncRestrict::none) return {Feature::restricted_group_wait};
      return {Feature::hopper};
    case Opcode::st_bulk: return {Feature::bulk_store};
    case Opcode::ld:
    case Opcode::st: return access_features(op);
    case Opcode::redux_sync:
      return isa::is_floating(op.modifiers.type()) ? std::vector{Feature::redux_f32} : std::vector<Feature>{};
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
      if (op.modifiers.type() == isa::ScalarType::s8) return {Feature::matrix_s4};
      if (op.modifiers.shape != isa::DataShape::m8n8) return {Feature::matrix_b8};
      return op.opcode == Opcode::stmatrix ? std::vector{Feature::hopper} : std::vector<Feature>{};
    default: return is_of_hopper(op.opcode) ? std::vector{Feature::hopper} : std::vector<Feature>{};
  }
}

// What is of sm_90, or older, and newer than PTX 7.8, or than the oldest PTX of sm_80. It comes after the feature that
// says which target has the instruction.
void add_features_by_version(const ir::Operation& op, std::vector<Feature>& out) {
  const isa::Modifiers& m = op.modifiers;
  const auto add = [&](bool has_it, Feature f) {
    if (has_it) out.push_back(f);
  };
  const bool is_mbarrier = isa::unit(op.opcode) == isa::Unit::mbarrier;
  const Family in = family(op.opcode);
  const bool copies = in == Family::bulk_copy || in == Family::bulk_prefetch || in == Family::tensor_copy ||
                      in == Family::tensor_prefetch || in == Family::bulk_group;
  const bool orders_copies = m.proxy == isa::Proxy::async || op.opcode == Opcode::fence_mbarrier_init;
  const bool prefetches_map = op.opcode == Opcode::prefetch && has(m, "tensormap");
  add(copies || orders_copies || prefetches_map, Feature::bulk_copy);
  add(is_mbarrier && (m.expect_tx || op.opcode == Opcode::mbarrier_expect_tx ||
                      op.opcode == Opcode::mbarrier_complete_tx || m.space() == isa::Space::shared_cluster),
      Feature::transactions);
  add(is_mbarrier && (m.semantics == isa::Semantics::release || m.semantics == isa::Semantics::acquire),
      Feature::mbarrier_order);
  add(in == Family::cluster_barrier && m.semantics != isa::Semantics::none, Feature::cluster_order);
  add(in == Family::elect, Feature::elect);
  const bool has_bf16 = is_bf16(m.types[0]) || is_bf16(m.types[1]);
  add(is_arithmetic_of_hopper(op) && !has_bf16, Feature::integer_pairs);
  add(in == Family::async_store, Feature::async_store);
  add(in == Family::multimem_load || in == Family::multimem_store, Feature::multimem);
  add((op.opcode == Opcode::atom || op.opcode == Opcode::red) && isa::vector_width(m.vector) > 1,
      Feature::vector_reduction);
  const bool repeats_mmio = !m.repeated.empty() && m.repeated[0] == "mmio";  // after .relaxed, of the same group
  add(m.semantics == isa::Semantics::mmio || repeats_mmio, Feature::mmio);
  add(m.type() == isa::ScalarType::b128, Feature::type_128);
  add(op.opcode == Opcode::bmsk || op.opcode == Opcode::szext, Feature::bit_ranges);
  add(op.opcode == Opcode::movmatrix, Feature::movmatrix);
}

}  // namespace

std::vector<Feature> features(const ir::Operation& op) {
  std::vector<Feature> out = features_of_unit(op);
  if (is_arithmetic_of_hopper(op) || is_access_of_hopper(op) ||
      std::any_of(op.arguments.begin(), op.arguments.end(), names_cluster))
    out.push_back(Feature::hopper);
  add_features_by_version(op, out);
  add_features_before_hopper(op, out);
  return out;
}

std::vector<Feature> features(const ir::Code& code, const ir::Operation& op) {
  std::vector<Feature> out = features(op);
  const auto is_predicate = [&](const ir::Argument& a) {
    return a.kind == ir::Argument::Kind::reg && code.registers[a.id].type == isa::ScalarType::pred;
  };
  if (const auto copy = as<CpAsync>(op); copy && is_predicate(copy->source)) out.push_back(Feature::ignored_source);
  return out;
}

isa::PtxVersion lowest_version(const ir::Module& module) {
  const auto target = module.target();
  isa::PtxVersion lowest = target ? isa::lowest_version(*target) : isa::oldest_version;
  diag::Sink ignored;  // what judges the module reports it
  for (const ir::Item& item : module.items) {
    const auto* function = std::get_if<ir::Function>(&item);
    if (!function || !function->body) continue;
    const ir::Code code = ir::decode(module, *function, ignored);
    for (const ir::Operation& op : code.operations)
      for (const Feature f : features(code, op))
        lowest = std::max(lowest, target ? isa::lowest_version(f, *target) : isa::lowest_version(f));
  }
  return lowest;
}

}  // namespace kiln::ops
