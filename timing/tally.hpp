// What each cluster of a launch will do, counted without a clock. Where numbers in memory decide how long loops are,
// clusters differ; but two that execute the same instructions as often take the same time, and one that does as much as
// parts of others together takes about as long as these parts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/schedule/schedule.hpp"
#include "timing/chip.hpp"
#include "timing/cost.hpp"
#include "timing/dependence.hpp"

namespace kiln::timing {

/// Clusters that run where numbers in memory make them differ: all places on the axes that matter, up to so many.
inline constexpr std::size_t most_places = 512;

/// Places on some axes of a grid, the others at 0: all of them, or if they are more than `most` that many, spread
/// over them.
struct ChosenPlaces {
  std::vector<std::uint32_t> numbers{};  // of clusters, ascending
  bool left_out = false;                 // there are more
};
ChosenPlaces places_on(const std::array<std::uint32_t, 3>& extents, const std::array<bool, 3>& axes, std::size_t most);

/// What clusters of a launch do. Each row has the same columns: an instruction, or the bytes that copies move of a
/// buffer, in cycles that some unit needs for these alone.
struct Tallies {
  std::vector<std::uint32_t> places{};
  std::vector<std::vector<double>> rows{};  // by place
  std::vector<bool> multiplies{};           // by place: it executes an MMA
  bool left_out = false;                    // there are more places

  bool empty() const { return places.empty(); }
};

/// Runs clusters of the first launch, if numbers in memory make them differ, and counts what they do. Copies land at
/// once, and what decides nothing is not executed. Give it to a run as its schedule and as its observer.
class Tally final : public sim::schedule::Schedule, public sim::Observer {
 public:
  explicit Tally(const Chip& chip) : chip_(chip) {}

  sim::Outcome run(sim::Cluster&, const ir::Operation*& current) override;
  void transfer(sim::AsyncId, const sim::Transfer&) override;
  void multiply(sim::AsyncId, const sim::Agent&, const sim::MmaTask&) override;
  void sync(const sim::Agent&, const ir::Operation*, const sim::Sync&) override;

  /// Nothing if clusters do not differ by numbers in memory, or could not be counted.
  const Tallies& tallies() const { return tallies_; }

 private:
  bool begin(sim::Cluster&);
  bool go(sim::Cluster&, const ir::Operation*& current);
  bool go_on(sim::Cluster&, sim::Cta&, sim::Warp&, const ir::Operation*& current);
  double part_of(const sim::Warp&, const sim::Fragment&) const;
  void keep();

  const Chip& chip_;
  // By instruction.
  std::vector<std::uint8_t> skipped_{}, is_mma_{};
  std::vector<double> takes_{};  // cycles, of one warp's
  bool asks_ = false;            // for the work of clusters that have not started
  // Of the cluster.
  std::vector<double> counted_{};          // by instruction
  std::map<std::string, double> moved_{};  // cycles of copies, by buffer
  double multiplied_ = 0;                  // cycles of MMAs

  std::map<std::string, std::size_t> columns_{};  // of buffers
  const sim::Cluster* cluster_ = nullptr;
  sim::Cta* cta_ = nullptr;
  std::size_t issued_ = 0;  // MMAs of the instruction
  Tallies tallies_{};
};

}  // namespace kiln::timing
