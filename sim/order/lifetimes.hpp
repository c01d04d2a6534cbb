// How long the memory of a CTA lives, and which agents use it beside its own threads: other CTAs, and asynchronous
// operations.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "sim/order/access.hpp"
#include "sim/order/agents.hpp"
#include "sim/order/reports.hpp"

namespace kiln::sim {

class Lifetimes {
 public:
  Lifetimes(Agents& agents, Records& records, Reports& reports)
      : agents_(agents), records_(records), reports_(reports) {}

  void start() {
    ctas_.assign(agents_.ctas(), {});
    arrivals_.clear();
  }
  /// Another CTA is reached, which must have started and not exited.
  void reach(const Agent&, const ir::Operation&, std::uint32_t cta);
  /// The same for the peer of a tcgen05.alloc for two CTAs, which ends when both have executed it.
  void allocate(const Agent&, const ir::Operation&, std::uint32_t peer);
  /// An access uses a CTA's memory.
  void use(const Agent&, std::uint32_t cta, AccessId, bool reads);
  /// A thread's commit will arrive on the mbarrier at `object` of a CTA once `work` is over; and it has arrived there,
  /// with that phase.
  void send(const Agent&, std::uint32_t cta, std::uint64_t object, AccessId, AsyncId commit, Stamp work);
  void land(std::uint32_t cta, std::uint64_t object, AsyncId commit, Stamp phase);
  /// At its end a CTA must know that no agent uses its memory any more.
  void exit(std::uint32_t cta);
  /// Calls f(AccessId&) for everything that is remembered.
  template <class F>
  void each_access(F f) {
    last_ = {};
    for (CtaState& c : ctas_) {
      for (auto& [component, use] : c.latest) f(use.access);
      for (AccessId& id : c.open) f(id);
    }
    for (auto& [object, by_thread] : arrivals_)
      for (auto& [thread, of_thread] : by_thread) f(of_thread.access);
  }

 private:
  struct Use {
    Stamp done{};
    AccessId access = 0;
  };
  struct CtaState {
    std::map<Component, Use> latest{};
    std::vector<AccessId> open{};  // accesses whose completion is not known yet
    bool exited = false;
  };
  // The arrivals of one thread's commits on one mbarrier.
  struct Arrivals {
    struct One {
      AsyncId commit = 0;  // later commits have higher numbers
      Epoch phase = Completion::never;
    };
    std::uint32_t cta = 0;   // of the mbarrier
    AccessId access = 0;     // the last commit, where it comes from another CTA
    Stamp issued{}, work{};  // its issue, and what it waits for
    std::vector<One> all{};
  };
  bool knows_start(const Agent&, std::uint32_t cta);
  using Threads = std::map<Component, Arrivals>;
  static AsyncId last_known(const Arrivals&, Epoch known);
  void judge_arrivals(std::uint32_t cta, const Clock& known);
  void report_exit(std::uint32_t cta, const rules::Verdict&, const Access&);

  Agents& agents_;
  Records& records_;
  Reports& reports_;
  std::vector<CtaState> ctas_;
  std::map<Component, Threads> arrivals_{};           // by the stream of the mbarrier's phases, and by thread
  std::tuple<AccessId, std::uint32_t, bool> last_{};  // many ranges of one operation are one use
};

}  // namespace kiln::sim
