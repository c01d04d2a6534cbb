// Registers of tcgen05.ld between the load and tcgen05.wait::ld: a forward analysis over blocks with one bit a
// register.
#include <algorithm>
#include <unordered_map>

#include "ptx/flow/forward.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;
using rules::LdEvent;
using rules::LdState;

constexpr std::string_view wait_statement = "tcgen05.wait::ld.sync.aligned;";

class LoadWaits {
 public:
  explicit LoadWaits(const Facts& facts) : facts_(facts), code_(facts.code) {
    for (std::uint32_t i = 0; i < code_.operations.size(); ++i)
      if (isa::is_tensor_load(code_.operations[i].opcode))
        for (ir::RegisterId r : facts.definitions.written(i)) bit_.emplace(r, bit_.size());
    pending_.assign(bit_.size(), 0);
    for (auto* marks : {&reported_, &wait_before_, &wait_behind_}) marks->assign(code_.operations.size(), false);
  }

  void check() {
    if (bit_.empty()) return;
    early_.clear();
    solve();
    for (const Early& e : early_)
      if (!reported_[e.load]) findings_.push_back({e, {}}), reported_[e.load] = true;
    if (findings_.empty()) return;
    place_waits();
    for (const Finding& f : findings_) report(f);
  }

 private:
  using State = std::vector<bool>;  // by bit: pending; empty: a block that nothing has reached yet

  // A read of a register that is still being loaded.
  struct Early {
    std::uint32_t read = 0, load = 0;
    ir::RegisterId reg = 0;
  };
  struct Finding {
    Early early;
    std::vector<diag::FixIt> fixits;
  };

  static bool join_into(State& into, const State& from) {
    if (into.empty()) return into = from, true;
    bool changed = false;
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] && !into[i]) into[i] = changed = true;
    return changed;
  }

  static LdState state_of(bool pending) { return pending ? LdState::pending : LdState::ready; }

  // Early reads with the waits that are there and those that are to be put in.
  void solve() {
    in_.assign(facts_.cfg.blocks.size(), {});
    in_[0] = State(bit_.size());
    flow::propagate(
        facts_.cfg, in_, [&](flow::BlockId b, const State& s) { return walk(b, s, false); }, join_into);
    for (flow::BlockId b : facts_.cfg.reverse_post_order) walk(b, in_[b], true);
  }

  static void wait(State& state) {
    for (std::size_t k = 0; k < state.size(); ++k)
      state[k] = rules::step(state_of(state[k]), LdEvent::wait).next == LdState::pending;
  }

  State walk(flow::BlockId b, State state, bool report) {
    const flow::BasicBlock& block = facts_.cfg.blocks[b];
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const ir::Operation& op = code_.operations[i];
      if (wait_before_[i] || op.opcode == Opcode::tcgen05_wait_ld) wait(state);
      if (op.opcode == Opcode::tcgen05_wait_ld) continue;
      if (report) read(i, state);
      for (ir::RegisterId r : facts_.definitions.written(i)) {
        const auto found = bit_.find(r);
        if (found == bit_.end()) continue;
        state[found->second] = isa::is_tensor_load(op.opcode);
        if (isa::is_tensor_load(op.opcode)) pending_[found->second] = i;
      }
      if (wait_behind_[i]) wait(state);
    }
    return state;
  }

  void read(std::uint32_t operation, const State& state) {
    for (ir::RegisterId r : facts_.definitions.read(operation)) {
      const auto found = bit_.find(r);
      if (found == bit_.end()) continue;
      if (rules::step(state_of(state[found->second]), LdEvent::read).verdict.broken())
        early_.push_back({operation, pending_[found->second], r});
    }
  }

  // One wait at a time, each before the first early read that is left. If only a part of a warp may reach that read,
  // the wait goes after the load, which the whole warp executes.
  void place_waits() {
    for (solve_again(); !early_.empty(); solve_again()) {
      const Early first = early_.front();
      const bool here = !wait_before_[first.read] && is_executed_by_whole_warps(first.read);
      if (!here && (wait_behind_[first.load] || !is_loaded_by_one(first.reg))) break;
      (here ? wait_before_[first.read] : wait_behind_[first.load]) = true;
      const auto repair = here ? insertion_before(code_, code_.operations[first.read], wait_statement)
                               : insertion_behind(code_, code_.operations[first.load], wait_statement);
      if (repair) finding_of(first).fixits.push_back(*repair);
    }
  }

  void solve_again() {
    early_.clear();
    solve();
  }

  Finding& finding_of(const Early& e) {
    const auto found = std::find_if(findings_.begin(), findings_.end(),
                                    [&](const Finding& f) { return f.early.read == e.read || f.early.load == e.load; });
    return found == findings_.end() ? findings_.front() : *found;
  }

  bool is_loaded_by_one(ir::RegisterId r) const {
    const auto writers = facts_.definitions.writers(r);
    return std::count_if(writers.begin(), writers.end(),
                         [&](std::uint32_t i) { return isa::is_tensor_load(code_.operations[i].opcode); }) == 1;
  }

  // Because the conditions on the way say so, or because an instruction beside it needs it too.
  bool is_executed_by_whole_warps(std::uint32_t operation) const {
    const flow::BasicBlock& block = facts_.cfg.blocks[facts_.cfg.block_of(operation)];
    for (std::uint32_t i = block.first; i < block.last; ++i)
      if (isa::is_tensor_load(code_.operations[i].opcode) && !code_.operations[i].guard) return true;
    if (code_.operations[operation].guard || !facts_.uniformity.is_exact(operation)) return false;
    const flow::ThreadSet here = facts_.uniformity.threads_at(operation);
    for (int t = 0; t + 1 < facts_.uniformity.threads(); ++t)
      if ((t + 1) % isa::threads_per_warp != 0 && here[std::size_t(t)] != here[std::size_t(t) + 1]) return false;
    return true;
  }

  void report(const Finding& f) const {
    const ir::Operation& op = code_.operations[f.early.read];
    const rules::Verdict v = rules::step(LdState::pending, LdEvent::read).verdict;
    diag::Diagnostic& d =
        broken(facts_.sink, v, {code_, op, operand_of(op, f.early.reg)}, code_.registers[f.early.reg].name);
    d.fixits = f.fixits;
    d.notes.insert(d.notes.begin(), {"loaded here", code_.where(code_.operations[f.early.load])});
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
  std::vector<std::uint32_t> pending_;           // by bit: the load that was seen last
  std::vector<bool> reported_;                   // by operation: loads
  std::vector<bool> wait_before_, wait_behind_;  // by operation: repairs
  std::vector<Early> early_;
  std::vector<Finding> findings_;
  std::vector<State> in_;
};

}  // namespace

void check_load_waits(const Facts& facts) { LoadWaits(facts).check(); }

}  // namespace kiln::verifier
