// The shadow of global memory: pages, made when they are touched. Before a programmatic dependent launch the grid
// before it is one more agent: it has touched global memory, and is over only for threads that know of a
// griddepcontrol.wait. That it let its dependents launch hands over nothing. PTX ISA "griddepcontrol".
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/core/machine.hpp"
#include "sim/order/records.hpp"
#include "sim/order/shadow.hpp"

namespace kiln::sim {

class GlobalShadow {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  /// Launches run one after the other, except those that do not wait.
  void start_launch(const Grid&, Records&);
  Shadow& page(std::uint64_t number);
  std::size_t memory() const;
  /// Calls f(AccessId&) for everything that is remembered.
  template <class F>
  void each_access(F f) {
    lists_->each_access(f);
    f(prior_access_);
    for (auto& [number, page] : pages_) page->each_access(f);
  }

 private:
  // Memory that the grid before touches.
  struct PriorRange {
    std::uint64_t address = 0, bytes = 0;
    bool writes = false;
  };
  std::vector<PriorRange> touched(const Records&) const;
  void remember_prior_grid(Shadow&, std::uint64_t number) const;

  std::shared_ptr<TouchLists> lists_ = std::make_shared<TouchLists>();
  std::unordered_map<std::uint64_t, std::unique_ptr<Shadow>> pages_;
  std::uint64_t last_number_ = 0;
  Shadow* last_ = nullptr;
  std::vector<PriorRange> prior_;
  AccessId prior_access_ = 0;
};

}  // namespace kiln::sim
