// A calibration under way: the machine, and the chip that it fills in.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>

#include "harness/calibrate/microbenchmark.hpp"
#include "timing/chip.hpp"

namespace kiln::harness {

/// Measured numbers are better than what they replace only as far as they repeat.
timing::Trust trust_of(const Figure&);

class Session {
 public:
  /// `chip` begins as one of the same architecture, whose numbers stay where nothing is measured.
  Session(Machine& machine, timing::Chip& chip, std::string source)
      : machine_(machine), chip_(chip), source_(std::move(source)) {}

  Machine& machine() const { return machine_; }
  double operator[](timing::FactId id) const { return chip_[id]; }
  /// A fact of the chip. What is not above 0 was not measured: throws InputError.
  void set(timing::FactId, Figure, std::string note = {});
  /// A number that no fact holds: it stands beside them in the file, with its unit.
  void observe(std::string what, Figure, std::string unit);
  void set_wgmma(timing::WgmmaTimes);

 private:
  Machine& machine_;
  timing::Chip& chip_;
  std::string source_;
};

/// A group of microbenchmarks, and whether they need clusters or grids of a whole chip.
struct Probe {
  std::string_view name{};
  void (*measure)(Session&) = nullptr;
  bool whole_grid = false;
  timing::TensorCore chips = timing::TensorCore::all;
};

/// All of them, in the order in which they run: some use what an earlier one has measured.
std::vector<Probe> warp_probes();
std::vector<Probe> barrier_probes();
std::vector<Probe> copy_probes();
std::vector<Probe> wgmma_probes();
std::vector<Probe> grid_probes();

}  // namespace kiln::harness
