// The first GPU of this computer, for microbenchmarks.
#pragma once

#include "harness/calibrate/machine.hpp"
#include "harness/gpu/cuda_device.hpp"
#include "harness/ptxas/ptxas.hpp"

namespace kiln::harness {

class GpuMachine final : public Machine {
 public:
  /// Throws InputError where there is no GPU, none that Kiln has a target for, or no ptxas.
  GpuMachine();
  MachineFacts facts() const override { return facts_; }
  std::vector<double> run(const std::string& ptx, launch::Contract&) override;

 private:
  Gpu gpu_{};  // holds its context, which takes longer to make than most kernels here take to run
  MachineFacts facts_{};
  Ptxas ptxas_{};
  std::string assembled_{};  // the latest kernel, and what ptxas made of it
  std::vector<std::uint8_t> cubin_{};
  bool hangs_ = false;  // a kernel did: nothing can be run any more
};

}  // namespace kiln::harness
