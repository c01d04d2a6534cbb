#include "harness/dot/dot_problem.hpp"

namespace kiln::harness {

std::string_view spelling(DotInstruction i) {
  switch (i) {
    case DotInstruction::tcgen05_mma: return "tcgen05.mma";
    case DotInstruction::mma_sync: return "mma.sync";
    case DotInstruction::wgmma: return "wgmma";
  }
  return "";
}

std::optional<std::uint32_t> evaluate(const DotProblem& p) {
  switch (p.instruction) {
    case DotInstruction::tcgen05_mma: return num::dot(p.spec, p.a, p.b, p.c, {p.scale_a, p.scale_b, p.metadata});
    case DotInstruction::mma_sync:
    case DotInstruction::wgmma: break;  // one tcgen05.mma is one sum; theirs are several, by architecture
  }
  return std::nullopt;
}

}  // namespace kiln::harness
