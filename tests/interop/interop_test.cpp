// CUDA C++ with inline PTX, compiled by nvcc and clang, runs as it is; and what its authors could have got wrong is found.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "tests/interop/interop.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

// KILN_SEEDS=50 asks for more schedules than the one that is enough for every day.
std::uint64_t seeds() {
  const char* text = std::getenv("KILN_SEEDS");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

// bugs.txt: kernel, mistake, what must be among the findings.
std::map<std::string, std::string> expected_of(const std::string& source) {
  std::map<std::string, std::string> expected;
  for (const std::string& line : interop::lines("bugs.txt")) {
    std::istringstream in(line);
    std::string file, bug, slug;
    if (in >> file >> bug >> slug && file == source) CHECK_MESSAGE(expected.emplace(bug, slug).second, line);
  }
  return expected;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += " " + w;
  return text;
}

}  // namespace

TEST_CASE("kernels that nvcc and clang compiled give right results and no errors") {
  for (const interop::Kernel& kernel : interop::kernels())
    for (const char* prefix : {"", "clang_"})
      for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        CAPTURE(kernel.name);
        CAPTURE(prefix);
        CAPTURE(seed);
        const interop::Outcome o = interop::run(kernel, prefix, seed);
        CHECK_MESSAGE(o.report.exit_code() == 0, o.text());
        CHECK_MESSAGE(o.error_slugs().empty(), o.text());
      }
}

TEST_CASE("every seeded mistake is found, and the same code without one is clean") {
  std::size_t rows = 0;
  for (const interop::Kernel& kernel : interop::kernels()) {
    if (kernel.name == "gemm_nvf4") continue;  // the same source as gemm_mxf8
    CAPTURE(kernel.name);
    const auto expected = expected_of(kernel.source);
    const std::vector<std::string> names = interop::bug_names(kernel);
    CHECK(names.size() >= 12);
    rows += names.size();
    CHECK_MESSAGE(interop::run_with_bug(kernel, 0, 1).error_slugs().empty(), "no_bug");
    for (std::uint32_t i = 0; i < names.size(); ++i)
      for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
        CAPTURE(names[i]);
        CAPTURE(seed);
        const interop::Outcome o = interop::run_with_bug(kernel, i + 1, seed);
        const std::vector<std::string> found = o.slugs();
        const auto row = expected.find(names[i]);
        CHECK_MESSAGE(row != expected.end(), names[i], ": bugs.txt has no row; found", joined(found));
        if (row != expected.end()) CHECK_MESSAGE(std::count(found.begin(), found.end(), row->second), names[i], ": found", joined(found));
      }
  }
  CHECK_MESSAGE(rows == interop::lines("bugs.txt").size(), "each row of bugs.txt is a mistake of a kernel");
}
