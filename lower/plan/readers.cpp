// Which commits must write the sums to the image. A ring's slots are freed by commits too, and the threads that wait
// for those read no sum: then the sums stay in registers. The warps that wait for a commit are followed in all that
// they do next, and so are the threads that wait for something that those do. A path from the commit to a thread that
// reads tensor memory counts unless another commit is on it: that one decides for itself.
#include "lower/plan/passes.hpp"

#include <algorithm>
#include <deque>
#include <set>

namespace kiln::lower {
namespace {

using flow::Origin;
using isa::Opcode;
using isa::Unit;

constexpr int any_named_barrier = -1;

class Followed {
 public:
  explicit Followed(const Facts& f) : f_(f) {}

  bool reads(std::uint32_t commit) {
    signal(f_.origins.of(ops::roles<ops::Commit>(f_.code.operations[commit]).mbarrier));
    while (!work_.empty() && !found_) {
      const auto [warp, from] = work_.front();
      work_.pop_front();
      follow(warp, from);
    }
    return found_;
  }

 private:
  static bool waits(const ir::Operation& op) {
    return op.opcode == Opcode::mbarrier_try_wait || op.opcode == Opcode::mbarrier_test_wait;
  }

  static bool is_named(const ir::Operation& op) {
    return isa::unit(op.opcode) == Unit::barrier && op.opcode != Opcode::barrier_cluster_arrive &&
           op.opcode != Opcode::barrier_cluster_wait;
  }

  // Two addresses of mbarriers that may be one.
  static bool may_alias(const Origin& a, const Origin& b) {
    if (!a.is(Origin::Base::symbol) || !b.is(Origin::Base::symbol)) return true;
    return a.id == b.id && !(a.exact() && b.exact() && a.offset() != b.offset());
  }

  // Threads that wait for this mbarrier go on.
  void signal(const Origin& barrier) {
    if (std::any_of(signals_.begin(), signals_.end(), [&](const Origin& o) { return o == barrier; })) return;
    signals_.push_back(barrier);
    for (std::uint32_t i = 0; i < f_.code.operations.size(); ++i) {
      const ir::Operation& op = f_.code.operations[i];
      if (waits(op) && may_alias(barrier, f_.origins.of(ops::roles<ops::Mbarrier>(op).object))) enter(i);
    }
  }

  int number(const ir::Operation& op) const {
    const auto id = f_.known.constant(ops::roles<ops::Barrier>(op).id, 32);
    return id ? int(*id) : any_named_barrier;
  }
  bool may_meet(const ir::Operation& a, const ir::Operation& b) const {
    return number(a) == any_named_barrier || number(b) == any_named_barrier || number(a) == number(b);
  }

  void signal_named(std::uint32_t at) {
    if (!named_.insert(at).second) return;
    for (std::uint32_t i = 0; i < f_.code.operations.size(); ++i) {
      const ir::Operation& op = f_.code.operations[i];
      if (is_named(op) && may_meet(op, f_.code.operations[at]) && !is_past(i, at)) enter(i);
    }
  }

  bool is_for_all(const ir::Operation& op) const {
    const auto b = ops::roles<ops::Barrier>(op);
    return b.id && !b.threads && !b.d;
  }

  // All threads have left `early` when a thread comes to `late`: `early` is the first use of this barrier, is executed
  // once, and every path to `late` goes through it.
  bool is_past(std::uint32_t early, std::uint32_t late) const {
    const ir::Operation& op = f_.code.operations[early];
    if (early == late || !is_for_all(op)) return false;
    const flow::BlockId b = f_.cfg.block_of(early), l = f_.cfg.block_of(late);
    if (!f_.cfg.dominates(b, l) || (b == l && early > late) || f_.cfg.repeats(b)) return false;
    for (std::uint32_t i = 0; i < f_.code.operations.size(); ++i) {
      const ir::Operation& other = f_.code.operations[i];
      if (i == early || !is_named(other) || !may_meet(other, op)) continue;
      const flow::BlockId o = f_.cfg.block_of(i);
      if (!is_for_all(other) || (o == b ? i < early : f_.cfg.reached_from(o)[b])) return false;
    }
    return true;
  }

  // Follows the warps that may be at an operation from the next one on.
  void enter(std::uint32_t i) {
    const std::uint32_t warps = f_.uniformity.warps_at(i);
    for (int w = 0; w < flow::max_warps; ++w)
      if (warps >> w & 1 && entered_.insert({w, i + 1}).second) work_.push_back({w, i + 1});
  }

  void follow(int warp, std::uint32_t from) {
    std::vector<std::uint32_t> next{from};
    while (!next.empty() && !found_) {
      const std::uint32_t first = next.back();
      next.pop_back();
      if (first >= f_.code.operations.size()) continue;
      const flow::BlockId b = f_.cfg.block_of(first == from && from > 0 ? from - 1 : first);
      const flow::BasicBlock& block = f_.cfg.blocks[b];
      for (std::uint32_t i = first; i < block.last && !found_; ++i)
        if (f_.uniformity.may_execute(f_.code.operations[i], warp)) look(i);
      for (const std::uint32_t e : block.out) {
        const flow::Edge& edge = f_.cfg.edges[e];
        if (edge.to != f_.cfg.end() && f_.uniformity.may_take(edge, warp) && visited_.insert({warp, edge.to}).second)
          next.push_back(f_.cfg.blocks[edge.to].first);
      }
    }
  }

  // What an operation tells others.
  void look(std::uint32_t i) {
    const ir::Operation& op = f_.code.operations[i];
    switch (op.opcode) {
      case Opcode::tcgen05_ld:
      case Opcode::tcgen05_ld_red:
      case Opcode::tcgen05_st: found_ = true; return;
      case Opcode::atom:
      case Opcode::red: found_ = true; return;  // its readers are not known
      case Opcode::st:
        if (op.modifiers.semantics != isa::Semantics::none && op.modifiers.semantics != isa::Semantics::weak)
          found_ = true;
        return;
      default: break;
    }
    if (is_named(op)) return signal_named(i);
    const Unit unit = isa::unit(op.opcode);
    if ((unit == Unit::mbarrier && !waits(op)) || (unit == Unit::async_copy && !is_of_a_group(op))) signal_of(op);
  }

  // Copies that signal no mbarrier.
  static bool is_of_a_group(const ir::Operation& op) { return op.modifiers.completion == isa::Completion::bulk_group; }

  // The mbarrier is the operation's last address.
  void signal_of(const ir::Operation& op) {
    for (auto a = op.arguments.rbegin(); a != op.arguments.rend(); ++a)
      if (a->kind == ir::Argument::Kind::address) return signal(f_.origins.of(*a));
  }

  const Facts& f_;
  bool found_ = false;
  std::vector<Origin> signals_{};
  std::set<std::uint32_t> named_{};
  std::set<std::pair<int, std::uint32_t>> entered_{};
  std::set<std::pair<int, flow::BlockId>> visited_{};
  std::deque<std::pair<int, std::uint32_t>> work_{};
};

}  // namespace

bool is_read_after(const Facts& facts, std::uint32_t commit) { return Followed(facts).reads(commit); }

}  // namespace kiln::lower
