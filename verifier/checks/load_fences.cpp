// tcgen05.fence::after_thread_sync between a wait for a commit and tcgen05.ld: a forward analysis over blocks. A load
// is reported when on every path it comes after a wait without the fence.
#include <algorithm>

#include "ptx/flow/forward.hpp"
#include "ptx/isa/tmem.hpp"
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
    // Once for each wait: all loads after it need one fence.
    for (const Early& e : early_)
      if (std::none_of(findings_.begin(), findings_.end(), [&](const Finding& f) { return f.early.wait == e.wait; }))
        findings_.push_back({e, {}});
    place_fences();
    for (const Finding& f : findings_) report(f);
  }

 private:
  // A load after a wait, without the fence.
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

}  // namespace

void check_load_fences(const Facts& facts) { LoadFences(facts).check(); }

}  // namespace kiln::verifier
