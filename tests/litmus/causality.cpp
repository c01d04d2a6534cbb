// The PTX memory model over all candidate executions of a small program: who reads from whom, in which order writes and
// fence.sc come, and then the axioms, as they stand in PTX ISA "Memory Consistency Model". Names are that chapter's.
#include "tests/litmus/causality.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "tests/litmus/graph.hpp"

namespace kiln::test {
namespace model {
namespace {

bool is_strong(const Node& n) { return n.strength != Strength::weak; }
bool releases(const Node& n) {
  return n.strength == Strength::release || n.strength == Strength::acq_rel || n.strength == Strength::sc;
}
bool acquires(const Node& n) {
  return n.strength == Strength::acquire || n.strength == Strength::acq_rel || n.strength == Strength::sc;
}

// One execution after the other of one graph.
class Executions {
 public:
  Executions(const Program& p, const Graph& g, bool is_global_left_out)
      : p_(p), is_global_left_out_(is_global_left_out), nodes_(g.nodes()), n_(int(nodes_.size())), order_(g.order()) {
    program_ = order_;
    close(program_);
    for (int k = 0; k < n_; ++k) {
      if (nodes_[k].reads) reads_.push_back(k);
      if (nodes_[k].act == Act::fence && nodes_[k].strength == Strength::sc) fences_.push_back(k);
    }
    from_.assign(n_, -1);
  }

  Truth run() {
    choose_source(0);
    return race_ ? Truth::races : ends_ ? Truth::ordered : Truth::blocked;
  }

 private:
  bool same_thread(const Node& a, const Node& b) const { return a.thread == b.thread; }
  bool includes(const Node& a, const Node& b) const {
    return a.reach >= Reach::gpu || a.cta == b.cta || (a.reach == Reach::cluster && p_.is_one_cluster);
  }
  bool are_morally_strong(int x, int y) const {
    const Node &a = nodes_[x], &b = nodes_[y];
    if (a.proxy != b.proxy) return false;
    if (a.is_init || b.is_init || same_thread(a, b)) return true;
    return is_strong(a) && is_strong(b) && includes(a, b) && includes(b, a);
  }

  void choose_source(std::size_t k) {
    if (race_) return;
    if (k == reads_.size()) return values() && is_causal_dataflow() ? choose_fences() : void();
    for (int w = 0; w < n_; ++w)
      if (nodes_[w].writes && nodes_[w].place == nodes_[reads_[k]].place && w != reads_[k]) {
        from_[reads_[k]] = w;
        choose_source(k + 1);
      }
  }

  // What each write leaves, and whether the reads give what the branches need.
  bool values() {
    value_.assign(n_, std::nullopt);
    for (int round = 0; round <= n_; ++round)
      for (int k = 0; k < n_; ++k) {
        const Node& n = nodes_[k];
        if (!n.writes) continue;
        if (!n.reads)
          value_[k] = n.is_init ? 0 : n.value;
        else if (value_[from_[k]])
          value_[k] = *value_[from_[k]] + n.value;
      }
    return std::all_of(reads_.begin(), reads_.end(), [&](int r) {
      const auto v = value_[from_[r]];
      if (!v) return false;
      return (!nodes_[r].gives || *v == *nodes_[r].gives) && (!nodes_[r].gives_not || *v != *nodes_[r].gives_not);
    });
  }

  // No Thin Air: a read that decides comes before what its thread then writes.
  bool is_causal_dataflow() const {
    Relation r(n_, 0);
    for (const int k : reads_) {
      add(r, from_[k], k);
      if (nodes_[k].is_decisive)
        for (int w = 0; w < n_; ++w)
          if (nodes_[w].writes && has(program_, k, w) && same_thread(nodes_[k], nodes_[w])) add(r, k, w);
    }
    return is_acyclic(r);
  }

  void choose_fences() {
    observe();
    std::sort(fences_.begin(), fences_.end());
    do {
      base_causality();
      if (fences_agree()) choose_coherence(0);
    } while (!race_ && std::next_permutation(fences_.begin(), fences_.end()));
  }

  // Observation order: a morally strong read of a write, perhaps through read-modify-writes.
  void observe() {
    observed_.assign(n_, 0);
    for (const int r : reads_)
      for (int w = from_[r], by = r; are_morally_strong(w, by) && !nodes_[w].is_init;) {
        add(observed_, w, r);
        if (!nodes_[w].reads) break;
        by = w, w = from_[w];
      }
  }

  bool is_pattern_partner(int a, int b) const { return same_thread(nodes_[a], nodes_[b]) && has(program_, a, b); }

