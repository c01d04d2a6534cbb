// A microbenchmark: a loop between two reads of the clock, as PTX, and what comes out of running it with two counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/calibrate/machine.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// A measured number, and half of the range that the middle half of its samples lies in.
struct Figure {
  double value = 0, spread = 0;
};

/// What one of so many takes.
inline Figure divided(Figure f, double by) { return {f.value / by, f.spread / by}; }
/// The middle of the samples and their spread. Throws InputError where there is none.
Figure figure_of(std::vector<double> samples);
/// The line through points: (its value at 0, its slope).
std::pair<double, double> line_through(const std::vector<std::pair<double, double>>& points);

/// Pieces of a kernel. Registers %r0 to %r63, %rd0 to %rd63, %f0 to %f3 and %p0 to %p5 are theirs. What is there:
/// %thread, %rank (of the CTA in its cluster), %block (of the CTA in its grid), %smem (the dynamic shared memory, at a
/// multiple of 1,024), %data and, of the first tensor map, %map.
struct LoopKernel {
  std::string declare{};  // registers of its own
  std::string setup{};    // once
  std::string before{};   // in front of each sample
  std::string body{};     // `copies` of it in each turn of the loop; `#` becomes the number of the copy
  std::string after{};    // after the loop, and before the second read of the clock
  std::string cycles = "sub.u64 %end, %end, %begin;";  // what a sample is: leaves it in %end
  unsigned copies = 16;
  unsigned threads = 1, ctas = 1, cluster = 1;
  unsigned shared_bytes = 0, samples = 9;
  std::uint64_t data_bytes = 4096;
  std::vector<launch::TensorMap> maps{};  // of the buffer "data"
};

/// What the clocks of a CTA said of one sample.
struct LoopTime {
  double cycles = 0, nanoseconds = 0;
};

/// One of the clocks of these samples.
Figure figure_of(const std::vector<LoopTime>&, double LoopTime::*clock);

std::string ptx_of(const LoopKernel&, const std::string& target);
/// One launch with that many turns of the loop: the samples of each CTA, but for the first two.
std::vector<std::vector<LoopTime>> samples_of(Machine&, const LoopKernel&, unsigned turns);
/// Cycles of one copy of the body, out of a short and a long loop; of several CTAs the median.
Figure cycles_of(Machine&, const LoopKernel&, unsigned few = 4, unsigned many = 12);

/// A launch contract of one buffer of zeros for each name.
launch::Contract contract_of(const std::vector<std::pair<std::string, std::uint64_t>>& buffers);
std::vector<std::uint64_t> words_of(const launch::Contract&, const std::string& buffer);

}  // namespace kiln::harness
