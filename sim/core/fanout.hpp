// Several observers of one run.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/core/observer.hpp"

namespace kiln::sim {

/// Passes everything on to each of its observers, in their order.
class Fanout final : public Observer {
 public:
  explicit Fanout(std::vector<Observer*> observers) : observers_(std::move(observers)) {}
  void add(Observer& o) { observers_.push_back(&o); }

  void start(Cluster& cluster, std::uint32_t launch) override {
    for (Observer* o : observers_) o->start(cluster, launch);
  }
  void enter(Cluster& cluster) override {
    for (Observer* o : observers_) o->enter(cluster);
  }
  void issue(AsyncId id, const Agent& a, const ir::Operation& op) override {
    for (Observer* o : observers_) o->issue(id, a, op);
  }
  void complete(AsyncId id) override {
    for (Observer* o : observers_) o->complete(id);
  }
  void execute(const Agent& a, const ir::Operation& op) override {
    for (Observer* o : observers_) o->execute(a, op);
  }
  void access(const Agent& a, const ir::Operation& op, const Range& r, AccessKind k, Proxy p, AsyncId id) override {
    for (Observer* o : observers_) o->access(a, op, r, k, p, id);
  }
  void sync(const Agent& a, const ir::Operation* op, const Sync& s) override {
    for (Observer* o : observers_) o->sync(a, op, s);
  }
  void transfer(AsyncId id, const Transfer& t) override {
    for (Observer* o : observers_) o->transfer(id, t);
  }
  void multiply(AsyncId id, const Agent& a, const MmaTask& t) override {
    for (Observer* o : observers_) o->multiply(id, a, t);
  }
  bool wants_steps() const override {
    return std::any_of(observers_.begin(), observers_.end(), [](const Observer* o) { return o->wants_steps(); });
  }
  void step(const Agent& a, const ir::Operation& op, const Wait* wait) override {
    for (Observer* o : observers_)
      if (o->wants_steps()) o->step(a, op, wait);
  }

 private:
  std::vector<Observer*> observers_;
};

}  // namespace kiln::sim
