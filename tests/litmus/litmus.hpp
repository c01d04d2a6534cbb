// Litmus patterns: small hand-overs between two agents, and the kernels made of them. README.md has the format.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace kiln::test {

/// Where agent B stands relative to agent A.
enum class Place { same, lane, warp, cluster, grid };
std::string_view spelling(Place);

struct LitmusStep {
  char agent = 'A';
  bool whole_warp = false;
  std::string name{};  // of a step that can be taken out
  std::string text{};
  std::string cites{};  // what decides the kernel without it
};

struct LitmusObject {
  std::string name{};
  int bytes = 0;
  int count = 0;  // arrivals of an mbarrier; 0: plain memory
  char owner = 'A';
  bool filled = false;
};

struct LitmusPattern {
  std::string name{};
  std::string about{};
  std::vector<Place> places{};
  std::vector<LitmusObject> objects{};
  std::vector<LitmusStep> steps{};
  bool tmem = false;
  bool wgmma = false;   // for sm_90a, CTAs of one warpgroup
  bool bare = false;    // the agents begin without a barrier
  std::string prior{};  // "writes" or "reads": what the grid before this one does with global memory
};

/// Reads one pattern file; throws std::runtime_error with file and line for what it does not understand.
LitmusPattern read_pattern(const std::string& path);

/// The same from a stream; `path` is for messages.
LitmusPattern read_pattern(std::istream&, const std::string& path);

/// The kernel for one placement, without the step named `removed` (empty: whole).
std::string kernel_of(const LitmusPattern&, Place, const std::string& removed);

}  // namespace kiln::test
