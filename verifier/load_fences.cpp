// tcgen05.fence::after_thread_sync between a wait for a commit and tcgen05.ld: a forward analysis over blocks. A load
// is reported when it comes behind a wait without the fence on every path.
#include <algorithm>

#include "ptx/flow/forward.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/rules/tcgen05_order.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/finding.hpp"
#include "verifier/tensor_memory.hpp"

namespace kiln::verifier {
namespace {

using flow::BlockId;
using isa::Opcode;
using rules::FenceEvent;
using rules::FenceState;

// Where a thread stands; `wait` is the operation that it waited at last.
struct State {
  bool is_reached = false;
  FenceState fence = FenceState::ordered;
  std::uint32_t wait = 0;

  bool operator==(const State&) const = default;
};

State join(const State& a, const State& b) {
  if (!a.is_reached) return b;
  if (!b.is_reached) return a;
  if (a.fence == FenceState::ordered || b.fence == FenceState::ordered) return {true};
  return {true, FenceState::waited, std::min(a.wait, b.wait)};
}

bool join_into(State& into, const State& from) {
  const State joined = join(into, from);
  if (joined == into) return false;
  into = joined;
  return true;
}

class LoadFences {
 public:
  explicit LoadFences(const Facts& facts) : facts_(facts), reported_(facts.code.operations.size()) {
    for (const ir::Operation& op : facts.code.operations)
      if (op.opcode == Opcode::tcgen05_commit && facts.is_formed(op))
        if (const auto object = barrier_object(facts, *barrier_operand(op))) committed_.push_back(*object);
  }

  void check() {
    if (committed_.empty()) return;
    in_.assign(facts_.cfg.blocks.size(), {});
    in_[0].is_reached = true;
    flow::propagate(
        facts_.cfg, in_, [&](BlockId b, const State& s) { return walk(b, s, false); }, join_into);
    for (BlockId b : facts_.cfg.reverse_post_order) walk(b, in_[b], true);
  }

 private:
  // A wait for an mbarrier that some tcgen05.commit arrives on.
  bool is_wait_for_mma(const ir::Operation& op) const {
    if (!waits(op) || !facts_.is_formed(op)) return false;
    const auto object = barrier_object(facts_, *barrier_operand(op));
    return object &&
           std::any_of(committed_.begin(), committed_.end(), [&](const BarrierObject& o) { return o.may_be(*object); });
  }

  State walk(BlockId b, State s, bool report) {
    const flow::BasicBlock& block = facts_.cfg.blocks[b];
    for (std::uint32_t i = block.first; i < block.last; ++i) {
      const ir::Operation& op = facts_.code.operations[i];
      if (op.opcode == Opcode::tcgen05_fence_after)
        s.fence = rules::step(s.fence, FenceEvent::fence).next;
      else if (is_wait_for_mma(op))
        s = {true, rules::step(s.fence, FenceEvent::wait).next, i};
      else if (report && isa::is_tensor_load(op.opcode) && facts_.is_formed(op))
        judge_load(op, s);
    }
    return s;
  }

  // Once for each wait: the loads behind it need one fence.
  void judge_load(const ir::Operation& load, const State& s) {
    const rules::Verdict v = rules::step(s.fence, FenceEvent::read).verdict;
    if (!v.broken() || reported_[s.wait]) return;
    reported_[s.wait] = true;
    diag::Diagnostic& d = broken(facts_.sink, v, Subject{facts_.code, load});
    d.notes.insert(d.notes.begin(), {"the wait", facts_.code.where(facts_.code.operations[s.wait])});
  }

  const Facts& facts_;
  std::vector<BarrierObject> committed_;
  std::vector<State> in_;
  std::vector<bool> reported_;  // by operation: waits
};

}  // namespace

void check_load_fences(const Facts& facts) { LoadFences(facts).check(); }

}  // namespace kiln::verifier
