#include <algorithm>

#include "ptx/rules/execution.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/cluster_use.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;

// How many CTAs .reqnctapercluster asks for, or else the user says.
std::optional<std::int64_t> required_ctas(const Facts& facts) {
  std::int64_t ctas = 1;
  if (const ir::Performance* p = facts.function.find("reqnctapercluster"); p && !p->values.empty()) {
    for (const std::int64_t extent : p->values) ctas *= extent;
    return ctas;
  }
  if (facts.given.cluster[0] == 0) return std::nullopt;
  for (const std::uint32_t extent : facts.given.cluster) ctas *= std::max(1u, extent);
  return ctas;
}

void check_declared(const Facts& facts, std::int64_t ctas) {
  const auto& operations = facts.code.operations;
  const auto pair = std::find_if(operations.begin(), operations.end(), is_of_pair);
  if (pair != operations.end()) judge(facts.sink, rules::cta_pair(ctas), {facts.code, *pair});
  for (const ir::Operation& op : operations) {
    if (!facts.is_formed(op)) continue;
    const ops::Operand cta = op.opcode == Opcode::mapa ? ops::roles<ops::Alu>(op).b : ops::Operand();
    const auto rank = cta ? facts.constant(cta, 32) : std::nullopt;
    if (rank)
      judge(facts.sink, rules::cluster_rank(*rank, ctas), {facts.code, op, cta->operand},
            "CTA " + std::to_string(*rank) + " of a cluster of " + std::to_string(ctas));
    const ops::Operand mask = multicast_mask(op);
    const auto bits = mask ? facts.known.constant(*mask, 16) : std::nullopt;
    if (bits)
      judge(facts.sink, rules::cluster_mask(std::uint32_t(*bits), ctas), {facts.code, op, mask->operand, false},
            "a mask that names CTA " + std::to_string(std::bit_width(*bits) - 1) + " of a cluster of " +
                std::to_string(ctas));
  }
}

}  // namespace

void check_clusters(const Facts& facts) {
  const ir::Function& f = facts.function;
  if (!f.entry) return;
  if (const auto ctas = required_ctas(facts)) return check_declared(facts, *ctas);
  const auto& operations = facts.code.operations;
  const auto needs_cluster = [](const ir::Operation& op) { return is_of_pair(op) || op.modifiers.multicast(); };
  const auto first = std::find_if(operations.begin(), operations.end(), needs_cluster);
  if (first == operations.end()) return;
  const bool declared = f.find("explicitcluster") || f.find("maxclusterrank");
  judge(facts.sink, rules::cluster_undeclared(declared), {facts.code, *first},
        is_of_pair(*first) ? "cta_group::2 in a kernel that says nothing of one"
                           : ".multicast::cluster in a kernel that says nothing of one");
}

}  // namespace kiln::verifier
