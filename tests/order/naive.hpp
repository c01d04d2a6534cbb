// A race detector without any cleverness: it keeps every access of a run and compares every pair. What the product's
// detector (sim/order) concludes from compressed knowledge must agree with it; they share no code.
//
// Happens-before is a graph. Each event is a node that holds the set of all nodes before it. README.md has the model.
#pragma once

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "ptx/rules/catalogue.hpp"
#include "sim/core/observer.hpp"

namespace kiln::test {

/// Two accesses that race, or lack a fence: where their instructions stand in the PTX, in the order of the run.
struct RacingPair {
  rules::Rule rule{};
  std::uint32_t earlier = 0, later = 0;

  auto operator<=>(const RacingPair&) const = default;
};

class NaiveDetector final : public sim::Observer {
 public:
  void start(sim::Cluster&, std::uint32_t launch) override;
  void enter(sim::Cluster&) override;
  void issue(sim::AsyncId, const sim::Agent&, const ir::Operation&) override;
  void access(const sim::Agent&, const ir::Operation&, const sim::Range&, sim::AccessKind, sim::Proxy,
              sim::AsyncId) override;
  void sync(const sim::Agent&, const ir::Operation*, const sim::Sync&) override;
  bool wants_steps() const override { return true; }
  void step(const sim::Agent&, const ir::Operation&, const sim::Wait*) override { ++instance_; }

  struct Races {
    // For each access and byte of it: the pairs, if there is one that no access in between puts in order.
    std::set<std::set<RacingPair>> found{};
    std::set<RacingPair> allowed{};  // those, and pairs whose link a detector may have lost
  };
  /// A detector must report one pair of each set in `found`, and none that is not `allowed`.
  Races races() const;

 private:
  using Node = std::uint32_t;                                                  // 0: no event
  using ThreadName = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // CTA, warp, lane
  using Bits = std::vector<std::uint64_t>;
  static constexpr int reaches = 3;  // the same CTA, the same cluster, further away
  using Sources = std::array<Node, reaches>;

  struct Group {
    std::vector<sim::AsyncId> copies{};
  };
  struct Thread {
    Node now = 0;
    Sources release{};                               // the last release fence that reaches so far
    std::array<std::set<Node>, reaches> observed{};  // what relaxed loads have read from so far
    std::vector<Group> bulk{1}, copies{1};           // the last group is open
    std::vector<sim::AsyncId> tensor{};              // tcgen05.mma, cp and shift
    std::map<std::tuple<isa::Space, std::uint32_t, std::uint64_t>, Sources>
        released{};                                  // by its releases at each place
    Node last_tensor = 0;                            // the issue of the last of them
    std::set<Node> fences_before{}, fences_after{};  // tcgen05.fence
  };
  // What a strong write has released to those at each distance.
  struct Flag {
    std::uint32_t cta = 0;
    Sources source{};
  };
  struct Barrier {
    std::set<Node> pending{}, complete{};
  };
  // Threads that have arrived at a use of a barrier, and what they hand on.
  struct Use {
    std::set<ThreadName> threads{};
    std::set<Node> nodes{};
  };
  struct Exit {
    ThreadName thread{};
    Node node = 0;
  };
  struct Fence {
    Node node = 0;
    bool shared = false, global = false;
  };
  struct Access {
    const ir::Operation* operation = nullptr;  // gone after the run
    isa::Opcode opcode{};
    isa::DataShape shape{};
    std::uint32_t place = 0;  // of the instruction in the PTX
    ThreadName thread{};
    std::uint64_t instance = 0;     // instructions of a warp that were executed before
    Node node = 0;                  // of a plain access, or of the issue of an asynchronous one
    std::set<Node> fences_after{};  // tcgen05.fence::after_thread_sync before it
    sim::AsyncId async = 0;
    sim::Range range{};
    bool writes = false, rewrites = false;
    bool by_warp = false;  // by an instruction of the whole warp
    sim::Proxy proxy = sim::Proxy::generic;
    bool strong = false;
    int reach = 0;             // of a strong access
    std::uint64_t source = 0;  // of a copy that writes, where it reads
  };

