#include "ptx/ops/meaning.hpp"

#include <algorithm>

#include "ptx/isa/ptx_versions.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::ops {
namespace {

using isa::Opcode;

std::string named(std::string_view modifier) { return "'." + std::string(modifier) + "'"; }

// A target that Kiln has no facts of; "debug" and "texmode_unified" are none.
bool is_unknown_target(const std::string& text) {
  if (!text.starts_with("sm_")) return false;
  const auto target = isa::parse_target(text);
  return !target || !isa::is_known(*target);
}

// What ".target" may say beside an architecture. PTX ISA ".target".
bool is_unknown_option(const std::string& text) {
  constexpr std::string_view options[] = {"debug", "texmode_unified", "texmode_independent", "map_f64_to_f32"};
  return !text.starts_with("sm_") && std::find(std::begin(options), std::end(options), text) == std::end(options);
}

std::string of_mma(const isa::Modifiers& m) {
  if (m.kind == isa::MmaKind::ti16) return named(spelling(m.kind));
  return m.decompress_b ? "'.decompress::lut::b'" : "";
}

// Bulk copies and tensor copies.
std::string of_copy(const isa::Modifiers& m) {
  // Sizes of tensors in eight bits: what they count is not published.
  if (m.map_override != isa::MapOverride::none) return named(spelling(m.map_override));
  if (m.report != isa::Report::none && m.report != isa::Report::disabled) return named(spelling(m.report));
  return m.tensor_mode == isa::TensorMode::im2col_no_offs_w ? named(spelling(m.tensor_mode)) : std::string();
}

std::string of_fence(const isa::Modifiers& m) {
  using isa::Proxy, isa::SyncRestrict;
  if (m.sync_restrict == SyncRestrict::shared_cluster_read || m.sync_restrict == SyncRestrict::read)
    return named(spelling(m.sync_restrict));
  if (m.proxy == Proxy::generic_fabric || m.proxy == Proxy::fabric_generic || m.proxy == Proxy::fabric_fabric)
    return named(spelling(m.proxy));
  return m.proxy == Proxy::alias && m.semantics != isa::Semantics::none ? "an order on '.alias'" : std::string();
}

// Instructions that synchronise, or move data, in ways that are not followed.
bool is_without_model(Family f) {
  return f == Family::fabric || f == Family::tmem_load_compressed || f == Family::sparse_compression;
}

}  // namespace

std::vector<Newer> newer_than_known(const ir::Module& module) {
  std::vector<Newer> out;
  if (const isa::PtxVersion v = module.version; v > isa::newest_version)
    out.push_back({module.version_at, ".version " + isa::spelling(v)});
  for (const std::string& text : module.targets) {
    const bool is_architecture = is_unknown_target(text);
    if (is_architecture || (module.version > isa::newest_version && is_unknown_option(text)))
      out.push_back({module.target_at, ".target " + text, is_architecture});
  }
  for (const ir::Unknown& u : module.unknown) out.push_back({u.at, u.what});
  return out;
}

std::string without_model(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  switch (op.opcode) {
    case Opcode::tcgen05_mma:
    case Opcode::tcgen05_mma_sp:
    case Opcode::tcgen05_mma_ws:
    case Opcode::tcgen05_mma_ws_sp: return of_mma(m);
    case Opcode::tcgen05_commit:
      return m.sync_restrict == isa::SyncRestrict::none ? std::string() : named(spelling(m.sync_restrict));
    case Opcode::cp_async_bulk:
    case Opcode::cp_reduce_async_bulk:
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk_tensor: return of_copy(m);
    case Opcode::cp_async_bulk_wait_group:
      return m.sync_restrict == isa::SyncRestrict::none ? std::string() : named(spelling(m.sync_restrict));
    case Opcode::mbarrier_test_wait:
    case Opcode::mbarrier_try_wait:
      return op.arg(0).kind == ir::Argument::Kind::pair || roles<Mbarrier>(op).report ? "the report" : "";
    case Opcode::fence:
    case Opcode::fence_proxy: return of_fence(m);
    default: return is_without_model(family(op.opcode)) ? "any form" : "";
  }
}

}  // namespace kiln::ops
