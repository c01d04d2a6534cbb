// Wavefronts of shared memory against what an H200 counted.
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "ptx/isa/shared_banks.hpp"

using namespace kiln;

TEST_CASE("a warp's store takes as many wavefronts of shared memory as were measured") {
  std::ifstream in(KILN_TEST_DATA "/gpu/shared_wavefronts.txt");
  int patterns = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::uint32_t bytes = 0, wavefronts = 0;
    words >> bytes >> wavefronts;
    std::vector<std::uint32_t> addresses;
    for (std::uint32_t a = 0; words >> a;) addresses.push_back(a);
    CAPTURE(line);
    REQUIRE(addresses.size() == 32);
    CHECK(isa::shared_wavefronts(addresses, bytes) == wavefronts);
    ++patterns;
  }
  CHECK(patterns > 100);
}

TEST_CASE("a wavefront serves 32 lanes of four bytes or less, 16 of eight, 8 of sixteen") {
  CHECK(isa::lanes_a_wavefront(1) == 32);
  CHECK(isa::lanes_a_wavefront(4) == 32);
  CHECK(isa::lanes_a_wavefront(8) == 16);
  CHECK(isa::lanes_a_wavefront(16) == 8);
}
