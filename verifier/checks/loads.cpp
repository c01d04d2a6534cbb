// What tcgen05.ld must come after, and what must come after it: forward analyses over blocks.
#include <algorithm>
#include <unordered_map>

#include "ptx/flow/forward.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "ptx/rules/tcgen05_order.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/checks/checks.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using flow::BlockId;
using isa::Opcode;
using rules::FenceEvent;
using rules::FenceState;
using rules::LdEvent;
using rules::LdState;

// tcgen05.fence::after_thread_sync between a wait for a commit and tcgen05.ld. A load is reported when it comes after a
// wait without the fence on every path.

// Where a thread stands; `wait` is the operation that it waited at last.
struct PathState {
  bool is_reached = false;
  FenceState fence = FenceState::ordered;
  std::uint32_t wait = 0;

  bool operator==(const PathState&) const = default;
};

PathState join(const PathState& a, const PathState& b) {
  if (!a.is_reached) return b;
  if (!b.is_reached) return a;
  if (a.fence == FenceState::ordered || b.fence == FenceState::ordered) return {true};
  return {true, FenceState::waited, std::min(a.wait, b.wait)};
}

bool join_into(PathState& into, const PathState& from) {
  const PathState joined = join(into, from);
  if (joined == into) return false;
  into = joined;
  return true;
}

constexpr std::string_view thread_fence_statement = "tcgen05.fence::after_thread_sync;";

class LoadFences {
 public:
  explicit LoadFences(const Facts& facts) : facts_(facts) {
    fence_before_.assign(facts.code.operations.size(), false);
    for (const ir::Operation& op : facts.code.operations)
      if (op.opcode == Opcode::tcgen05_commit && facts.is_formed(op))
        if (const auto object = barrier_object(facts, *barrier_operand(op))) committed_.push_back(*object);
  }

  void check() {
    if (committed_.empty()) return;
    solve();
    // Once for each wait: the loads after it need one fence.
    for (const Early& e : early_)
      if (std::none_of(findings_.begin(), findings_.end(), [&](const Finding& f) { return f.early.wait == e.wait; }))
        findings_.push_back({e, {}});
    place_fences();
    for (const Finding& f : findings_) report(f);
  }

 private:
  // A load after a wait without the fence.
  struct Early {
    std::uint32_t load = 0, wait = 0;
  };
  struct Finding {
    Early early;
    std::vector<diag::FixIt> fixits;
  };

  // Early loads with the fences that are there and those that are to be put in.
  void solve() {
    early_.clear();
    in_.assign(facts_.cfg.blocks.size(), {});
    in_[0].is_reached = true;
    flow::propagate(
        facts_.cfg, in_, [&](BlockId b, const PathState& s) { return walk(b, s, false); }, join_into);
    for (BlockId b : facts_.cfg.reverse_post_order) walk(b, in_[b], true);
  }

  // A wait for an mbarrier that some tcgen05.commit arrives on.
  bool is_wait_for_mma(const ir::Operation& op) const {
    if (!waits(op) || !facts_.is_formed(op)) return false;
    const auto object = barrier_object(facts_, *barrier_operand(op));
    return object &&
           std::any_of(committed_.begin(), committed_.end(), [&](const BarrierObject& o) { return o.may_be(*object); });
  }

  PathState walk(BlockId b, PathState s, bool report) {
    const flow::BasicBlock& block = facts_.cfg.blocks[b];
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const ir::Operation& op = facts_.code.operations[i];
      if (fence_before_[i]) s.fence = rules::step(s.fence, FenceEvent::fence).next;
      if (op.opcode == Opcode::tcgen05_fence_after)
        s.fence = rules::step(s.fence, FenceEvent::fence).next;
      else if (is_wait_for_mma(op))
        s = {true, rules::step(s.fence, FenceEvent::wait).next, i};
      else if (report && isa::is_tensor_load(op.opcode) && facts_.is_formed(op))
        judge_load(i, s);
    }
    return s;
  }

  void judge_load(std::uint32_t load, const PathState& s) {
    if (rules::step(s.fence, FenceEvent::read).verdict.broken()) early_.push_back({load, s.wait});
  }

  // One fence at a time, where the first load that those before it leave needs it.
  void place_fences() {
    for (; !early_.empty(); solve()) {
      const Early first = early_.front();
      const std::uint32_t behind_wait = first_behind(first.wait, first.load);
      const std::uint32_t at = fence_before_[behind_wait] ? first.load : behind_wait;
      if (fence_before_[at]) return;
      fence_before_[at] = true;
      const auto repair = insertion_before(facts_.code, facts_.code.operations[at], thread_fence_statement);
      const auto found = std::find_if(findings_.begin(), findings_.end(),
                                      [&](const Finding& f) { return f.early.wait == first.wait; });
      if (repair) (found == findings_.end() ? findings_.front() : *found).fixits.push_back(*repair);
    }
  }

  // What a thread that has left the loop of its wait executes first, if that lies on every way to the load; else the
  // load.
  std::uint32_t first_behind(std::uint32_t wait, std::uint32_t load) const {
    const flow::Cfg& cfg = facts_.cfg;
    const BlockId home = cfg.block_of(wait);
    for (std::uint32_t e : cfg.blocks[home].out) {
      const BlockId next = cfg.edges[e].to;
      const flow::BasicBlock& block = cfg.blocks[next];
      if (next != home && block.in.size() == 1 && block.first < block.last && cfg.dominates(next, cfg.block_of(load)))
        return block.first;
    }
    return load;
  }

  void report(const Finding& f) const {
    const rules::Verdict v = rules::step(FenceState::waited, FenceEvent::read).verdict;
    diag::Diagnostic& d = broken(facts_.sink, v, Subject{facts_.code, facts_.code.operations[f.early.load]});
    d.fixits = f.fixits;
    d.notes.insert(d.notes.begin(), {"the wait", facts_.code.where(facts_.code.operations[f.early.wait])});
  }

  const Facts& facts_;
  std::vector<BarrierObject> committed_;
  std::vector<PathState> in_;
  std::vector<Early> early_;
  std::vector<Finding> findings_;
  std::vector<bool> fence_before_;  // by operation: repairs
};

// Registers of tcgen05.ld between the load and tcgen05.wait::ld: one bit a register.

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

void check_load_fences(const Facts& facts) { LoadFences(facts).check(); }

void check_load_waits(const Facts& facts) { LoadWaits(facts).check(); }

}  // namespace kiln::verifier
