// Clusters as mixes of a few that were run: what one does is, nearly, so much of what this one does and so much of what
// that one does, and so is its time. Which ones run is chosen by what they do: always the one that is least like a mix
// of those before, until all are. Then what the longest ones take shows whether the mixes hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "timing/tally.hpp"

namespace kiln::timing {

/// What one cluster takes, and how much of that each of its tensor cores is busy, in cycles; what it computes, and what
/// it asks of L2, in bytes.
struct Work {
  double cycles = 0, tensor = 0, operations = 0, loaded = 0;
};

class Mixes {
 public:
  /// `most`: clusters that run; `checked`: some more run to see whether mixes hold. Tallies must outlive the mixes.
  Mixes(const Tallies&, std::size_t most, bool checked);

  /// The place that is to be run next; nothing: enough have been.
  std::optional<std::uint32_t> next() const;
  void add(std::uint32_t place, const Work&);
  /// Whether it is known what the cluster there does.
  bool knows(std::uint32_t place) const { return rows_.contains(place); }
  /// Of such a place.
  Work of(std::uint32_t place) const;
  /// How much of each place that was run the mean of all places is.
  std::map<std::uint32_t, double> mean() const;
  Work mean_work() const;
  /// Of all places, those that execute an MMA.
  double multiplying() const;

 private:
  using Vector = std::vector<double>;

  std::size_t row_of(std::uint32_t place) const { return rows_.at(place); }
  bool has_run(std::size_t row) const;
  std::optional<std::size_t> least_alike() const;
  Vector shares(const Vector& coordinates) const;
  Vector mean_shares() const;
  Work sum(const Vector& shares) const;
  double cycles_of(std::size_t row) const;

  const Tallies& tallies_;
  std::size_t most_;
  bool checked_;
  std::map<std::uint32_t, std::size_t> rows_{};  // of places that do the same, one row
  std::vector<std::uint32_t> places_{};          // by row, the first such place
  std::vector<double> count_{};                  // by row, of these places
  std::vector<Vector> left_{};                   // by row: what no mix of those that ran has
  std::vector<Vector> coordinates_{};            // by row: the rest
  double longest_ = 0;                           // of all rows
  std::vector<std::size_t> ran_{};               // rows, in their order
  std::vector<std::uint32_t> at_{};              // of these, the places
  std::vector<Work> works_{};
  int held_ = 0;  // times in a row that a mix has held
};

}  // namespace kiln::timing
