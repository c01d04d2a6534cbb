// Watches a run and leaves its trace.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>

#include "sim/core/observer.hpp"
#include "sim/views/trace.hpp"
#include "sim/views/warp_track.hpp"

namespace kiln::sim {

struct Cta;

class Tracer final : public Observer {
 public:
  bool wants_steps() const override { return true; }
  void start(Cluster&, std::uint32_t launch) override;
  void enter(Cluster&) override;
  void step(const Agent&, const ir::Operation&, const Wait*) override;
  void issue(AsyncId, const Agent&, const ir::Operation&) override;
  void complete(AsyncId) override;
  void transfer(AsyncId, const Transfer&) override;
  void multiply(AsyncId, const Agent&, const MmaTask&) override;
  void sync(const Agent&, const ir::Operation*, const Sync&) override;

  /// The trace. Slices and spans that have not ended are marked as unfinished.
  Trace take();

 private:
  struct Barrier {
    std::string name{};
    std::uint32_t track = 0;
    Tick since = 0;  // of the current phase
    std::uint64_t phase = 0;
    std::optional<std::pair<std::int64_t, std::int64_t>> shown{};  // pending arrivals and bytes
  };
  struct CtaTrace {
    std::uint32_t process = 0;
    std::vector<WarpTrack> warps{};
    std::map<std::uint64_t, Barrier> barriers{};
    std::map<std::uint64_t, TraceSpan> columns{};  // by first column
    std::int64_t allocated = 0;
    Tick tensor_idle = 0;  // since when the tensor core has had nothing to do
  };
  struct Flight {
    std::uint32_t cta = 0;
    bool on_tensor_core = false;
    TraceSpan span{};
  };

  Tick now() const;
  CtaTrace& cta(std::uint32_t index) { return ctas_[index]; }
  const Cta& machine(std::uint32_t index) const;
  void land(Flight&, Tick);
  void show_barriers();
  void show(std::uint32_t cta, std::uint64_t address, Barrier&, Tick);
  void end_phase(CtaTrace&, Barrier&, Tick, bool complete);
  void allocation(const Agent&, const ir::Operation*, const Sync&);
  void close_cluster();
  void add_tracks(CtaTrace&);

  Trace trace_{};
  Cluster* cluster_ = nullptr;
  std::uint32_t launch_ = ~0u, first_process_ = 0, next_process_ = 0;
  Tick offset_ = 0, last_ = 0, end_ = 0;  // of the launch; latest seen; of everything
  std::uint64_t spans_ = 0;
  std::map<std::uint32_t, CtaTrace> ctas_{};  // of the cluster, by index in the grid
  std::map<AsyncId, Flight> flights_{};
  std::vector<std::pair<std::uint32_t, std::uint64_t>> changed_{};  // barriers to be looked at
  Tick changed_at_ = 0;
};

}  // namespace kiln::sim
