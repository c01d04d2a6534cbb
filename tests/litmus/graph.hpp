// The operations of one execution of a litmus program, as far as branches decide them: those of its threads, and those
// that copies make by themselves, with the part of their order that does not depend on which write a read finds.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tests/litmus/causality.hpp"

/// Names of PTX ISA "Memory Consistency Model".
namespace kiln::test::model {

enum class Proxy { generic, async };

/// One operation of an execution. An asynchronous one belongs to no thread: `issue` is the operation that began it.
struct Node {
  int thread = -1, cta = 0;
  Act act = Act::read;
  bool reads = false, writes = false, is_async = false, is_init = false;
  int place = -1;
  Strength strength = Strength::weak;
  Reach reach = Reach::gpu;
  Proxy proxy = Proxy::generic;
  Space space = Space::any;    // of a proxy fence
  int value = 0;               // written or, by an update, added
  std::optional<int> gives{};  // what the read must give
  std::optional<int> gives_not{};
  bool is_decisive = false;  // the read decides what follows
  int barrier = -1;          // the how-manieth barrier of its thread
  int issue = -1;
};

inline constexpr int limit = 64;  // nodes of a graph
using Set = std::uint64_t;
using Relation = std::vector<Set>;

inline bool has(const Relation& r, int a, int b) { return r[a] >> b & 1; }
inline void add(Relation& r, int a, int b) { r[a] |= Set(1) << b; }

/// Adds what follows by transitivity.
void close(Relation&);
bool is_acyclic(Relation);

/// The operations of one choice of branches.
class Graph {
 public:
  explicit Graph(const Program&);

  /// The branches of a thread: bit k says whether its k-th guard holds.
  void add_thread(int thread, std::uint32_t taken);

  const std::vector<Node>& nodes() const { return nodes_; }
  /// Program order, the order inside asynchronous operations, and what ends them.
  Relation order() const;

 private:
  bool is_mbarrier(int place) const { return place >= 0 && p_.locations[place].space == Space::mbarrier; }
  int put(const Node&);
  int in_thread(const Node&);
  int asynchronous(Node, int issue, int after, Proxy);
  int access(const Node& of, int place, bool writes, int issue, int after, Proxy);
  int arrival(const Node& of, int mbarrier, Reach, int issue, int after);
  void add_event(const Event&, const Node&);
  void wait_for(const std::vector<int>& these, int at);
  int fence_after(const Node& of, int issue, int after);

  const Program& p_;
  std::vector<Node> nodes_{};
  std::vector<std::pair<int, int>> edges_{};
  int last_ = -1;
  std::vector<int> copies_{}, store_reads_{}, store_writes_{};
};

}  // namespace kiln::test::model
