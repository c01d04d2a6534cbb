// Names for words that states which are alike have in common: what came out of memory counts by where it is found, and
// a counter that starts at one unknown word and grows by another by how far it is ahead of the one furthest behind.
#pragma once

#include <map>
#include <string>

#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {

/// A key under construction.
class Writer {
 public:
  void put(std::uint64_t v);
  void put(const EventSet&);
  void put(const Intervals&);
  std::string take() { return std::move(text_); }

 private:
  std::string text_{};
};

class Naming {
 public:
  Naming(const State&, const Program&, Machine&);

  void put(Writer&, flow::TermId);
  /// The predicate or word is about a counter's place that all counters have left behind: nobody asks for it again.
  bool is_past(flow::TermId);
  /// Words that have been looked into.
  std::uint64_t work() const { return plain_.size() + past_.size(); }

 private:
  std::optional<Assumptions::Place> place(flow::TermId) const;
  bool is_plain(flow::TermId);
  void put_atom(Writer&, flow::TermId);

  const State& state_;
  Machine& machine_;
  std::map<std::pair<flow::TermId, flow::TermId>, std::int64_t> last_{};  // the place of the counter furthest behind
  std::map<flow::TermId, std::uint64_t> fresh_{}, said_{};
  std::map<flow::TermId, bool> plain_{}, past_{};
};

/// Calls f(TermId) for each word that a live register holds or that is kept in shared memory.
template <class F>
void each_word(const State& s, const Program& program, Machine& machine, F f) {
  for (const Cta& cta : s.ctas) {
    for (const Warp& w : cta.warps)
      for (const Fragment& fragment : w.fragments)
        for (const ir::RegisterId r : program.live(fragment.at)) {
          const WordId word = fragment.words[program.slot(r)];
          for (Mask m = fragment.lanes; m; m &= m - 1) {
            f(machine.values().words().at(word, std::countr_zero(m)));
            if (machine.values().words().is_uniform(word)) break;
          }
        }
    for (const auto& [at, stored] : cta.stored)
      for (const auto& [bytes, t] : stored) f(t);
  }
}

}  // namespace kiln::verifier::explore
