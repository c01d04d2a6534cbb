// Small PTX programs put together at random: a few threads of several warps and CTAs that touch the same few bytes,
// with synchronisation of every kind in between, right or wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::test {

/// A statement: lines of PTX, or a loop around others.
struct Statement {
  std::string text{};
  std::vector<Statement> body{};  // of a loop
  int trips = 0;
};

struct RandomProgram {
  static constexpr std::uint64_t buffer_bytes = 256;
  /// Where in the buffer they meet, with relaxed accesses that order nothing; no statement goes there.
  static constexpr std::uint64_t meeting_word = 192;

  int cluster = 1, clusters = 1;  // CTAs of a cluster, clusters of the grid
  int warps = 1, lanes = 1;       // warps of a CTA; lanes of a warp that do not exit at once
  bool tensor = false;            // uses tensor memory, whose instructions need whole warps
  bool together = false;          // all CTAs meet before the first statement, so that clusters run side by side
  std::vector<Statement> statements{};

  std::uint32_t ctas() const { return std::uint32_t(cluster * clusters); }
  /// A kernel `k` with one pointer parameter, to `buffer_bytes` of global memory.
  std::string ptx() const;
};

/// The program of a seed: always the same.
RandomProgram random_program(std::uint64_t seed);

}  // namespace kiln::test
