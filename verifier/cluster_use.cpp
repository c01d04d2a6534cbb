#include "verifier/cluster_use.hpp"

#include <algorithm>
#include <bit>

#include "ptx/isa/launch_limits.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;

bool reads_cluster(const ir::Operation& op) {
  return std::any_of(op.arguments.begin(), op.arguments.end(), [](const ir::Argument& a) {
    const auto s = ir::Special(a.id);
    return a.kind == ir::Argument::Kind::special && s >= ir::Special::is_explicit_cluster &&
           s <= ir::Special::cluster_nctarank;
  });
}

// It may reach another CTA. The destination of a copy is in the cluster's window whichever CTA it lies in.
bool names_another_cta(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::mapa:
    case Opcode::st_async:
    case Opcode::red_async: return true;
    case Opcode::ld:
    case Opcode::st:
    case Opcode::atom:
    case Opcode::red:
    case Opcode::mbarrier_arrive:
    case Opcode::mbarrier_expect_tx: return op.modifiers.space() == isa::Space::shared_cluster;
    default: return op.modifiers.multicast() || op.modifiers.cta_group == isa::CtaGroup::two;
  }
}

}  // namespace

bool is_of_pair(const ir::Operation& op) {
  return op.modifiers.cta_group == isa::CtaGroup::two && isa::unit(op.opcode) == isa::Unit::tcgen05;
}

ops::Operand multicast_mask(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::tcgen05_commit: return ops::roles<ops::Commit>(op).ctas;
    case Opcode::cp_async_bulk: return ops::roles<ops::BulkCopy>(op).ctas;
    case Opcode::cp_async_bulk_tensor: return ops::roles<ops::TensorCopy>(op).ctas;
    default: return {};
  }
}

ClusterUse cluster_use(const Facts& facts) {
  std::uint64_t fewest = 0, meant = 0;
  for (const ir::Operation& op : facts.code.operations) {
    if (!facts.is_formed(op)) continue;
    const bool waits = op.opcode == Opcode::barrier_cluster_arrive || op.opcode == Opcode::barrier_cluster_wait;
    const auto need = [&](std::uint64_t ctas) { fewest = std::max(fewest, ctas); };
    if (waits || reads_cluster(op)) need(1);
    if (!names_another_cta(op)) continue;
    meant = 2;
    need(op.modifiers.cta_group == isa::CtaGroup::two ? 2 : 1);
    if (const ops::Operand mask = multicast_mask(op))
      if (const auto bits = facts.known.constant(*mask, 16)) need(std::uint64_t(std::bit_width(*bits)));
    if (const auto rank = op.opcode == Opcode::mapa ? facts.constant(ops::roles<ops::Alu>(op).b, 32) : std::nullopt)
      need(std::uint64_t(*rank) + 1);
  }
  const auto whole = [](std::uint64_t ctas) {
    return ctas == 0 ? 0 : std::uint32_t(std::bit_ceil(std::min<std::uint64_t>(ctas, isa::max_cluster)));
  };
  return {whole(fewest), whole(std::max(fewest, meant))};
}

}  // namespace kiln::verifier
