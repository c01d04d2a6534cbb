// The warps of a cluster under the clock: what each of them will issue, and when it can. It owns the scoreboards, and
// looks at the servers of the SMs without occupying them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptx/isa/wgmma.hpp"
#include "sim/core/machine.hpp"
#include "timing/account.hpp"
#include "timing/chip.hpp"
#include "timing/cost.hpp"
#include "timing/critical_path.hpp"
#include "timing/sm.hpp"

namespace kiln::timing {

/// A thing of a CTA: the CTA in the grid, and the offset in its shared memory.
using Object = std::pair<std::uint32_t, std::uint64_t>;

/// When a warp has what its next instruction reads, and until when it waits for that. Nothing but its own instructions
/// changes that, so it is found once for each of them.
struct Operands {
  std::uint32_t turns = ~std::uint32_t{0};  // of the warp, for which this holds
  std::uint32_t operation = 0;              // and the instruction
  double there = 0, dependent = 0;
  Stall reason = Stall::arithmetic;
};

/// A warp.
struct Track {
  sim::Cta* cta = nullptr;
  sim::Warp* warp = nullptr;
  Sm* sm = nullptr;
  double at = 0;                           // when it may issue next
  std::vector<double> ready{};             // by register
  std::vector<Stall> reason{};             // what makes a register late
  double loaded = 0, stored = 0;           // its tcgen05.ld and .st are done
  double load_free = 0;                    // its next tcgen05.ld may begin
  double passed = 0;                       // what a load of global memory cannot be put before was issued
  double begun = 0;                        // the latest of its instructions that ptxas moves had what it needs, and
  Stall begun_reason = Stall::arithmetic;  // what that waited for
  bool blocked = false;                    // since `at`, for
  std::optional<Stall> blocked_for{};      // nothing: an mbarrier
  std::string awaited{};                   // the mbarrier of its latest wait, and what completed the phase
  std::optional<Object> peeked{};          // the mbarrier of a wait that was answered no, and when it was issued
  double peeked_at = 0;
  Release release{};         // of its latest wait for an mbarrier
  bool is_on_path = true;    // the path knows of that wait
  std::uint32_t number = 0;  // of the cluster's warps
  std::uint32_t turns = 0;
  mutable Operands operands{};

  Server& special_unit() const { return sm->special_units[warp->index % 4]; }
  Server& product_unit() const { return sm->product_units[warp->index % 4]; }
  Server& scheduler() const { return sm->schedulers[warp->index % 4]; }
  /// The number of its warpgroup's first warp.
  std::uint32_t first_of_warpgroup() const { return number - warp->index % isa::warps_per_warpgroup; }
  bool is_first_of_warpgroup() const { return first_of_warpgroup() == number; }
  /// Its turn is one of the lanes that are ahead, so that lanes that spin do not starve others.
  bool is_turn_of_others() const { return turns % others_every == others_every - 1; }
  static constexpr std::uint32_t others_every = 1024;
};

/// An instruction that is about to be issued.
struct Next {
  double at = 0;
  std::uint32_t operation = 0;
  sim::Mask lanes = 0;   // whose guard is true
  bool is_all = true;    // of those that are here
  double operands = 0;   // when its operands are there
  double dependent = 0;  // until when the warp waits for that, and for what
  Stall reason = Stall::arithmetic;
  double unit = 0;  // when its unit takes it, and what made that late
  Stall unit_reason = Stall::fence;
};

class Warps {
 public:
  /// Each CTA has the SM of its rank. Cluster and SMs must outlive the warps.
  Warps(sim::Cluster&, const Chip&, std::vector<Sm>&);

  std::vector<Track>& all() { return tracks_; }
  const Track& operator[](std::uint32_t number) const { return tracks_[number]; }
  /// The number of a CTA's warp. `cta`: in the grid.
  std::uint32_t number_of(std::uint32_t cta, std::uint32_t warp) const;

  /// What a warp will issue, and when it can.
  Next next(const Track&, double now) const;

  /// Null after the last instruction.
  const ir::Operation* operation(std::uint32_t index) const;
  Cost cost(std::uint32_t operation) const { return operation < operations_ ? costs_[operation] : Cost{}; }
  /// Arithmetic, which no other warp can notice.
  bool concerns_itself(std::uint32_t operation) const;
  /// When the warp has what the instruction writes, and what makes that late.
  void set_ready(Track&, std::uint32_t operation, double time) const;
  void set_ready(Track&, std::uint32_t operation, double time, Stall reason) const;

 private:
  const Operands& operands_of(const Track&, std::uint32_t operation) const;

  const sim::Program& program_;
  const Costs costs_;
  const std::size_t operations_;
  std::vector<Track> tracks_{};
};

}  // namespace kiln::timing
