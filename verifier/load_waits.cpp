// Registers of tcgen05.ld between the load and tcgen05.wait::ld: a forward analysis over blocks with one bit a
// register.
#include <algorithm>
#include <unordered_map>

#include "ptx/flow/forward.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "verifier/finding.hpp"
#include "verifier/tensor_memory.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;
using rules::LdEvent;
using rules::LdState;

class LoadWaits {
 public:
  explicit LoadWaits(const Facts& facts) : facts_(facts), code_(facts.code) {
    for (std::uint32_t i = 0; i < code_.operations.size(); ++i)
      if (isa::is_tensor_load(code_.operations[i].opcode))
        for (ir::RegisterId r : facts.definitions.written(i)) bit_.emplace(r, bit_.size());
    pending_.assign(bit_.size(), 0);
    reported_.assign(code_.operations.size(), false);
  }

  void check() {
    if (bit_.empty()) return;
    in_.assign(facts_.cfg.blocks.size(), {});
    in_[0] = State(bit_.size());
    flow::propagate(
        facts_.cfg, in_, [&](flow::BlockId b, const State& s) { return walk(b, s, false); }, join_into);
    for (flow::BlockId b : facts_.cfg.reverse_post_order) walk(b, in_[b], true);
  }

 private:
  using State = std::vector<bool>;  // by bit: pending; empty: a block that nothing has reached yet

  static bool join_into(State& into, const State& from) {
    if (into.empty()) return into = from, true;
    bool changed = false;
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] && !into[i]) into[i] = changed = true;
    return changed;
  }

  static LdState state_of(bool pending) { return pending ? LdState::pending : LdState::ready; }

  State walk(flow::BlockId b, State state, bool report) {
    const flow::BasicBlock& block = facts_.cfg.blocks[b];
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const ir::Operation& op = code_.operations[i];
      if (op.opcode == Opcode::tcgen05_wait_ld) {
        for (std::size_t k = 0; k < state.size(); ++k)
          state[k] = rules::step(state_of(state[k]), LdEvent::wait).next == LdState::pending;
        continue;
      }
      if (report) read(i, state);
      for (ir::RegisterId r : facts_.definitions.written(i)) {
        const auto found = bit_.find(r);
        if (found == bit_.end()) continue;
        state[found->second] = isa::is_tensor_load(op.opcode);
        if (isa::is_tensor_load(op.opcode)) pending_[found->second] = i;
      }
    }
    return state;
  }

  void read(std::uint32_t operation, const State& state) {
    const ir::Operation& op = code_.operations[operation];
    for (ir::RegisterId r : facts_.definitions.read(operation)) {
      const auto found = bit_.find(r);
      if (found == bit_.end()) continue;
      const rules::Verdict v = rules::step(state_of(state[found->second]), LdEvent::read).verdict;
      const std::uint32_t load = pending_[found->second];
      if (!v.broken() || reported_[load]) continue;
      reported_[load] = true;
      diag::Diagnostic& d = broken(facts_.sink, v, {code_, op, operand_of(op, r)}, code_.registers[r].name);
      d.notes.insert(d.notes.begin(), {"loaded here", code_.where(code_.operations[load])});
    }
  }

  bool names(const ir::Argument& a, ir::RegisterId r) const {
    if (a.kind == ir::Argument::Kind::reg) return a.id == r;
    const auto parts = code_.components(a);
    return std::any_of(parts.begin(), parts.end(), [&](const ir::Argument& c) { return names(c, r); });
  }

  const ir::Operand* operand_of(const ir::Operation& op, ir::RegisterId r) const {
    for (const ir::Argument& a : op.arguments) {
      for (const ir::Argument& c : code_.components(a))
        if (names(c, r)) return c.operand;
      if (names(a, r)) return a.operand;
    }
    return nullptr;
  }

  const Facts& facts_;
  const ir::Code& code_;
  std::unordered_map<ir::RegisterId, std::size_t> bit_;
  std::vector<std::uint32_t> pending_;  // by bit: the load that was seen last
  std::vector<bool> reported_;          // by operation
  std::vector<State> in_;
};

}  // namespace

void check_load_waits(const Facts& facts) { LoadWaits(facts).check(); }

}  // namespace kiln::verifier
