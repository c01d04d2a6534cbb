// Kernels that nvcc and clang compiled, under the clock: no figure of them was measured on a B200, so what can be asked
// is that they are timed, each time the same, and no faster than the chip's resources allow.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "harness/contract/contract_json.hpp"
#include "harness/host/files.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/unit/timing/library.hpp"

namespace kiln::test::foreign_test {
namespace {

struct Foreign {
  const char* ptx = "";
  const char* contract = "";
};
constexpr Foreign kernels[] = {{"gemm_bf16_cluster", "gemm_bf16_cluster"},
                               {"gemm_bf16_pipelined", "gemm_bf16_pipelined"},
                               {"attention_chain", "attention_chain"},
                               {"gemm_block_scaled", "gemm_mxf8"},
                               {"gemm_block_scaled", "gemm_nvf4"}};

Subject foreign(const std::string& ptx, const std::string& contract) {
  const std::string folder = std::string(KILN_SOURCE_DIR) + "/tests/interop/";
  Subject s;
  s.contract = harness::read_contract_file(folder + contract + ".json");
  harness::fill(s.contract, folder);
  diag::Sink sink;
  const std::vector<std::uint8_t> text = harness::read_file(folder + ptx + ".ptx");
  s.module = parse::parse(std::make_shared<const diag::Source>(ptx, std::string(text.begin(), text.end())), sink);
  CHECK(!sink.has_errors());
  return s;
}

TEST_CASE("kernels of nvcc and clang are timed, each time the same and not above a roof of the chip") {
  for (const Foreign& k : kernels) {
    double cycles[2] = {};
    for (const bool by_clang : {false, true}) {
      const std::string name = (by_clang ? "clang_" : "") + std::string(k.ptx);
      CAPTURE(name);
      CAPTURE(k.contract);
      const Subject s = foreign(name, k.contract);
      const timing::Prediction p = prediction_of(s), again = prediction_of(s);
      CHECK(p.cycles.value == again.cycles.value);
      CHECK(p.cycles.least <= p.cycles.value);
      CHECK(p.cycles.value <= p.cycles.most);
      const timing::LaunchTime& l = p.launches.at(0);
      CHECK(l.operations > 0);
      CHECK(l.cluster.mmas > 0);
      for (const timing::Roof& r : l.roofs) CHECK(r.cycles <= l.cycles.value);
      // No tensor core is busy for longer than its kernel runs.
      for (const timing::Use& u : l.cluster.uses) CHECK(u.busy <= l.cluster.cycles);
      cycles[by_clang] = p.cycles.value;
    }
    // The two compilers' instructions differ, the waits do not.
    MESSAGE(fmt::format("{}: {:.0f} cycles by nvcc, {:.0f} by clang", k.contract, cycles[0], cycles[1]));
    CHECK(cycles[1] == doctest::Approx(cycles[0]).epsilon(0.10));
  }
}

}  // namespace
}  // namespace kiln::test::foreign_test
