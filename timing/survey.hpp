// What clusters that run at the same time ask of L2 together: a line that several SMs of a part of the chip want at
// about the same time comes from L2 once. So it matters how many CTAs load the same box, and where these are.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/schedule/schedule.hpp"
#include "timing/chip.hpp"

namespace kiln::timing {

/// Of what bulk copies load, the part that L2 has to give; 1 where no two CTAs load the same. `together`: while all
/// clusters are at the same step of their first tile; `apart`: once they are not.
struct PartGiven {
  double together = 1, apart = 1;
};
using GivenByL2 = std::map<std::string, PartGiven>;  // by buffer
/// By buffer: of all SMs, the part that get boxes of it which lie outside of its tensor in part.
using PartsOutside = std::map<std::string, double>;

/// Runs all clusters of a launch that are on the chip at the same time, each until it waits for its first copies, and
/// notes where these begin. Give it to a run as its schedule and as its observer; the run computes nothing.
class Survey final : public sim::schedule::Schedule, public sim::Observer {
 public:
  /// `wanted`: launches that are looked at, by their number.
  Survey(const Chip& chip, std::vector<bool> wanted) : chip_(chip), wanted_(std::move(wanted)) {}

  sim::Outcome run(sim::Cluster&, const ir::Operation*& current) override;
  void transfer(sim::AsyncId, const sim::Transfer&) override;

  /// Of each launch that ran.
  std::vector<GivenByL2> given() const;
  std::vector<PartsOutside> outside() const;

 private:
  // Of a box: how many CTAs copy it first of its buffer, and the places that ask L2 for it.
  struct Asked {
    std::uint32_t ctas = 0;
    std::set<std::uint32_t> askers{};
  };
  using Boxes = std::map<std::uint64_t, Asked>;  // by the address where they begin

  bool fills_gpcs() const { return in_clusters_ && chip_[FactId::gpcs_in_turn] == 1; }  // one after the other
  std::uint32_t asker_of(std::uint32_t cta) const;
  PartGiven part_of(const Boxes&) const;

  const Chip& chip_;
  std::vector<bool> wanted_;
  const sim::Cluster* cluster_ = nullptr;  // that runs, and its CTA
  const sim::Cta* cta_ = nullptr;
  bool in_clusters_ = false;                                // CTAs of the launch
  std::set<std::pair<std::uint32_t, std::string>> seen_{};  // CTAs and buffers of this launch
  std::vector<std::map<std::string, Boxes>> launches_{};
  std::vector<std::map<std::string, std::set<std::uint32_t>>> outside_{};  // CTAs whose first boxes lie outside in part
};

}  // namespace kiln::timing
