// What the engine multiplies: kinds of elements, layouts, tensor memory as A, and PTX that compilers wrote.
#include <fstream>
#include <sstream>

#include "harness/contract/contract_json.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_kinds {

using namespace kiln;
using namespace kiln::test;

namespace {

const dsl::Sizes one_cta{{"m", 256}, {"n", 256}, {"k", 256}, {"cta-group", 1}};

Kernel checked(const Kernel& kernel, isa::Target target = isa::sm_90a) {
  diag::Sink sink;
  const auto low = lowered(kernel, target, sink);
  INFO(diag::render_text(sink));
  REQUIRE(low);
  return *low;
}

std::string content(const std::string& path) {
  std::ifstream in(KILN_SOURCE_DIR "/" + path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

Kernel foreign(const std::string& name, const std::string& contract) {
  const std::string json = "tests/interop/" + contract + ".json";
  Kernel out = parsed(content("tests/interop/" + name + ".ptx"), harness::read_contract(content(json), json));
  harness::fill(out.contract);
  return out;
}

}  // namespace

TEST_CASE(
    "every dense kind is multiplied right: bf16, f16, tf32, 8-bit floats and mixes of them, integers, sums in f16") {
  for (const char* name : {"gemm_f16", "gemm_tf32", "gemm_e4m3", "gemm_e5m2_e4m3", "gemm_f16_f16"}) {
    CAPTURE(name);
    check_right(simulated(checked(library_kernel(name, one_cta))));
  }
}

TEST_CASE("floats of 4 and 6 bits of kind::f8f6f4 are multiplied as the 8-bit floats that they equal") {
  for (const char* name : {"gemm_e2m1", "gemm_e4m3_e2m1", "gemm_e3m2_e2m3"}) {
    CAPTURE(name);
    check_right(simulated(checked(library_kernel(name, one_cta))));
  }
}

TEST_CASE("integers come out bit for bit as tcgen05 would make them") {
  for (const char* name : {"gemm_s8", "gemm_u8_s8"}) {
    CAPTURE(name);
    const Kernel kernel = library_kernel(name, one_cta);
    const launch::Contract before = simulated(kernel), after = simulated(checked(kernel));
    check_right(after);
    for (const launch::Expectation& e : before.expectations)
      CHECK(before.at(e.output).bytes == after.at(e.output).bytes);
  }
}

TEST_CASE("operands that are contiguous along M or N are turned over as they are loaded") {
  for (const char* name : {"gemm_f16_at_bt", "gemm_bf16_bt"}) {
    CAPTURE(name);
    check_right(simulated(checked(library_kernel(name, one_cta))));
  }
}

TEST_CASE(
    "S3-40: an accumulator of 128 x 256 is shared by eight warps, and two of them by turns go through the image") {
  check_right(simulated(checked(library_kernel("gemm_swiglu", one_cta))));
}

TEST_CASE("attention: A out of tensor memory, two threads that issue, tcgen05.st, in several schedules") {
  const Kernel low = checked(library_kernel("attention", {}));
  for (const std::uint64_t seed : {1, 2, 3}) check_right(simulated(low, seed));
}

TEST_CASE("PTX of nvcc and of clang is lowered: it gives what it gave, but for rounding") {
  for (const char* name : {"gemm_bf16_pipelined", "clang_gemm_bf16_pipelined"}) {
    CAPTURE(name);
    check_right(simulated(checked(foreign(name, "gemm_bf16_pipelined"))));
  }
}

}  // namespace lower_kinds
