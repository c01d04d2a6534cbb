// What touched memory last, and whether an access is in order after it: the shadows of shared, tensor and global
// memory.
#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/order/agents.hpp"
#include "sim/order/global_shadow.hpp"
#include "sim/order/reports.hpp"

namespace kiln::sim {

/// What a detector holds in memory.
struct ShadowSize {
  std::size_t shared_bytes = 0, tensor_bytes = 0, global_bytes = 0;
};

class Memory {
 public:
  Memory(Agents& agents, Records& records, Reports& reports) : agents_(agents), records_(records), reports_(reports) {}

  void start(const Cluster&, bool is_new_launch);
  /// Judges an access against what its cells remember, and records it there.
  void touch(const Agent&, AccessId, const Range&, AccessKind);
  /// Frees columns of tensor memory; in a pair those of both, each CTA at its own dealloc or the other's.
  void dealloc(const Agent&, AccessId, Range columns, std::optional<std::uint32_t> peer);
  /// Something has happened that may change a verdict: anything but a plain access.
  void changed() { ++events_; }

  ShadowSize size() const;
  /// Calls f(AccessId&) for everything that is remembered.
  template <class F>
  void each_access(F f) {
    memo_.forget();
    changed();
    global_.each_access(f);
    for (CtaState& c : ctas_)
      for (Shadow* s : {&c.shared, &c.tensor}) s->each_access(f), s->lists().each_access(f);
  }

 private:
  class Sweep;
  struct CtaState {
    Shadow shared{}, tensor{};
    std::uint32_t frees = 0;  // tcgen05.dealloc executed
  };
  // The last cells that were judged, before and after, and what the verdicts rest on. Holds the lists of both. Several:
  // the lines of a tile have been read by as many instructions as they have slices, turned around by the swizzle.
  struct Memo {
    using Key = std::tuple<std::uint64_t, AccessId, Mask, AccessKind, isa::Space, std::uint64_t, std::uint64_t>;
    struct Judged {
      TouchLists* lists = nullptr;  // null: no cell
      std::uint16_t bytes = 0;
      Cell before{}, after{};
    };
    Key key{};
    std::array<Judged, 4> judged{};
    std::size_t next = 0;

    void forget();
    void forget(Judged&);
  };
  void touch_bytes(Sweep&, const Range&);
  void touch_tensor(Sweep&, const Range&);

  Agents& agents_;
  Records& records_;
  Reports& reports_;
  std::vector<CtaState> ctas_;
  GlobalShadow global_;
  std::uint64_t events_ = 1;
  Memo memo_{};
};

}  // namespace kiln::sim
