// Which parts of tensor and shared memory a run used, for what, and by which role: the CTAs of the first cluster of the
// first launch.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ptx/isa/mma_form.hpp"
#include "ptx/isa/swizzle.hpp"
#include "sim/core/observer.hpp"

namespace kiln::sim {

/// A use of memory: the role and the instruction.
struct MapUse {
  std::string role{};         // empty: no label said
  std::string instruction{};  // "tcgen05.mma"
  Proxy proxy = Proxy::generic;
  AccessKind kind = AccessKind::read;
  Operand operand = Operand::none;
  auto operator<=>(const MapUse&) const = default;
};

/// Cells of tensor memory, and what they were used for.
struct TensorArea {
  int lane = 0, lanes = 0, column = 0, columns = 0;
  bool operator==(const TensorArea&) const = default;
};
struct TensorUse {
  MapUse use{};
  std::vector<TensorArea> areas{};  // that do not overlap, by lane and column
};

struct TensorAllocation {
  int column = 0, columns = 0;
  std::string name{};  // the variable that its address went to
};

/// Bytes of shared memory with a name, and what they were used for.
struct SharedRegion {
  std::uint32_t begin = 0, bytes = 0;
  std::string name{};
  std::string content{};  // what TMA brings or takes: the buffer
  std::string swizzle{};  // of an operand that the tensor core reads there
  bool is_mbarrier = false;
  std::vector<MapUse> uses{};
};

/// A tcgen05.mma as it was issued; each way once.
struct MmaUse {
  isa::MmaForm form{};
  int m = 0, n = 0, k = 0;
  isa::ScalarType a = isa::ScalarType::none, b = isa::ScalarType::none, d = isa::ScalarType::none;
  isa::Major a_major = isa::Major::K, b_major = isa::Major::K;
  isa::Swizzle a_swizzle = isa::Swizzle::none, b_swizzle = isa::Swizzle::none;
  bool operator==(const MmaUse&) const = default;
};

/// One CTA.
struct MemoryMap {
  std::string cta{};
  std::uint32_t rank = 0;
  std::vector<TensorAllocation> allocations{};
  std::vector<TensorUse> tensor{};
  std::uint32_t shared_begin = 0, shared_bytes = 0;  // after the system's part
  std::vector<SharedRegion> shared{};                // by address
  std::vector<MmaUse> mmas{};                        // issued by this CTA
};

class MemoryMapper final : public Observer {
 public:
  void start(Cluster&, std::uint32_t launch) override;
  void enter(Cluster& cluster) override { over_ = cluster_ != &cluster; }
  void access(const Agent&, const ir::Operation&, const Range&, AccessKind, Proxy, AsyncId) override;
  void sync(const Agent&, const ir::Operation*, const Sync&) override;
  void transfer(AsyncId, const Transfer&) override;
  void multiply(AsyncId, const Agent&, const MmaTask&) override;

  /// One map for each CTA of the first cluster; none when nothing ran.
  std::vector<MemoryMap> take();

 private:
  struct Tile {
    std::uint32_t bytes = 0;
    std::string content{};
  };
  struct CtaUse {
    MemoryMap map{};
    std::map<MapUse, std::vector<bool>> cells{};  // of tensor memory: lane * columns + column
    std::map<MapUse, std::vector<bool>> words{};  // of shared memory
    std::map<std::uint32_t, Tile> tiles{};        // by address: what bulk copies moved
    std::set<std::uint32_t> mbarriers{};          // by address
    std::vector<SharedRegion> symbols{};
  };

  CtaUse* used(std::uint32_t cta);
  void touch_tensor(CtaUse&, const MapUse&, const Range&);
  void touch_shared(CtaUse&, const MapUse&, const Range&);
  static std::string name_of(const CtaUse&, std::uint32_t at, std::uint32_t bytes);
  void lay_out(CtaUse&);
  static void add_rest(CtaUse&);

  Cluster* cluster_ = nullptr;
  bool over_ = false;  // the first cluster has ended
  std::map<std::uint32_t, CtaUse> ctas_{};
  AsyncId moved_ = 0;  // the last bulk copy, and its buffer
  std::string buffer_{};
  std::pair<const ir::Operation*, MapUse> last_{};  // most accesses repeat the operation of the one before
};

}  // namespace kiln::sim
