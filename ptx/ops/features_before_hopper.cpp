#include "ptx/ops/features_before_hopper.hpp"

#include <algorithm>

#include "ptx/ops/operations.hpp"

namespace kiln::ops {
namespace {

using isa::Feature;
using isa::Opcode;
using isa::ScalarType;

bool says(const isa::Modifiers& m, std::string_view modifier) {
  return std::find(m.others.begin(), m.others.end(), modifier) != m.others.end();
}

bool names_type(const isa::Modifiers& m, bool (*is)(ScalarType)) {
  return std::any_of(m.types.at.begin(), m.types.at.begin() + m.types.count, is);
}

// bf16 and tf32 came with sm_80, whatever is done with them.
bool is_of_ampere(ScalarType t) {
  return t == ScalarType::bf16 || t == ScalarType::bf16x2 || t == ScalarType::tf32;
}
bool is_half(ScalarType t) { return t == ScalarType::f16 || t == ScalarType::f16x2; }
bool is_fp8_pair(ScalarType t) {
  return t == ScalarType::e4m3x2 || t == ScalarType::e5m2x2;
}

// The shapes of sm_75, of f16, of bytes, of four bits and of single bits. All others are of sm_80.
void add_mma(const isa::Modifiers& m, std::vector<Feature>& out) {
  const ScalarType a = m.types[1];
  const bool is_m8n8k4 = says(m, "m8n8k4") && a == ScalarType::f16;
  const bool is_binary = says(m, "m8n8k128") && a == ScalarType::b1;
  const bool is_turing = (says(m, "m16n8k8") && a == ScalarType::f16) || says(m, "m8n8k16") || says(m, "m8n8k32");
  if (is_m8n8k4) out.push_back(Feature::mma_m8n8k4);
  else if (is_turing) out.push_back(Feature::mma_turing);
  else if (is_binary) out.push_back(Feature::mma_binary);
  else out.push_back(Feature::ampere);
  if (m.combine == isa::Combine::and_) out.push_back(Feature::mma_binary_and);
}

void add_conversion(const isa::Modifiers& m, std::vector<Feature>& out) {
  const ScalarType to = m.types[0], from = m.types[1];
  const bool pairs = to == ScalarType::f16x2 && from == ScalarType::f32;
  if (is_fp8_pair(to) || is_fp8_pair(from)) out.push_back(Feature::conversion_fp8);
  else if (pairs || m.relu || is_of_ampere(to) || is_of_ampere(from)) out.push_back(Feature::ampere);
  if (to == ScalarType::f32 && from == ScalarType::bf16) out.push_back(Feature::widened_bf16);
  if (m.satfinite && (is_half(to) || is_of_ampere(to)) && from == ScalarType::f32)
    out.push_back(Feature::saturated_floats);
}

void add_arithmetic(const ir::Operation& op, std::vector<Feature>& out) {
  const isa::Modifiers& m = op.modifiers;
  if (names_type(m, is_of_ampere) || m.relu || m.propagate_nan) out.push_back(Feature::ampere);
  switch (op.opcode) {
    case Opcode::min:
    case Opcode::max:
      if (is_half(m.type())) out.push_back(Feature::ampere);
      break;
    case Opcode::abs:
      if (is_half(m.type())) out.push_back(Feature::absolute_halves);
      break;
    case Opcode::set:
      if (is_half(m.types[1]) && isa::is_integer(m.type())) out.push_back(Feature::integers_from_halves);
      break;
    case Opcode::tanh: out.push_back(Feature::approximate_halves); break;
    case Opcode::ex2:
      if (is_half(m.type())) out.push_back(Feature::approximate_halves);
      break;
    default: break;
  }
  if (m.xorsign) out.push_back(Feature::xorsign);
  if (m.oob) out.push_back(Feature::out_of_bounds);
}

bool discards_state(const ir::Operation& op) {
  const bool arrives = op.opcode == Opcode::mbarrier_arrive || op.opcode == Opcode::mbarrier_arrive_drop;
  return arrives && op.arg(0).kind == ir::Argument::Kind::sink;
}

void add_of_opcode(const ir::Operation& op, std::vector<Feature>& out) {
  const isa::Modifiers& m = op.modifiers;
  switch (op.opcode) {
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul:
    case Opcode::fma:
    case Opcode::min:
    case Opcode::max:
    case Opcode::abs:
    case Opcode::neg:
    case Opcode::set:
    case Opcode::setp:
    case Opcode::tanh:
    case Opcode::ex2: return add_arithmetic(op, out);
    case Opcode::cvt: return add_conversion(m, out);
    case Opcode::cvt_pack: return out.push_back(Feature::packed_conversion);
    case Opcode::mma: return add_mma(m, out);
    case Opcode::wmma_load:
    case Opcode::wmma_store:
    case Opcode::wmma_mma:
      if (names_type(m, is_of_ampere) || m.type() == ScalarType::f64 || says(m, "m16n16k8")) out.push_back(Feature::ampere);
      if (m.combine == isa::Combine::and_) out.push_back(Feature::mma_binary_and);
      return;
    case Opcode::ldmatrix: return out.push_back(Feature::ldmatrix);
    case Opcode::redux_sync:
    case Opcode::cp_async_mbarrier_arrive: return out.push_back(Feature::ampere);
    case Opcode::lop3:
      if (m.combine != isa::Combine::none) out.push_back(Feature::joined_table);
      return;
    case Opcode::discard:
    case Opcode::applypriority: return out.push_back(Feature::cache_lines);
    case Opcode::createpolicy: return out.push_back(Feature::cache_policy);
    case Opcode::alloca:
    case Opcode::stacksave:
    case Opcode::stackrestore: return out.push_back(Feature::stack);
    case Opcode::cvta:
    case Opcode::isspacep:
      if (m.space() == isa::Space::param) out.push_back(Feature::parameter_address);
      return;
    case Opcode::bar_cta_sync:
    case Opcode::bar_cta_arrive:
    case Opcode::bar_cta_red:
    case Opcode::barrier_cta_sync:
    case Opcode::barrier_cta_arrive:
    case Opcode::barrier_cta_red: return out.push_back(Feature::barrier_cta);
    case Opcode::fence_proxy:
    case Opcode::membar_proxy:
      if (m.proxy == isa::Proxy::alias) out.push_back(Feature::alias_proxy);
      return;
    case Opcode::tex:
      if (op.arg(0).kind == ir::Argument::Kind::pair) out.push_back(Feature::resident_fetch);
      return;
    default: return;
  }
}

void add_special(const ir::Argument& a, std::vector<Feature>& out) {
  if (a.kind != ir::Argument::Kind::special) return;
  switch (ir::Special(a.id)) {
    case ir::Special::reserved_smem: return out.push_back(Feature::reserved_shared);
    case ir::Special::current_graph_exec: return out.push_back(Feature::graph_register);
    case ir::Special::aggr_smem_size: return out.push_back(Feature::total_shared);
    default: return;
  }
}

bool copies_asynchronously(Opcode op) {
  return family(op) == Family::cp_async || op == Opcode::cp_async_commit_group || op == Opcode::cp_async_wait_group ||
         op == Opcode::cp_async_wait_all;
}

}  // namespace

void add_features_before_hopper(const ir::Operation& op, std::vector<Feature>& out) {
  const isa::Modifiers& m = op.modifiers;
  add_of_opcode(op, out);
  const bool is_copy = copies_asynchronously(op.opcode);
  if (is_copy || isa::unit(op.opcode) == isa::Unit::mbarrier) out.push_back(Feature::ampere);
  // ptxas takes .shared::cta on cp.async of PTX 7.0 too.
  const auto names = [&](isa::Space space) { return m.spaces[0] == space || m.spaces[1] == space; };
  if (names(isa::Space::shared_cta) && !is_copy) out.push_back(Feature::shared_cta);
  if (names(isa::Space::param_entry) || names(isa::Space::param_func)) out.push_back(Feature::parameter_kind);
  const bool prefetches_priority = op.opcode == Opcode::prefetch && m.l2 != isa::L2Eviction::none;
  if (m.cache_hint || m.l2_prefetch == isa::L2Prefetch::b256 || prefetches_priority)
    out.push_back(Feature::cache_policy);
  if (m.l1 != isa::L1Eviction::none || m.l2_prefetch != isa::L2Prefetch::none) out.push_back(Feature::cache_priority);
  if (m.parity || discards_state(op)) out.push_back(Feature::mbarrier_parity);
  for (const ir::Argument& a : op.arguments) add_special(a, out);
}

}  // namespace kiln::ops
