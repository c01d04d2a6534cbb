// Small programs of few threads, and which of them race by the PTX memory model. Nothing of Kiln is asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kiln::test {

enum class Strength { weak, relaxed, acquire, release, acq_rel, sc };
enum class Reach { cta, cluster, gpu, sys };

enum class Act {
  read,
  write,
  update,          // adds `value`; on an mbarrier: arrives
  fence,           // of `strength` and `reach`
  proxy_fence,     // fence.proxy.async of the space `space`
  meet,            // bar.sync of all threads of the CTA
  meet_warp,       // bar.warp.sync of all lanes
  cluster_arrive,  // release or relaxed
  cluster_wait,
  load_bulk,    // bulk copy from global `source` to shared `place`; arrives on `mbarrier`, which counts its bytes too
  store_bulk,   // bulk copy from shared `source` to global `place`, and its group
  stores_done,  // cp.async.bulk.wait_group 0
  stores_read,  // cp.async.bulk.wait_group.read 0
  load_async,   // cp.async from global `source` to shared `place`
  loads_done,   // cp.async.wait_all
  loads_arrive  // cp.async.mbarrier.arrive.noinc on `mbarrier`
};

enum class Space { global, shared, mbarrier, any };

struct Event {
  Act act = Act::read;
  int place = -1;
  Strength strength = Strength::weak;
  Reach reach = Reach::gpu;
  int value = 1;
  std::optional<int> until{};    // a read that is made again until it gives this (of an mbarrier: its phase completes)
  std::optional<int> only_if{};  // what follows happens only if the read gave this (of an mbarrier: 1, phase complete)
  int source = -1, mbarrier = -1;
  Space space = Space::any;
};

/// Where a thread stands. Each CTA is a cluster of its own, unless the program says that all CTAs are one.
struct Spot {
  int cta = 0, warp = 0, lane = 0;
};

struct LitmusThread {
  Spot spot{};
  std::vector<Event> events{};
};

struct Location {
  Space space = Space::global;
  int cta = 0;  // the owner of shared memory
};

/// Every location holds 0 when the threads begin; barriers of all threads of a CTA or cluster (`meet`,
/// `cluster_arrive`, `cluster_wait`, `meet_warp`) stand in all threads in the same order.
struct Program {
  std::vector<LitmusThread> threads{};
  std::vector<Location> locations{};
  bool is_one_cluster = false;
};

/// How many times threads and asynchronous operations arrive on an mbarrier: what a wait waits for.
int arrivals_on(const Program&, int mbarrier);

enum class Truth { ordered, races, blocked };

/// Whether some execution that the model allows has a data race: two accesses of one location, one of them a write,
/// that are neither morally strong nor in causality order. PTX ISA "Memory Consistency Model". `blocked`: no execution
/// ends. With `is_global_left_out` races in global memory do not count.
Truth truth_of(const Program&, bool is_global_left_out = false);

}  // namespace kiln::test
