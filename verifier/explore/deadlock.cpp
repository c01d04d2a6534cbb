#include "verifier/explore/deadlock.hpp"

#include <algorithm>
#include <optional>

#include "ptx/ops/operations.hpp"
#include "verifier/barrier_object.hpp"

namespace kiln::verifier::explore {
namespace {

struct Waiter {
  std::size_t cta = 0, warp = 0;
  const Fragment* at = nullptr;
};

std::vector<Waiter> waiters(const State& s) {
  std::vector<Waiter> out;
  for (std::size_t c = 0; c < s.ctas.size(); ++c)
    for (std::size_t w = 0; w < s.ctas[c].warps.size(); ++w)
      for (const Fragment& f : s.ctas[c].warps[w].fragments) out.push_back({c, w, &f});
  return out;
}

const Barrier* barrier_of(const State& s, const Fragment& f) {
  if (f.wait.kind != Wait::Kind::mbarrier) return nullptr;
  const auto found = s.ctas[f.wait.cta].mbarriers.find(f.wait.object);
  return found == s.ctas[f.wait.cta].mbarriers.end() ? nullptr : &found->second;
}

bool has_wrong_bytes(const Barrier* b) { return b && b->pending == 0 && b->outstanding() != 0 && b->announcer; }

// Which waits may end through which threads.
class WaitGraph {
 public:
  WaitGraph(const Program& program, const State& s) : program_(program), waiters_(waiters(s)) {
    const std::size_t n = waiters_.size();
    reaches_.assign(n, std::vector<bool>(n));
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b) reaches_[a][b] = a != b && may_end(waiters_[a], waiters_[b]);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
          if (reaches_[a][k] && reaches_[k][b]) reaches_[a][b] = true;
  }

  std::vector<Waiter> roots() const {
    std::vector<Waiter> out;
    for (std::size_t a = 0; a < waiters_.size(); ++a) {
      bool is_root = true;
      for (std::size_t b = 0; b < waiters_.size(); ++b) is_root &= !reaches_[a][b] || reaches_[b][a];
      if (is_root) out.push_back(waiters_[a]);
    }
    return out;
  }

 private:
  // Another thread that waits has something ahead that the wait needs.
  bool may_end(const Waiter& wait, const Waiter& other) const {
    const bool same_cta = wait.cta == other.cta;
    switch (wait.at->wait.kind) {
      case Wait::Kind::mbarrier: return may_signal(*wait.at, *other.at);
      case Wait::Kind::barrier:
        return same_cta &&
               (other.at->wait.kind != Wait::Kind::barrier || other.at->wait.object != wait.at->wait.object);
      case Wait::Kind::cluster: return other.at->wait.kind != Wait::Kind::cluster;
      default: return same_cta && wait.warp == other.warp;
    }
  }

  bool may_signal(const Fragment& wait, const Fragment& other) const {
    const Facts& facts = program_.facts;
    const auto object = [&](std::uint32_t at) {
      const ir::Argument* a = barrier_operand(program_.code.operations[at]);
      return a ? barrier_object(facts, *a) : std::nullopt;
    };
    const auto waited = object(wait.at);
    const std::vector<bool> ahead = facts.cfg.reached_from(facts.cfg.block_of(other.at));
    for (std::uint32_t i = 0; i < program_.code.operations.size(); ++i) {
      const ir::Operation& op = program_.code.operations[i];
      const bool signals = arrives(op) || op.opcode == isa::Opcode::mbarrier_complete_tx ||
                           op.modifiers.completion == isa::Completion::mbarrier;
      const flow::BlockId block = facts.cfg.block_of(i);
      if (!signals || !(ahead[block] || (block == facts.cfg.block_of(other.at) && i > other.at))) continue;
      const auto signalled = object(i);
      if (!waited || !signalled || waited->may_be(*signalled)) return true;
    }
    return false;
  }

  const Program& program_;
  std::vector<Waiter> waiters_;
  std::vector<std::vector<bool>> reaches_{};  // by waiters: directly or not
};

}  // namespace

std::vector<std::uint32_t> roots(const Program& program, const State& s) {
  std::vector<Waiter> found = WaitGraph(program, s).roots();
  // Lanes that wait for the others of their warp do so because of what these wait for.
  std::stable_sort(found.begin(), found.end(), [&](const Waiter& a, const Waiter& b) {
    const auto rank = [&](const Waiter& w) {
      return has_wrong_bytes(barrier_of(s, *w.at)) ? 0 : w.at->wait.kind == Wait::Kind::lanes ? 2 : 1;
    };
    return rank(a) < rank(b);
  });
  std::vector<std::uint32_t> out;
  for (const Waiter& w : found)
    if (std::find(out.begin(), out.end(), w.at->at) == out.end()) out.push_back(w.at->at);
  return out;
}

const Barrier* phase_of_wrong_bytes(const State& s) {
  for (const Waiter& w : waiters(s))
    if (const Barrier* b = barrier_of(s, *w.at); has_wrong_bytes(b)) return b;
  return nullptr;
}

}  // namespace kiln::verifier::explore
