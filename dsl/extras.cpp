#include "dsl/extras.hpp"

#include <algorithm>

#include "dsl/operands.hpp"
#include "ptx/isa/cache_policy.hpp"

namespace kiln::dsl {

Multicast multicast_cluster(OperandOf<U32> ctaMask) { return {{".multicast::cluster", sixteen_bits(ctaMask)}}; }
WideMulticast multicast_cluster_32b(OperandOf<U32> ctaMask) {
  return {{{".multicast::cluster::32b", operand_of(ctaMask)}}};
}
CpMask cp_mask(OperandOf<U32> byteMask) { return {{".cp_mask", sixteen_bits(byteMask)}}; }

CacheHint L2_cache_hint(OperandOf<U64> policy) {
  const Operand o = policy.value ? operand_of(policy) : Operand::bits(std::uint64_t(policy.constant));
  return {{".L2::cache_hint", o}};
}

CacheHint L2_cache_hint(isa::L2Eviction p) { return {{".L2::cache_hint", Operand::bits(isa::pack({.primary = p}))}}; }

SuspendTimeHint suspend_time_hint(OperandOf<U32> nanoseconds) { return {{"", operand_of(nanoseconds)}}; }

Extra ordered(isa::Semantics s, isa::Scope scope) { return {dotted({"", spelling(s), spelling(scope)}), std::nullopt}; }
Extra extra(Aligned) { return {".aligned", std::nullopt}; }
Extra extra(MulticastAll) { return {".multicast::cluster::all", std::nullopt}; }
Extra extra(isa::CtaGroup group) { return {dotted({"", spelling(group)}), std::nullopt}; }
Extra extra(isa::PhaseType type) { return {dotted({"", spelling(type)}), std::nullopt}; }
Extra extra(isa::Report report) { return {dotted({"", spelling(report)}), std::nullopt}; }

void ExtraList::add(int place, Extra extra) {
  const auto next = std::find_if(given_.begin(), given_.end(), [&](const auto& g) { return g.first > place; });
  given_.insert(next, {place, std::move(extra)});
}

bool ExtraList::has(int place) const {
  return std::any_of(given_.begin(), given_.end(), [&](const auto& g) { return g.first == place; });
}

std::string ExtraList::modifiers() const {
  std::string out;
  for (const auto& [place, extra] : given_) out += extra.modifier;
  return out;
}

void ExtraList::append_to(std::vector<Operand>& operands) const {
  for (const auto& [place, extra] : given_)
    if (extra.operand) operands.push_back(*extra.operand);
}

}  // namespace kiln::dsl
