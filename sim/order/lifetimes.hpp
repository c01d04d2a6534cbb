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

  void start() { ctas_.assign(agents_.ctas(), {}); }
  /// Another CTA is reached, which must have started and not exited.
  void reach(const Agent&, const ir::Operation&, std::uint32_t cta);
  /// An access uses a CTA's memory.
  void use(const Agent&, std::uint32_t cta, AccessId, bool reads);
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

  Agents& agents_;
  Records& records_;
  Reports& reports_;
  std::vector<CtaState> ctas_;
  std::tuple<AccessId, std::uint32_t, bool> last_{};  // many ranges of one operation are one use
};

}  // namespace kiln::sim
