// Where microbenchmarks run: a GPU, or in tests a simulator under a chip's clock.
#pragma once

#include <string>
#include <vector>

#include "launch/contract.hpp"

namespace kiln::harness {

/// What is known of a machine before anything is measured.
struct MachineFacts {
  std::string name{};    // "NVIDIA H100 80GB HBM3"
  std::string target{};  // that its kernels are assembled for: "sm_90a"
  std::string driver{};  // empty: not known
  unsigned sms = 0;
  double max_clock = 0;          // GHz; 0: not known
  bool runs_whole_grids = true;  // all CTAs, at the speed of the chip; else the first cluster alone
};

class Machine {
 public:
  virtual ~Machine() = default;
  virtual MachineFacts facts() const = 0;
  /// Runs the launches of a contract whose buffers are filled, and leaves in these what they wrote. Returns the
  /// milliseconds of each, from event to event. Throws InputError where a launch does not come to its end.
  virtual std::vector<double> run(const std::string& ptx, launch::Contract&) = 0;
};

}  // namespace kiln::harness
