// The happens-before detector: judges every access when it is issued, against the last accesses to the same bytes and
// what the issuing thread knows. A verdict therefore depends on the order of synchronisation alone, never on when an
// asynchronous operation happens to run. README.md has the model.
#pragma once

#include "sim/order/async_work.hpp"
#include "sim/order/lifetimes.hpp"
#include "sim/order/memory.hpp"
#include "sim/order/sync_objects.hpp"

namespace kiln::sim {

class RaceDetector final : public Observer {
 public:
  void start(Cluster&, std::uint32_t launch) override;
  void issue(AsyncId, const Agent&, const ir::Operation&) override;
  void execute(const Agent&, const ir::Operation&) override;
  void access(const Agent&, const ir::Operation&, const Range&, AccessKind, Proxy, AsyncId) override;
  void sync(const Agent&, const ir::Operation*, const Sync&) override;

  /// The size of its shadows of shared and tensor memory.
  std::size_t shadow_bytes() const { return memory_.shadow_bytes(); }

 private:
  AccessId record(const Agent&, const ir::Operation&, const Range&, AccessKind, Proxy, AsyncId);
  void arrive_remotely(const Agent&, const ir::Operation&, std::uint32_t cta, Proxy, AsyncId);
  void commit(const Agent&, const ir::Operation&, const Sync&);

  const Cluster* cluster_ = nullptr;
  std::uint32_t launch_ = ~0u;
  Records records_;
  std::vector<AccessId> last_records_;  // by warp
  Agents agents_;
  Reports reports_;
  AsyncWork async_{agents_, reports_};
  Memory memory_{agents_, records_, reports_};
  Mbarriers mbarriers_{agents_, records_, reports_};
  Barriers barriers_{agents_, reports_};
  Flags flags_{agents_};
  Lifetimes lifetimes_{agents_, records_, reports_};
};

}  // namespace kiln::sim
