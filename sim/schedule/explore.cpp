#include "sim/schedule/explore.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ptx/diag/error.hpp"
#include "sim/core/start.hpp"
#include "sim/ops/mbarrier.hpp"

namespace kiln::sim::schedule {
namespace {

using Kind = Touch::Kind;
using Name = std::uint64_t;

/// A set of transitions of one run, by number.
class Past {
 public:
  void add(std::size_t n) {
    if (n / 64 >= words_.size()) words_.resize(n / 64 + 1);
    words_[n / 64] |= std::uint64_t{1} << n % 64;
  }
  void add(const Past& other) {
    if (other.words_.size() > words_.size()) words_.resize(other.words_.size());
    for (std::size_t k = 0; k < other.words_.size(); ++k) words_[k] |= other.words_[k];
  }
  bool has(std::size_t n) const { return n / 64 < words_.size() && (words_[n / 64] >> n % 64 & 1) != 0; }

 private:
  std::vector<std::uint64_t> words_{};
};

/// What one candidate did, as far as others may care.
struct Transition {
  Name name = 0, warp = 0;
  bool event = false;
  std::uint64_t cluster = 0;
  std::vector<Touch> touches{};
  Past past{};  // transitions that must come before
};

bool same_process(const Transition& a, const Transition& b) {
  return a.event || b.event ? a.name == b.name : a.warp == b.warp;
}

bool dependent(const Transition& a, const Transition& b) {
  if (same_process(a, b)) return true;
  for (const Touch& x : a.touches)
    for (const Touch& y : b.touches)
      if (dependent(x, y)) return true;
  return false;
}

// Whether `next` may do something else after `done` than it was seen to do before. An update that completes a phase
// makes later ones updates of the next.
bool disturbs(const Transition& done, const Transition& next) {
  if (dependent(done, next)) return true;
  for (const Touch& x : done.touches)
    for (const Touch& y : next.touches)
      if (x.object == y.object && x.flips && y.kind == Kind::update) return true;
  return false;
}

// Whether the order of two transitions can be the other one. A phase must be complete before it is seen to be.
bool reversible(const Transition& a, const Transition& b, bool b_waits) {
  for (const Touch& x : a.touches)
    for (const Touch& y : b.touches)
      if (dependent(x, y) && (b_waits || !(x.kind == Kind::update && y.kind == Kind::read && x.phase + 1 == y.phase)))
        return true;
  return false;
}

/// A state of the exploration: what was chosen here and what else must be.
struct Node {
  Name chosen = 0;
  Transition made{};
  std::set<Name> wanted{};
  std::vector<Name> here{};             // every candidate
  std::map<Name, Transition> asleep{};  // what would only repeat
  std::set<Name> cannot{};              // had to wait
  std::set<Name> polling{};             // would read again what they have read
};

class Explorer final : public Picker {
 public:
  Explorer(std::vector<Node>& nodes, Grain grain) : nodes_(nodes) { trace.keep(grain); }

  SyncTrace trace{};
  std::uint64_t clusters = 0;
  bool peeks = false;
  bool too_long = false;

  // After the run: which other orders it calls for.
  void find_races() {
    for (std::size_t j = 0; j < transitions_.size(); ++j) find_races(transitions_[j], j, false);
    for (const Transition& t : waiting_) find_races(t, transitions_.size(), true);
  }

 protected:
  void begin(Cluster& cluster) override {
    trace.take();
    peeks |= has_peeks(cluster.grid.program);
    clusters = std::max<std::uint64_t>(clusters, clusters_of(cluster.grid).volume());
    cluster_ = std::size_t(cluster.grid.number) << 32 | cluster.index;
  }
  std::size_t pick(Cluster&, std::span<const Candidate>) override;
  void done(Cluster&, const Candidate&, bool moved) override;
  void ended(Cluster&, bool fault) override;
  void works(const Cta& cta, const Warp& warp) override { worked_.insert(warp_name(cta, warp)); }

 private:
  std::size_t pick(std::span<const Candidate>);
  std::size_t choose(std::span<const Candidate>, Node&);
  Node fresh_node() const;
  Past past_of(const Transition&) const;
  void learn(Cluster&, Transition);
  void find_races(const Transition& last, std::size_t end, bool waits);
  void want(std::size_t first, const Transition& last, std::size_t end);

