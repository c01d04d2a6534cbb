#include "tests/litmus/graph.hpp"

#include <stdexcept>

namespace kiln::test::model {

void close(Relation& r) {
  for (std::size_t k = 0; k < r.size(); ++k)
    for (Set& row : r)
      if (row >> k & 1) row |= r[k];
}

bool is_acyclic(Relation r) {
  close(r);
  for (int k = 0; k < int(r.size()); ++k)
    if (has(r, k, k)) return false;
  return true;
}

Graph::Graph(const Program& p) : p_(p) {
  for (int k = 0; k < int(p.locations.size()); ++k) {
    Node n;
    n.writes = n.is_init = true, n.act = Act::write, n.place = k;
    nodes_.push_back(n);
  }
}

void Graph::add_thread(int t, std::uint32_t taken) {
  const LitmusThread& thread = p_.threads[t];
  int guard = 0, barrier = 0;
  last_ = -1;
  copies_.clear(), store_reads_.clear(), store_writes_.clear();
  for (const Event& e : thread.events) {
    Node n;
    n.thread = t, n.cta = thread.spot.cta, n.act = e.act, n.place = e.place;
    n.strength = e.strength, n.reach = e.reach, n.value = e.value, n.space = e.space;
    n.reads = e.act == Act::read || e.act == Act::update;
    n.writes = e.act == Act::write || e.act == Act::update;
    if (e.until) n.gives = is_mbarrier(e.place) ? arrivals_on(p_, e.place) : *e.until, n.is_decisive = true;
    if (e.act == Act::meet || e.act == Act::meet_warp || e.act == Act::cluster_arrive || e.act == Act::cluster_wait)
      n.barrier = barrier++;
    bool goes_on = true;
    if (e.only_if) {
      goes_on = taken >> guard++ & 1;
      const bool is_peek = is_mbarrier(e.place);
      const bool is_positive = goes_on == (!is_peek || *e.only_if == 1);
      (is_positive ? n.gives : n.gives_not) = is_peek ? arrivals_on(p_, e.place) : *e.only_if;
      n.is_decisive = true;
    }
    add_event(e, n);
    if (!goes_on) return;
  }
}

Relation Graph::order() const {
  Relation r(nodes_.size(), 0);
  for (int a = 0; a < int(nodes_.size()); ++a)
    for (int b = 0; b < int(nodes_.size()); ++b)
      if (nodes_[a].is_init && !nodes_[b].is_init) add(r, a, b);
  for (const auto& [a, b] : edges_) add(r, a, b);
  return r;
}

int Graph::put(const Node& n) {
  if (nodes_.size() == limit) throw std::runtime_error("a litmus program is too long");
  nodes_.push_back(n);
  return int(nodes_.size()) - 1;
}

int Graph::in_thread(const Node& n) {
  const int at = put(n);
  if (last_ >= 0) edges_.push_back({last_, at});
  return last_ = at;
}

int Graph::asynchronous(Node n, int issue, int after, Proxy proxy) {
  n.is_async = true, n.thread = -1 - int(nodes_.size()), n.proxy = proxy, n.issue = issue;
  n.gives.reset(), n.strength = n.act == Act::update ? Strength::release : Strength::weak;
  const int at = put(n);
  if (after >= 0) edges_.push_back({after, at});
  return at;
}

// An access that a copy makes.
int Graph::access(const Node& of, int place, bool writes, int issue, int after, Proxy proxy) {
  Node n = of;
  n.act = writes ? Act::write : Act::read, n.place = place, n.reads = !writes, n.writes = writes;
  return asynchronous(n, issue, after, proxy);
}

int Graph::arrival(const Node& of, int mbarrier, Reach reach, int issue, int after) {
  Node n = of;
  n.act = Act::update, n.place = mbarrier, n.reads = n.writes = true, n.value = 1, n.reach = reach;
  return asynchronous(n, issue, after, Proxy::generic);
}

void Graph::add_event(const Event& e, const Node& n) {
  Node plain = n;
  switch (e.act) {
    case Act::load_bulk: {
      // mbarrier.arrive.expect_tx, which releases at CTA scope; then the copy. Its end is an implicit proxy fence.
      Node arrive = n;
      arrive.act = Act::update, arrive.place = e.mbarrier, arrive.reads = arrive.writes = true, arrive.value = 1;
      arrive.strength = Strength::release, arrive.reach = Reach::cta;
      in_thread(arrive);
      plain.place = -1;
      const int issue = in_thread(plain);
      const int from = access(n, e.source, false, issue, -1, Proxy::async);
      const int to = access(n, e.place, true, issue, from, Proxy::async);
      arrival(n, e.mbarrier, Reach::cluster, issue, fence_after(n, issue, to));
      return;
    }
    case Act::store_bulk: {
      plain.place = -1;
      const int issue = in_thread(plain);
      const int from = access(n, e.source, false, issue, -1, Proxy::async);
      const int to = access(n, e.place, true, issue, from, Proxy::async);
      store_reads_.push_back(fence_after(n, issue, from));  // and it has read what the wait lets others overwrite
      store_writes_.push_back(fence_after(n, issue, to));
      return;
    }
    case Act::load_async: {
      plain.place = -1;
      const int issue = in_thread(plain);
      const int from = access(n, e.source, false, issue, -1, Proxy::generic);
      copies_.push_back(access(n, e.place, true, issue, from, Proxy::generic));
      return;
    }
    case Act::loads_done: return wait_for(copies_, in_thread(n));
    case Act::stores_done: return wait_for(store_writes_, in_thread(n));
    case Act::stores_read: return wait_for(store_reads_, in_thread(n));
    case Act::loads_arrive: {
      const int issue = in_thread(n);
      return wait_for(copies_, arrival(n, e.mbarrier, Reach::cta, issue, -1));
    }
    default: in_thread(n);
  }
}

void Graph::wait_for(const std::vector<int>& these, int at) {
  for (const int k : these) edges_.push_back({k, at});
}

int Graph::fence_after(const Node& of, int issue, int after) {
  Node n = of;
  n.act = Act::proxy_fence, n.place = -1, n.reads = n.writes = false, n.space = Space::any;
  return asynchronous(n, issue, after, Proxy::async);
}

}  // namespace kiln::test::model