  // Of a warp, what tcgen05.wait waits for.
  struct Transfers {
    std::vector<sim::AsyncId> loads{}, stores{};
  };

  Thread& thread(const sim::Agent& a, std::uint32_t lane) { return threads_[{a.cta, a.warp, lane}]; }
  Node event(const std::set<Node>& after);
  Node relaxed(Node fence, Node arrival, bool meets);
  Node advance(Thread&, std::set<Node> after = {});
  static bool holds(const Bits& set, Node n) { return n / 64 < set.size() && (set[n / 64] >> n % 64 & 1); }
  bool before(Node a, Node b) const { return a == b || (a < b && holds(past_[b], a)); }
  int distance(std::uint32_t cta_a, std::uint32_t cta_b) const;
  void follow_flag(const sim::Agent&, Thread&, const ir::Operation&, const sim::Range&, sim::AccessKind);
  void release(const ir::Operation&, Thread&, int reach, std::set<Node>& into);
  void sync_thread(const sim::Agent&, Thread&, const ir::Operation*, const sim::Sync&);
  void meet(const sim::Agent&);
  void wait_for_lanes(const sim::Agent&);
  void leave(Thread&, const Use&, std::uint32_t cta, bool of_cluster);
  void tensor_access(const sim::Agent&, const ir::Operation&, Access&);
  void tensor_wait(const sim::Agent&, std::vector<sim::AsyncId>&);
  void tensor_commit(Thread&, sim::AsyncId);
  void fence(Thread&, const ir::Operation&);

  bool is_over(const Access&, Node) const;
  bool is_met(const Access&, Node) const;
  bool has_ended(const Access&, Node) const;
  bool is_fenced(const Access&, const Access&) const;
  bool are_morally_strong(const Access&, const Access&) const;
  bool is_exempt(const Access&, const Access&) const;
  bool is_judged(const Access&, const Access&) const;
  bool observes(const std::vector<const Access*>&, std::size_t write, std::size_t by) const;
  bool links(const Access& e, const Access& between, const Access& b) const;
  bool are_tensor_fenced(Node, const Access&) const;
  bool are_tensor_fenced(const Access&, const Access&) const;
  bool races_in_tensor_memory(const Access&, const Access&, rules::Rule&) const;
  bool races(const Access&, const Access&, rules::Rule&) const;
  bool races(const Access& e, const Access& b) const {
    rules::Rule any{};
    return races(e, b, any);
  }

  // What touches the same memory, in the order of the run; each list once.
  std::set<std::vector<const Access*>> conflicts() const;
  void judge(const std::vector<const Access*>&, Races&) const;

  std::vector<Bits> past_{{0}};
  std::vector<Bits> met_{{0}};    // what came before relaxed arrivals at cluster barriers
  std::vector<Bits> ended_{{0}};  // what came before instructions at which lanes wait for each other
  std::map<ThreadName, Thread> threads_;
  std::vector<Exit> exits_;
  std::map<std::uint32_t, std::uint32_t> cluster_of_;
  std::uint32_t cluster_ = 0, clusters_ = 0;
  const ir::Code* code_ = nullptr;
  std::uint64_t instance_ = 0;
  std::map<sim::AsyncId, Node> done_, read_;
  std::map<sim::AsyncId, std::set<Node>> payloads_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Barrier> barriers_;
  std::map<std::tuple<bool, std::uint32_t, std::uint64_t, std::uint64_t>, Use> generations_;
  std::map<std::tuple<isa::Space, std::uint32_t, std::uint64_t>, std::vector<Flag>> flags_;
  std::vector<Fence> fences_;
  std::map<sim::AsyncId, std::uint64_t> sources_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Transfers> transfers_;  // CTA, warp
  sim::AsyncId last_transfer_ = sim::AsyncId{1} << 32;                      // they have no number of the simulator
  std::set<Node> fences_before_;
  std::map<sim::AsyncId, std::set<std::pair<std::uint64_t, std::uint64_t>>>
      accumulators_;  // first column, bytes of a row
  std::vector<Access> accesses_;
};

}  // namespace kiln::test
