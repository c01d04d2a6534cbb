// Which threads execute an instruction: whole warps together, or one thread.
#include <algorithm>
#include <bit>

#include "ptx/ops/operations.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/tcgen05_order.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using flow::Who;
using isa::Opcode;

// An instruction that all threads of a warp must execute together.
bool is_aligned(const ir::Operation& op) {
  switch (op.opcode) {
    case Opcode::tcgen05_alloc:
    case Opcode::tcgen05_dealloc:
    case Opcode::tcgen05_relinquish_alloc_permit:
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_ld_red:
    case Opcode::tcgen05_st:
    case Opcode::tcgen05_wait_ld:
    case Opcode::tcgen05_wait_st:
    case Opcode::bar_sync:
    case Opcode::bar_arrive:
    case Opcode::bar_red:
    case Opcode::bar_cta_sync:
    case Opcode::bar_cta_arrive:
    case Opcode::bar_cta_red: return true;
    default: return op.modifiers.aligned;
  }
}

std::uint32_t lanes_of(const flow::ThreadSet& threads, int warp) {
  constexpr int lanes = isa::threads_per_warp;
  return std::uint32_t((threads >> std::size_t(warp * lanes) & flow::ThreadSet(0xFFFFFFFFu)).to_ulong());
}

class Issuers {
 public:
  explicit Issuers(const Facts& facts) : facts_(facts), who_(facts.uniformity) {
    for (int t = 0; t < who_.threads(); ++t) all_.set(std::size_t(t));
  }

  void check() {
    std::vector<std::uint32_t> conditional;
    for (std::uint32_t i = 0; i < facts_.code.operations.size(); ++i) {
      const ir::Operation& op = facts_.code.operations[i];
      if (!facts_.is_formed(op)) continue;
      // What whole warps execute by all that is known may still hang on a condition that is not.
      if (is_aligned(op) && !check_aligned(i) && !who_.is_exact(i)) conditional.push_back(i);
      const auto mma = issued_by_many_ ? std::nullopt : ops::as<ops::Mma>(op);
      if (mma) issued_by_many_ = check_mma(i, *mma);
    }
    if (!conditional.empty()) check_divergence(facts_, conditional);
  }

 private:
  bool is_single(std::uint32_t i) const { return who_.who(i) == Who::one_thread || who_.who(i) == Who::one_per_warp; }

  // The lanes of a warp of which only a part gets here. Where the threads are not known exactly, every warp must come
  // in part.
  std::uint32_t stray_lanes(std::uint32_t operation) const {
    const flow::ThreadSet here = who_.threads_at(operation);
    std::uint32_t stray = 0;
    for (int w = 0; w < who_.warps(); ++w) {
      const std::uint32_t lanes = lanes_of(here, w);
      if (lanes == 0) continue;
      if (lanes != lanes_of(all_, w))
        stray = stray ? stray : lanes;
      else if (!who_.is_exact(operation))
        return 0;
    }
    return stray;
  }

  bool check_aligned(std::uint32_t operation) const {
    const ir::Operation& op = facts_.code.operations[operation];
    std::uint32_t lanes = stray_lanes(operation);
    if (!lanes && is_single(operation) && who_.threads() > 1) lanes = 1;
    if (!lanes) return false;
    return judge(facts_.sink, rules::warp_aligned(lanes), {facts_.code, op},
                 is_single(operation) ? "one thread" : std::to_string(std::popcount(lanes)) + " threads of a warp");
  }

  // Without accumulation the MMAs of all threads write the same. Once for each function is enough.
  bool check_mma(std::uint32_t operation, const ops::Mma& mma) const {
    const ir::Operation& op = facts_.code.operations[operation];
    if (is_single(operation) || !who_.is_exact(operation) ||
        (mma.enable_input_d && never_accumulates(*mma.enable_input_d)))
      return false;
    int most = 0;
    const flow::ThreadSet here = who_.threads_at(operation);
    for (int w = 0; w < who_.warps(); ++w) most = std::max(most, std::popcount(lanes_of(here, w)));
    return judge(facts_.sink, rules::mma_issuer(most), {facts_.code, op},
                 std::to_string(most) + " threads of a warp that issue the same MMA");
  }

  bool never_accumulates(const ir::Argument& a) const {
    if (a.kind == ir::Argument::Kind::reg && facts_.definitions.writers(a.id).empty()) return true;
    return facts_.known.constant(a, 1) == 0;
  }

  const Facts& facts_;
  const flow::Uniformity& who_;
  flow::ThreadSet all_{};
  bool issued_by_many_ = false;
};

}  // namespace

void check_issuers(const Facts& facts) { Issuers(facts).check(); }

}  // namespace kiln::verifier
