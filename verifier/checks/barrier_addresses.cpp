#include <algorithm>

#include "ptx/ops/operations.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;
using Kind = ir::Argument::Kind;

constexpr int deepest_pointer = 32;  // operations between a pointer's source and its use

// The space that a pointer points into, where the code says so: a variable, cvta, or a parameter with .ptr.
std::optional<isa::Space> pointed_space(const Facts& facts, const ir::Argument& a, int depth = 0) {
  if (a.kind == Kind::symbol) return facts.code.symbols[a.id].variable->space;
  if (a.kind == Kind::address && a.count == 1) return pointed_space(facts, facts.code.components(a)[0], depth);
  if (a.kind != Kind::reg || depth > deepest_pointer) return std::nullopt;
  const ir::Operation* writer = facts.definitions.only_writer(a.id);
  if (!writer) return std::nullopt;
  const ops::Alu alu = ops::roles<ops::Alu>(*writer);
  switch (writer->opcode) {
    case Opcode::mov:
    case Opcode::cvt: return pointed_space(facts, alu.a, depth + 1);
    case Opcode::cvta: return writer->modifiers.space();
    case Opcode::add:
      if (const auto left = pointed_space(facts, alu.a, depth + 1)) return left;
      return pointed_space(facts, alu.b, depth + 1);
    case Opcode::ld: {
      const ir::Argument& from = ops::roles<ops::MemoryAccess>(*writer).address;
      if (from.kind != Kind::address || from.count != 1 || facts.code.components(from)[0].kind != Kind::symbol)
        return std::nullopt;
      const ir::Symbol& s = facts.code.symbols[facts.code.components(from)[0].id];
      const bool says = s.is_parameter && s.variable->is_pointer && s.variable->pointer_space != isa::Space::generic;
      return says ? std::optional(s.variable->pointer_space) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

}  // namespace

void check_barrier_addresses(const Facts& facts) {
  std::vector<flow::Origin> misplaced;  // once for each object
  for (const ir::Operation& op : facts.code.operations) {
    const ir::Argument* at = facts.is_formed(op) ? barrier_operand(op) : nullptr;
    if (!at || at->count != 1) continue;
    const auto space = pointed_space(facts, *at);
    if (space && judge(facts.sink, rules::mbarrier_space(*space), {facts.code, op, at->operand},
                       "an address in ." + std::string(isa::spelling(*space))))
      continue;
    const flow::Bits bits = facts.known.of(facts.code.components(*at)[0], 64);
    if (bits.is_nothing()) continue;
    const auto low = std::uint32_t(bits.one % isa::mbarrier_bytes);
    const flow::Origin origin = facts.origins.of(*at);
    if (std::find(misplaced.begin(), misplaced.end(), origin) != misplaced.end()) continue;
    if (judge(facts.sink, rules::mbarrier_alignment(low), {facts.code, op, at->operand, false},
              "an address " + std::to_string(low) + " bytes after such a multiple"))
      misplaced.push_back(origin);
  }
}

}  // namespace kiln::verifier