  std::vector<Node>& nodes_;
  std::vector<Transition> transitions_{};
  std::map<Name, Past> warp_past_{}, born_{};   // by warp; by event
  std::map<std::uint64_t, Past> signalled_{};   // by object
  std::set<Name> worked_{};                     // warps, since the last transition
  std::map<Name, std::vector<Touch>> polls_{};  // fragments that wait for a change of what they read
  Candidate performing_{};
  std::uint32_t pc_ = 0;               // of what it performs
  std::vector<Transition> waiting_{};  // threads that still waited at the end of a cluster
  std::uint64_t cluster_ = 0;
};

constexpr std::size_t longest_trace = 20'000;     // transitions
constexpr std::uint64_t abandoned_per_trace = 4;  // before the limit counts as reached

// What must not be tried after the last transition: what must not be tried before it, unless that has changed it.
Node Explorer::fresh_node() const {
  Node node;
  if (transitions_.empty()) return node;
  const Transition& last = transitions_.back();
  for (const auto& [name, next] : nodes_[transitions_.size() - 1].asleep)
    if (!disturbs(last, next) && !worked_.contains(next.warp)) node.asleep.emplace(name, next);
  return node;
}

std::size_t Explorer::choose(std::span<const Candidate> candidates, Node& node) {
  bool any = false;
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const Name name = candidates[k].name;
    if (node.cannot.contains(name) || polls_.contains(name)) continue;
    any = true;
    if (node.asleep.contains(name)) continue;
    node.chosen = name;
    node.wanted.insert(name);
    return k;
  }
  if (any) throw Abandoned{};
  if (polls_.empty()) return none;
  polls_.clear();  // nothing else is left: they poll until Patience ends the run
  return choose(candidates, node);
}

std::size_t Explorer::pick(Cluster&, std::span<const Candidate> candidates) {
  const std::size_t at = pick(candidates);
  if (at != none) {
    performing_ = candidates[at];
    const Candidate& c = performing_;
    pc_ = c.at ? c.at->fragments[std::size_t(c.at->holding(c.lane))].pc : 0;
  }
  worked_.clear();
  return at;
}

std::size_t Explorer::pick(std::span<const Candidate> candidates) {
  const std::size_t depth = transitions_.size();
  if (depth >= longest_trace) {
    too_long = true;
    throw Abandoned{};
  }
  if (depth == nodes_.size()) {
    Node node = fresh_node();
    for (const Candidate& c : candidates) node.here.push_back(c.name);
    for (const auto& [name, touches] : polls_) node.polling.insert(name);
    const std::size_t at = choose(candidates, node);
    if (at != none) nodes_.push_back(std::move(node));
    return at;
  }
  Node& node = nodes_[depth];
  for (std::size_t k = 0; k < candidates.size(); ++k)
    if (candidates[k].name == node.chosen && !node.cannot.contains(node.chosen)) return k;
  if (depth + 1 != nodes_.size()) throw diag::InternalError("the run went another way than before");
  node.cannot.insert(node.chosen);  // it cannot be its turn: any other may be what is wanted
  for (const Candidate& c : candidates)
    if (!node.polling.contains(c.name)) node.wanted.insert(c.name);
  return choose(candidates, node);
}

// What must come before a transition: what its process did, what it waited for, and what it meets on its objects.
Past Explorer::past_of(const Transition& t) const {
  Past past;
  const auto& own = t.event ? born_ : warp_past_;
  if (const auto found = own.find(t.event ? t.name : t.warp); found != own.end()) past.add(found->second);
  for (std::size_t k = 0; k < transitions_.size(); ++k)
    if (!past.has(k) && dependent(transitions_[k], t)) past.add(k), past.add(transitions_[k].past);
  return past;
}

void Explorer::learn(Cluster& cluster, Transition t) {
  Past after = past_of(t);
  t.past = after;
  after.add(transitions_.size());
  if (!t.event) warp_past_[t.warp].add(after);
  for (const Name warp : worked_) warp_past_[warp].add(after);
  for (const Touch& x : t.touches) {
    if (x.kind == Kind::await) warp_past_[x.warp].add(signalled_[x.object]);
    if (x.kind != Kind::await && x.kind != Kind::read) {
      signalled_[x.object].add(after);
      if (x.warp) signalled_[x.object].add(warp_past_[x.warp]);
    }
  }
  for (const Event& e : cluster.events.pending())
    if (!born_.contains(e.name)) born_[e.name] = after, born_[e.name].add(warp_past_[e.warp]);
  for (auto at = polls_.begin(); at != polls_.end();) {
    bool changed = false;
    for (const Touch& x : t.touches)
      for (const Touch& y : at->second) changed |= x.object == y.object && x.kind != Kind::read;
    at = changed ? polls_.erase(at) : std::next(at);
  }
  transitions_.push_back(std::move(t));
}

void Explorer::done(Cluster& cluster, const Candidate& c, bool moved) {
  Transition t{c.name, c.warp, c.cta == nullptr, cluster_, trace.take(), {}};
  if (!moved && t.touches.empty()) {
    nodes_[transitions_.size()].cannot.insert(c.name);
    return;
  }
  // An atomic operation that has changed nothing has only read.
  const int at = c.at ? c.at->holding(c.lane) : -1;
  const Poll poll = at >= 0 ? c.at->fragments[std::size_t(at)].poll : Poll{};
  const bool polled = poll.count != 0 && poll.pc == pc_ && poll.activity == cluster.activity();
  if (polled)
    for (Touch& x : t.touches)
      if (x.kind == Kind::write) x.kind = Kind::read;
  const bool only_read =
      !t.event && !t.touches.empty() &&
      std::all_of(t.touches.begin(), t.touches.end(), [](const Touch& x) { return x.kind == Kind::read; });
  const std::vector<Touch> touches = t.touches;
  polls_.erase(c.name);
  nodes_[transitions_.size()].made = t;
  learn(cluster, std::move(t));
  // A fragment that is back where it was and has only read polls: another round would give the same.
  if (only_read && at >= 0) {
    const Fragment& f = c.at->fragments[std::size_t(at)];
    if (polled && f.pc == pc_ && !f.blocked) polls_[c.name] = touches;
  }
}

// Threads that still wait might have gone on in another order; what a fault prevented may happen first in another.
void Explorer::ended(Cluster& cluster, bool fault) {
  if (fault && transitions_.size() < nodes_.size()) {
    Node& node = nodes_[transitions_.size()];
    node.made = {performing_.name, performing_.warp, performing_.cta == nullptr, cluster_, trace.take(), {}};
    if (node.made.touches.empty())
      for (const Name n : node.here)
        if (!node.polling.contains(n)) node.wanted.insert(n);
    learn(cluster, node.made);
  }
  each_fragment(cluster, [&](const Cta& cta, const Warp& w, const Fragment& f) {
    if (!f.blocked || f.wait.kind != WaitKind::mbarrier) return;
    const Name warp = warp_name(cta, w), name = warp * warp_lanes + std::uint64_t(first_lane(f.lanes));
    const Touch wait{mbarrier_object(cluster.ctas[f.wait.cta_rank].index, f.wait.address), Kind::read, 0, warp, false};
    waiting_.push_back({name, warp, false, cluster_, {wait}, warp_past_[warp]});
  });
}

// Transitions whose order with `last`, which comes at `end`, is not given by others.
void Explorer::find_races(const Transition& last, std::size_t end, bool waits) {
  Past covered;
  for (std::size_t i = end; i-- > 0;) {
    const Transition& first = transitions_[i];
    const bool before = waits ? dependent(first, last) || last.past.has(i) : last.past.has(i);
    if (!before) continue;
    if (!covered.has(i) && !same_process(first, last) && first.cluster == last.cluster &&
        reversible(first, last, waits))
      want(i, last, end);
    covered.add(first.past);
  }
}

// The node before `first` must try something that leads to `last` coming first, unless it does already.
void Explorer::want(std::size_t first, const Transition& last, std::size_t end) {
  std::vector<std::size_t> numbers;
  std::vector<Name> initials;
  const auto take = [&](const Transition& t, std::size_t n) {
    const bool initial = std::none_of(numbers.begin(), numbers.end(), [&](std::size_t k) { return t.past.has(k); });
    if (initial) initials.push_back(t.name);
    numbers.push_back(n);
  };
  for (std::size_t k = first + 1; k < end; ++k)
    if (!transitions_[k].past.has(first)) take(transitions_[k], k);
  take(last, end);
  Node& node = nodes_[first];
  for (const Name n : initials)
    if (node.wanted.contains(n) || node.asleep.contains(n)) return;
  for (const Name n : initials)
    if (!node.polling.contains(n)) {
      node.wanted.insert(n);
      return;
    }
}

// The next choice of the last node that has one; nodes after it are dropped. False when there is none.
bool advance(std::vector<Node>& nodes) {
  for (; !nodes.empty(); nodes.pop_back()) {
    Node& node = nodes.back();
    if (node.made.name == node.chosen) node.asleep[node.chosen] = node.made;
    for (const Name n : node.wanted)
      if (!node.asleep.contains(n) && !node.cannot.contains(n)) {
        node.chosen = n;
        return true;
      }
  }
  return false;
}

}  // namespace

Exploration explore(std::uint64_t limit, const Run& run, Grain grain) {
  Exploration result;
  std::vector<Node> nodes;
  bool cut = false;
  for (;;) {
    Explorer explorer(nodes, grain);
    bool more = true;
    try {
      more = run(explorer, explorer.trace);
      ++result.traces;
    } catch (const Abandoned&) {
      ++result.abandoned;
    }
    cut |= explorer.too_long;
    result.clusters = std::max(result.clusters, explorer.clusters);
    result.peeks |= explorer.peeks;
    explorer.find_races();
    if (!advance(nodes)) {
      result.complete = !cut;
      return result;
    }
    if (!more || result.traces >= limit || result.abandoned >= abandoned_per_trace * limit) return result;
  }
}

}  // namespace kiln::sim::schedule
