// Launches of kernels that stand in files of tests/data/ptx.
#pragma once

#include <fstream>
#include <sstream>

#include "tests/unit/sim/run.hpp"

namespace kiln::test {

/// The text of a file of tests/data/ptx.
inline std::string data_file(const std::string& name) {
  std::ifstream in(std::string(KILN_TEST_DATA) + "/ptx/" + name);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline launch::Param number(std::int32_t v) { return scalar(isa::ScalarType::s32, std::uint32_t(v)); }
inline launch::Param number(float v) { return scalar(isa::ScalarType::f32, std::bit_cast<std::uint32_t>(v)); }

/// Runs one launch of `entry` on blocks of `threads` threads.
inline Run run_entry(const std::string& file, const std::string& entry, std::uint32_t blocks, std::uint32_t threads,
                     std::vector<launch::Buffer> buffers, std::vector<launch::Param> params,
                     sim::Options options = {}) {
  launch::Contract c;
  c.buffers = std::move(buffers);
  launch::Launch l;
  l.entry = entry;
  l.grid = {blocks, 1, 1};
  l.block = {threads, 1, 1};
  l.params = std::move(params);
  c.launches.push_back(l);
  return run(data_file(file), c, options);
}

}  // namespace kiln::test