  // The first operation of each release pattern that ends in the write w.
  std::vector<int> releases_of(int w) const {
    std::vector<int> out;
    if (!is_strong(nodes_[w])) return out;
    if (releases(nodes_[w])) out.push_back(w);
    for (int k = 0; k < n_; ++k)
      if (is_pattern_partner(k, w) && releases(nodes_[k]) &&
          (nodes_[k].act == Act::fence || (nodes_[k].writes && nodes_[k].place == nodes_[w].place)))
        out.push_back(k);
    return out;
  }

  // The last operation of each acquire pattern that begins with the read r.
  std::vector<int> acquires_of(int r) const {
    std::vector<int> out;
    if (!is_strong(nodes_[r])) return out;
    if (acquires(nodes_[r])) out.push_back(r);
    for (int k = 0; k < n_; ++k)
      if (is_pattern_partner(r, k) && acquires(nodes_[k]) &&
          (nodes_[k].act == Act::fence || (nodes_[k].reads && nodes_[k].place == nodes_[r].place)))
        out.push_back(k);
    return out;
  }

  bool meets(const Node& a, const Node& b) const {
    if (a.barrier < 0 || a.thread == b.thread) return false;
    if (a.act == Act::meet) return b.act == a.act && a.barrier == b.barrier && a.cta == b.cta;
    if (a.act == Act::meet_warp)
      return b.act == a.act && a.barrier == b.barrier && a.cta == b.cta && warp(a) == warp(b);
    return a.act == Act::cluster_arrive && b.act == Act::cluster_wait && b.barrier == a.barrier + 1 &&
           (a.cta == b.cta || p_.is_one_cluster);
  }
  int warp(const Node& n) const { return p_.threads[n.thread].spot.warp; }

  // barrier.cluster.arrive is a release or, relaxed, comes after a fence of the cluster: the ISA shows no narrower one.
  void synchronise_barriers(Relation& r) const {
    for (int a = 0; a < n_; ++a)
      for (int b = 0; b < n_; ++b) {
        if (!meets(nodes_[a], nodes_[b])) continue;
        if (nodes_[a].act != Act::cluster_arrive || releases(nodes_[a])) add(r, a, b);
        for (int f = 0; f < n_; ++f)
          if (nodes_[f].act == Act::fence && releases(nodes_[f]) && nodes_[f].reach >= Reach::cluster &&
              is_pattern_partner(f, a) && includes(nodes_[f], nodes_[b]))
            add(r, f, b);
      }
  }

  void base_causality() {
    Relation r = order_;
    synchronise_barriers(r);
    for (std::size_t a = 0; a < fences_.size(); ++a)
      for (std::size_t b = a + 1; b < fences_.size(); ++b)
        if (are_morally_strong(fences_[a], fences_[b])) add(r, fences_[a], fences_[b]);
    for (int w = 0; w < n_; ++w)
      for (int read = 0; read < n_; ++read)
        if (has(observed_, w, read))
          for (const int first : releases_of(w))
            for (const int last : acquires_of(read))
              if (are_morally_strong(first, last)) add(r, first, last);
    close(r);
    base_ = r;
    causality();
  }

  // Base causality, where what is asynchronous comes after what its issue comes after, and hands none of that on.
  bool precedes(int a, int b) const {
    const int issue = nodes_[b].issue;
    return has(base_, a, b) || (issue >= 0 && (issue == a || has(base_, a, issue)));
  }

  bool is_proxy_preserved(int a, int b) const {
    if (!precedes(a, b)) return false;
    if (nodes_[a].proxy == nodes_[b].proxy || nodes_[a].is_init) return true;
    for (int f = 0; f < n_; ++f)
      if (nodes_[f].act == Act::proxy_fence && precedes(a, f) && precedes(f, b) &&
          (nodes_[f].space == Space::any || nodes_[f].space == p_.locations[nodes_[a].place].space))
        return true;
    return false;
  }

  void causality() {
    cause_.assign(n_, 0);
    for (int a = 0; a < n_; ++a)
      for (int b = 0; b < n_; ++b)
        if (nodes_[a].place >= 0 && nodes_[a].place == nodes_[b].place && a != b && is_proxy_preserved(a, b))
          add(cause_, a, b);
    const Relation preserved = cause_;
    for (int a = 0; a < n_; ++a)
      for (int z = 0; z < n_; ++z)
        if (has(observed_, a, z)) cause_[a] |= preserved[z] & ~(Set(1) << a);
  }

  bool fences_agree() const {
    for (std::size_t a = 0; a < fences_.size(); ++a)
      for (std::size_t b = a + 1; b < fences_.size(); ++b)
        if (are_morally_strong(fences_[a], fences_[b]) && has(base_, fences_[b], fences_[a])) return false;
    return true;
  }

