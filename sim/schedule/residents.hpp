// CTAs that share a streaming multiprocessor (SM) and with it the columns of its tensor memory. They run side by side
// in a rehearsal before the launch: on memory that is put back afterwards and without an observer, to find out one
// thing, whether their allocations can wait for each other for ever. PTX ISA "tcgen05.alloc": the instruction waits
// while the columns are not there.
#pragma once

#include "sim/schedule/scheduler.hpp"

namespace kiln::sim {

/// The clusters that are resident, each of one CTA, and what they have taken.
class Residents final : public SharedColumns {
 public:
  Residents(Grid& grid, std::uint32_t ctas_per_sm);

  /// Runs the clusters of the launch in order, each as soon as there is room. False, and a finding, when they come to
  /// a stand while an allocation waits. Where they come to a stand without one, or a fault ends it, the launch itself
  /// has the last word.
  bool run();

  /// A CTA that holds columns and asks for more waits until all others have come as far as they can, so every
  /// hold-and-wait that is possible is met.
  bool holds_back(const Cta&) const override;
  void wake(WaitKind kind) override;

 private:
  struct Resident {
    Cluster cluster;
    Patience patience{};
    std::uint32_t turns = 0;
    bool is_running = false, only_polls = false;
    explicit Resident(Grid& grid) : cluster{grid, 0, {}, Random(0)} {}
  };
  bool fill();
  bool turn(Resident&);
  bool let_one_allocate();
  bool be_patient();
  bool end();

  Grid& grid_;
  std::vector<std::unique_ptr<Resident>> residents_;
  ColumnMap columns_{};
  std::uint64_t next_ = 0;           // cluster to start
  const Cta* is_allowed_ = nullptr;  // to take columns beside those that it holds
  const ir::Operation* current_ = nullptr;
};

/// Runs the launch once with `ctas_per_sm` CTAs side by side; false when their allocations wait for each other. True at
/// once when one CTA has the SM for itself or the kernel allocates nothing.
bool rehearse(const Grid& grid, std::uint32_t ctas_per_sm);

}  // namespace kiln::sim
