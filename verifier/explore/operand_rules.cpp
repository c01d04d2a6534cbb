// Rules about operands that need their numbers, which here are known: columns inside allocations, lanes of the warp's
// quarter, one issuer, matrix descriptors, bytes inside shared memory.
#include <algorithm>
#include <bit>

#include "ptx/rules/execution.hpp"
#include "ptx/rules/memory.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "ptx/rules/tcgen05_order.hpp"
#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {

// Columns of the own CTA; when a peer allocates its own is up to the peer.
void Machine::check_columns(const Turn& t, std::uint32_t cta, std::uint32_t first, std::uint32_t end) {
  const auto& all = t.s.ctas[cta].allocations;
  if (cta != t.cta_index || all.empty()) return;
  std::uint32_t at = first;
  for (const auto& [column, a] : all)
    if (column <= at && at < column + a.columns) at = column + a.columns;
  if (at >= end) return;
  const auto behind = all.upper_bound(first);
  const auto& [base, allocation] = behind == all.begin() ? *behind : *std::prev(behind);
  const rules::Verdict v =
      rules::tmem_range(std::int64_t(first) - std::int64_t(base), end - first, std::int64_t(allocation.columns));
  breach({v, &t.op, allocation.operation, {}, {}, "the allocation is here", {}});
}

void Machine::check_lanes(const Turn& t, std::uint64_t address) {
  const auto lane = int(address >> 16 & 0xFFFF);
  breach(rules::ld_lane(t.op.modifiers.shape, lane), t.op);
  if (rules::ld_lane(t.op.modifiers.shape, lane).ok())
    breach(rules::ld_quarter(t.op.modifiers.shape, lane, int(t.warp_index)), t.op);
}

// All lanes of a whole-warp instruction must have the same number.
void Machine::check_uniform(const Turn& t, const ir::Argument& a, int width) {
  const auto first = terms_.value(read(t, a, t.leader(), width));
  for (Mask m = t.lanes; m && first; m &= m - 1) {
    const auto other = terms_.value(read(t, a, std::countr_zero(m), width));
    if (other) breach(rules::warp_uniform(*other, *first), t.op);
  }
}

void Machine::check_issuer(const Turn& t) { breach(rules::mma_issuer(std::popcount(t.lanes)), t.op); }

void Machine::check_descriptor(const Turn& t, const ops::Mma& mma, bool is_a) {
  const auto word = terms_.value(read(t, is_a ? mma.a : mma.b, t.leader(), 64));
  const auto instruction = program_.facts.known.of(mma.idesc, 32).value();
  if (!word) return;
  const isa::SharedDescriptorFields d = isa::unpack_shared(*word);
  breach(rules::sdesc_fixed(d), t.op);
  breach(rules::sdesc_swizzle(d.swizzle_code), t.op);
  const auto swizzle = isa::descriptor_swizzle(d.swizzle_code);
  if (!swizzle || !instruction) return;
  const auto shape = isa::unpack(std::uint32_t(*instruction), mma.form.kind);
  breach(rules::sdesc_atom32(mma.form.kind, is_a ? shape.a_major : shape.b_major, *swizzle), t.op);
}

// Of memory whose size is known.
void Machine::check_bounds(const Turn& t, const Intervals& memory, std::uint32_t first, std::uint32_t end) {
  if (!program_.shared_bytes()) return;
  const auto is_it = [&](const Cta& c) { return &c.shared == &memory; };
  if (std::none_of(t.s.ctas.begin(), t.s.ctas.end(), is_it)) return;
  const rules::Verdict v = rules::memory_bounds(first, end - first, 0, *program_.shared_bytes());
  breach(v, t.op, nullptr,
         std::to_string(end - first) + " bytes at offset " + std::to_string(first) + " of " +
             std::to_string(*program_.shared_bytes()) + " bytes of shared memory");
}

}  // namespace kiln::verifier::explore
