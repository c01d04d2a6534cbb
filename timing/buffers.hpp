// The buffers of global memory under the clock. It owns what the cluster has read and written of each, and knows which
// reads L2 leaves to HBM. It takes no time itself: what a transfer costs is of those who ask.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>

#include "sim/core/global_memory.hpp"
#include "timing/surroundings.hpp"

namespace kiln::timing {

/// What a cluster does with a buffer, in bytes.
struct BufferUse {
  double size = 0, moved = 0;
};
using BufferUses = std::map<std::string, BufferUse>;  // by name

class Buffers {
 public:
  using Place = const sim::Region*;  // the buffer in which an address lies; null: none

  /// `hbm_rate`: bytes a cycle that HBM gives the SM. Memory and surroundings must outlive the buffers.
  Buffers(const sim::GlobalMemory& memory, const Surroundings& around, double hbm_rate)
      : memory_(memory), around_(around), hbm_rate_(hbm_rate) {}

  /// Address 0 is in no buffer.
  Place at(std::uint64_t address) const { return address == 0 ? nullptr : memory_.region(address); }

  /// The cluster reads there. Of a read that L2 does not answer: the part that HBM must give.
  std::optional<double> read(Place, std::uint64_t address, double bytes);
  /// Cycles that HBM is busy for `bytes` that it gives a load, with what they drive out of L2.
  double cycles_of_read(double bytes) const { return bytes * (1 + around_.dirty) / hbm_rate_; }
  /// The cluster writes there, and L2 takes it. Cycles of HBM for what that drives out of L2; nothing, if it drives
  /// nothing out that HBM must take.
  std::optional<double> write(Place, double bytes);
  /// It has stored to the address itself.
  void own(std::uint64_t address);
  /// Bytes that loads and copies asked of L2.
  void ask(double bytes) { asked_ += bytes; }

  /// Whether other clusters write there what this one reads.
  bool is_handed(Place) const;
  /// Of what a copy brings from there, the part that L2 gives.
  std::optional<PartGiven> given_by_l2(Place) const;
  /// Of all SMs, the part that get boxes from there which lie outside of the tensor in part.
  double part_outside(Place) const;

  const BufferUses& read() const { return read_; }
  const BufferUses& written() const { return written_; }
  double asked() const { return asked_; }

 private:
  const sim::GlobalMemory& memory_;
  const Surroundings& around_;
  double hbm_rate_;
  BufferUses read_{}, written_{};
  double asked_ = 0;
  std::unordered_set<std::uint64_t> own_{};  // blocks that this cluster has stored to
};

}  // namespace kiln::timing
