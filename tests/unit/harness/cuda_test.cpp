#include <doctest/doctest.h>

#include "harness/gpu/cuda_device.hpp"
#include "harness/gpu/cuda_driver.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::cuda_tests {
namespace {

TEST_CASE("which device runs which code") {
  using namespace isa;
  CHECK(runs_on(sm_90a, 9, 0));
  CHECK(!runs_on(sm_100a, 9, 0));
  CHECK(!runs_on(sm_100a, 10, 3));
  CHECK(runs_on(sm_100f, 10, 3));
  CHECK(!runs_on(sm_103f, 10, 0));
  CHECK(runs_on(sm_80, 8, 6));
  CHECK(!runs_on(sm_80, 9, 0));
}

TEST_CASE("a bad cubin is refused with a reason, with or without a GPU") {
  launch::Contract contract;
  contract.launches.emplace_back();
  const CudaJob job{{1, 2, 3, 4}, isa::sm_90a, {"k"}};
  const std::string error = test::error_of([&] { cuda_run(job, contract); });
  CHECK(error != "no error");
  CHECK(!test::contains(error, "\n"));
}

}  // namespace
}  // namespace kiln::harness::cuda_tests
