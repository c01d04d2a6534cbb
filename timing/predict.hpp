// A prediction: how long the launches of a contract take on a chip, how sure that is, and what they spend it on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "sim/core/run.hpp"
#include "timing/chip.hpp"
#include "timing/grid.hpp"
#include "timing/timed_run.hpp"

namespace kiln::timing {

/// A number and the interval that the trust of the chip's facts leaves it.
struct Predicted {
  double value = 0, least = 0, most = 0;
};

/// The least that a launch takes on the whole chip if nothing but one resource held it up.
struct Roof {
  std::string name{};
  double cycles = 0;
};

/// One launch.
struct LaunchTime {
  std::string entry{};
  ClusterTime cluster{};  // of its first cluster
  Predicted cluster_cycles{};
  GridWork grid{};            // of all clusters
  std::uint64_t waves = 1;    // of clusters, one after the other
  Predicted cycles{};         // of the whole grid, its start included
  double start_cycles = 0;    // of them, those of a start with cold caches
  double hidden_cycles = 0;   // of them, those before griddepcontrol.wait that pass while the launch before it ends
  double hbm_bytes = 0;       // that HBM gives, each of them once; 0: L2 holds all that the launch reads
  double hbm_cycles = 0;      // least time for that
  double operations = 0;      // of all tensor cores
  double l2_bytes = 0;        // that L2 gives all SMs
  std::vector<Roof> roofs{};  // the highest first
  std::string binds{};        // the resource or the latency that decides
  double binds_share = 0;     // of the cluster's cycles that this resource is busy
  double tensor_use = 0;      // of all tensor cores of the chip, over the grid's cycles
  Clock clock{};              // GHz: the one asked for, or the chip's law at tensor_use
  Predicted seconds{};
};

/// What a prediction loses if one fact is at the slow end of what its trust allows.
struct FactEffect {
  std::string name{};  // a key of the chip's facts; "mma" or "wgmma": the tensor core's times
  double value = 0;    // 0: of these
  Trust trust = Trust::c;
  double cycles = 0;  // of the grids, more or fewer
};

struct Prediction {
  sim::Outcome outcome = sim::Outcome::finished;
  std::vector<LaunchTime> launches{};
  Predicted cycles{};
  Predicted seconds{};      // without the launches
  double clock = 0;         // GHz: cycles by seconds
  bool by_law = true;       // the clock is the chip's law; else it was asked for
  double launch_us = 0;     // what a launch adds, event to event
  bool values = false;      // products were computed, because control flow depends on them or the question says so
  bool l2_is_warm = false;  // as the question says
  std::vector<FactEffect> facts{};        // if they were asked for: those that matter, the most first
  std::vector<std::string> unmodelled{};  // what the prediction leaves out
  std::vector<std::uint8_t> kept{};       // the question's buffer, as the clusters that were run left it
};

/// What L2 holds when the first launch begins. `cold`: something else, as where a measurement fills it between its
/// repetitions. `warm`: the contract's buffers, if they fit.
enum class L2 : std::uint8_t { cold, warm };

struct Question {
  double clock = 0;  // GHz; 0: the chip's law
  L2 l2 = L2::cold;
  bool values = false;    // compute all products
  bool facts = false;     // find out which facts matter: a run of each first cluster for each
  bool all = false;       // run every cluster; else as many as tell what the others take
  bool timeline = false;  // keep the spans of the first cluster
  // A buffer that the prediction brings back. It takes no place in L2.
  std::string kept{};
};

/// Whether kernels of the module that are launched decide anything by what the tensor core computes.
bool needs_values(const ir::Module&, const launch::Contract&);

/// Runs clusters of each launch under the clock, and the first one on the chip bent either way too. The contract's
/// buffers are filled. Findings go to the sink.
Prediction predict(const ir::Module&, const launch::Contract&, const Chip&, const Question&, diag::Sink&);

}  // namespace kiln::timing
