// CTAs that share a streaming multiprocessor (SM), and so the columns of its tensor memory. A rehearsal before the
// launch runs them side by side, without an observer and on memory that is restored afterwards. It answers one
// question: can their allocations wait for each other for ever? PTX ISA "tcgen05.alloc": the instruction waits until
// columns are free.
#pragma once

#include "sim/schedule/scheduler.hpp"

namespace kiln::sim {

/// The clusters that are resident, each of one CTA, and what they have taken.
class Residents final : public SharedColumns {
 public:
  Residents(Grid& grid, std::uint32_t ctas_per_sm);

  /// Runs the clusters of the launch in order, each as soon as there is room. False, and a finding, if no thread can go
  /// on while an allocation waits. If no allocation waits then, or a fault ends the rehearsal, the launch itself
  /// decides.
  bool run();

  /// A CTA that holds columns and asks for more waits until no other CTA can go on, so every possible hold-and-wait
  /// occurs.
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
  const Cta* is_allowed_ = nullptr;  // to take columns beside those that it holds
  const ir::Operation* current_ = nullptr;
};

/// Runs the launch once with `ctas_per_sm` CTAs side by side; false when their allocations wait for each other. True at
/// once when one CTA has the SM for itself or the kernel allocates nothing.
bool rehearse(const Grid& grid, std::uint32_t ctas_per_sm);

}  // namespace kiln::sim