  void choose_coherence(int place) {
    if (race_) return;
    if (place == int(p_.locations.size())) return judge();
    std::vector<int> writes;
    for (int k = 0; k < n_; ++k)
      if (nodes_[k].writes && nodes_[k].place == place) writes.push_back(k);
    if (place == 0) coherence_.assign(n_, 0);
    do {
      if (!nodes_[writes[0]].is_init) break;  // the first in the order of numbers: from here on no order begins with it
      for (const int w : writes) coherence_[w] = 0;
      for (std::size_t a = 0; a < writes.size(); ++a)
        for (std::size_t b = a + 1; b < writes.size(); ++b) add(coherence_, writes[a], writes[b]);
      choose_coherence(place + 1);
    } while (!race_ && std::next_permutation(writes.begin(), writes.end()));
  }

  // Communication order.
  Relation communication() const {
    Relation r = coherence_;
    for (const int k : reads_) {
      add(r, from_[k], k);
      r[k] |= coherence_[from_[k]] & ~(Set(1) << k);
    }
    return r;
  }

  bool is_consistent() const {
    const Relation talk = communication();
    for (int a = 0; a < n_; ++a)
      for (int b = 0; b < n_; ++b) {
        if (!has(cause_, a, b)) continue;
        if (has(talk, b, a)) return false;  // Coherence and Causality
      }
    for (const int r : reads_)  // Atomicity
      if (nodes_[r].writes)
        for (int w = 0; w < n_; ++w)
          if (w != r && has(coherence_, from_[r], w) && has(coherence_, w, r) && are_morally_strong(r, w)) return false;
    Relation local(n_, 0);  // SC per Location
    for (int a = 0; a < n_; ++a)
      for (int b = 0; b < n_; ++b)
        if (a != b && nodes_[a].place >= 0 && nodes_[a].place == nodes_[b].place)
          if ((has(talk, a, b) && are_morally_strong(a, b)) ||
              (has(program_, a, b) && same_thread(nodes_[a], nodes_[b])))
            add(local, a, b);
    return is_acyclic(local);
  }

  bool is_left_out(Space s) const { return s == Space::mbarrier || (is_global_left_out_ && s == Space::global); }

  void judge() {
    if (!is_consistent()) return;
    ends_ = true;
    for (int a = 0; a < n_; ++a)
      for (int b = a + 1; b < n_; ++b) {
        const Node &x = nodes_[a], &y = nodes_[b];
        if (x.place < 0 || x.place != y.place || !(x.writes || y.writes) || x.is_init || y.is_init) continue;
        if (is_left_out(p_.locations[x.place].space) || same_thread(x, y)) continue;
        if (!are_morally_strong(a, b) && !has(cause_, a, b) && !has(cause_, b, a)) race_ = true;
      }
  }

  const Program& p_;
  bool is_global_left_out_;
  const std::vector<Node>& nodes_;
  int n_;
  Relation order_, program_{};
  std::vector<int> reads_{}, fences_{}, from_{};
  std::vector<std::optional<int>> value_{};
  Relation observed_{}, base_{}, cause_{}, coherence_{};
  bool race_ = false, ends_ = false;
};

int guards_of(const LitmusThread& t) {
  return int(std::count_if(t.events.begin(), t.events.end(), [](const Event& e) { return e.only_if.has_value(); }));
}

}  // namespace
}  // namespace model

int arrivals_on(const Program& p, int mbarrier) {
  int n = 0;
  for (const LitmusThread& t : p.threads)
    for (const Event& e : t.events) {
      if (e.act == Act::update && e.place == mbarrier) ++n;
      if (e.act == Act::load_bulk && e.mbarrier == mbarrier) n += 2;
      if (e.act == Act::loads_arrive && e.mbarrier == mbarrier) ++n;
    }
  return n;
}

Truth truth_of(const Program& p, bool is_global_left_out) {
  Truth all = Truth::blocked;
  const int guards = std::accumulate(p.threads.begin(), p.threads.end(), 0,
                                     [](int n, const LitmusThread& t) { return n + model::guards_of(t); });
  for (std::uint32_t taken = 0; taken < 1u << guards; ++taken) {
    model::Graph g(p);
    std::uint32_t bits = taken;
    for (int t = 0; t < int(p.threads.size()); ++t) {
      g.add_thread(t, bits);
      bits >>= model::guards_of(p.threads[t]);
    }
    const Truth one = model::Executions(p, g, is_global_left_out).run();
    if (one == Truth::races) return one;
    if (one == Truth::ordered) all = one;
  }
  return all;
}

}  // namespace kiln::test
