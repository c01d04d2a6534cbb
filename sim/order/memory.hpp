// What touched memory last, and whether an access is in order after it: the shadows of shared, tensor and global
// memory.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/order/agents.hpp"
#include "sim/order/reports.hpp"
#include "sim/order/shadow.hpp"

namespace kiln::sim {

/// The shadow of global memory: pages, made when they are touched. Before a programmatic dependent launch the grid
/// before it is one more agent: it has touched global memory, and is over only for threads that know of a
/// griddepcontrol.wait. That it let its dependents launch hands over nothing. PTX ISA "griddepcontrol".
class GlobalShadow {
 public:
  static constexpr std::uint64_t page_bytes = 4096;
  explicit GlobalShadow(TouchLists& lists) : lists_(lists) {}

  /// Launches run one after the other, except those that do not wait. `is_early`: this one may begin while grids before
  /// the prior one still run; a thread that waits for the prior one has waited for those too.
  void start_launch(const Grid&, Records&, bool is_early);
  Shadow& page(std::uint64_t number);
  /// Calls f(AccessId&) for everything that is remembered.
  template <class F>
  void each_access(F f) {
    f(prior_access_);
    for (auto& [number, page] : pages_) page->each_access(f);
  }

 private:
  // A buffer that the grid before touches.
  struct Buffer {
    std::uint64_t address = 0, bytes = 0;
    bool writes = false;
  };
  void add_prior_read(Shadow&, std::size_t cell, std::uint32_t bytes) const;
  void add_buffers(Shadow&, std::uint64_t number) const;

  TouchLists& lists_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Shadow>> pages_;
  std::uint64_t last_number_ = 0;
  Shadow* last_ = nullptr;
  std::vector<Buffer> buffers_;
  AccessId prior_access_ = 0;
};

/// The shadows of a cluster's memories; that of global memory, and the lists of all, are shared with other clusters.
class Memory {
 public:
  Memory(Agents& agents, Records& records, Reports& reports, TouchLists& lists, GlobalShadow& global)
      : agents_(agents), records_(records), reports_(reports), lists_(lists), global_(global) {}

  void start(const Cluster&);
  /// Remembers nothing any more.
  void forget_all();
  /// Judges an access against what its cells remember, and records it there.
  void touch(const Agent&, AccessId, const Range&, AccessKind);
  /// Frees columns of tensor memory; in a pair those of both, each CTA at its own dealloc or the other's.
  void dealloc(const Agent&, AccessId, Range columns, std::optional<std::uint32_t> peer);
  /// Something has happened that may change a verdict: anything but a plain access.
  void changed() { ++events_; }

  /// Lets go of the cells that were judged last.
  void forget();
  /// The size of the shadows of shared and tensor memory, lists apart.
  std::size_t shadow_bytes() const;
  /// Calls f(AccessId&) for everything that is remembered of the cluster, lists apart.
  template <class F>
  void each_access(F f) {
    for (CtaState& c : ctas_)
      for (Shadow* s : {&c.shared, &c.tensor}) s->each_access(f);
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
      std::uint16_t bytes = 0;  // 0: no cell
      Cell before{}, after{};
    };
    Key key{};
    std::array<Judged, 4> judged{};
    std::size_t next = 0;
  };
  void forget(Memo::Judged&);
  void touch_bytes(Sweep&, const Range&);
  void touch_tensor(Sweep&, const Range&);

  Agents& agents_;
  Records& records_;
  Reports& reports_;
  TouchLists& lists_;
  GlobalShadow& global_;
  std::vector<CtaState> ctas_;
  std::uint64_t events_ = 1;
  Memo memo_{};
};

}  // namespace kiln::sim
