// Block scaling by mma.sync: kernels of the library and of a compiler, scales at the ends of their formats, what ptxas
// makes of it.
#include <cmath>
#include <fstream>
#include <sstream>

#include "harness/contract/contract_json.hpp"
#include "harness/problem/element.hpp"
#include "ptx/isa/scales.hpp"
#include "tests/skip.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_scale {

using namespace kiln;
using namespace kiln::test;

namespace {

constexpr const char* kernels[] = {"gemm_mxf8", "gemm_mxf8_bias_silu", "gemm_mxf6_mxf4", "gemm_mxf4",
                                   "gemm_nvf4", "gemm_nvf4_axpby",     "gemm_mxf4nvf4"};
// Two tiles of each side, and more steps than a ring has stages.
const dsl::Sizes sizes{{"m", 256}, {"n", 256}, {"k", 1280}, {"cta-group", 1}};

Kernel checked(const Kernel& kernel, lower::Place image = lower::Place::automatic) {
  diag::Sink sink;
  const auto low = lowered(kernel, isa::sm_90a, sink, image);
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

// Its contract says nothing about what must come out.
Kernel foreign(const std::string& file, const std::string& name, std::uint32_t block, std::uint32_t mma_k) {
  const std::string json = "tests/interop/" + name + ".json";
  Kernel out = parsed(content("tests/interop/" + file + ".ptx"), harness::read_contract(content(json), json));
  launch::Expectation product;
  product.output = "D";
  product.a = "A", product.b = "B", product.sfa = "SFA", product.sfb = "SFB";
  product.block = block, product.mma_k = mma_k;
  out.contract.expectations.push_back(product);
  harness::fill(out.contract);
  return out;
}

}  // namespace

TEST_CASE("S3-43: block-scaled kernels of the library give the right result in several schedules, without a race") {
  for (const char* name : kernels) {
    CAPTURE(name);
    const Kernel low = checked(library_kernel(name, sizes));
    for (const std::uint64_t seed : {1, 2}) check_right(simulated(low, seed));
  }
}

TEST_CASE("where sums leave no registers the steps of a command are a loop, and its result is right") {
  for (const dsl::Entry& entry : dsl::kernel_table()) {
    if (entry.name != "gemm_nvf4") continue;
    int loops = 0;
    for (const dsl::Strategy& strategy : strategies_of_one_cta(entry)) {
      dsl::Sizes options = sizes;
      for (const auto& [option, value] : strategy) options[std::string(option)] = value;
      const Kernel low = checked(library_kernel("gemm_nvf4", options));
      const bool is_loop = low.text->text().find("lw_step:") != std::string_view::npos;
      CHECK(is_loop == (options.at("tile") == dsl::Size(128, 256, 256)));
      loops += is_loop;
      if (is_loop)
        for (const std::uint64_t seed : {1, 2}) check_right(simulated(low, seed));
    }
    CHECK(loops == 1);
  }
}

TEST_CASE("block-scaled PTX of nvcc and of clang is lowered, and what its contract does not launch is left out") {
  for (const char* file : {"gemm_block_scaled", "clang_gemm_block_scaled"})
    for (const bool packed : {false, true}) {
      CAPTURE(file);
      CAPTURE(packed);
      const Kernel kernel = packed ? foreign(file, "gemm_nvf4", 16, 64) : foreign(file, "gemm_mxf8", 32, 32);
      diag::Sink sink;
      const auto out = lower::lower(kernel.module, {isa::sm_90a, lower::Place::automatic, &kernel.contract}, sink);
      INFO(diag::render_text(sink));
      REQUIRE(out);
      CHECK(out->reports.size() == 1);
      CHECK(out->left_out.size() == 1);
      check_right(simulated(checked(kernel)));
    }
}

TEST_CASE("scales at the ends of ue8m0, and those that are no number, count as they do for tcgen05") {
  Kernel kernel = library_kernel("gemm_mxf4", {{"m", 128}, {"n", 128}, {"k", 256}, {"cta-group", 1}});
  const auto set = [&](const char* scales, std::uint64_t row, int value) {
    launch::Buffer& b = kernel.contract.at(scales);
    for (std::uint64_t k = 0; k < 8; ++k) b.bytes[isa::scale_index(row, k, b.shape[1])] = std::uint8_t(value);
  };
  set("SFA", 1, 0), set("SFA", 2, 254), set("SFA", 3, 255), set("SFB", 4, 0), set("SFB", 5, 254), set("SFB", 6, 255);
  const launch::Contract before = simulated(kernel), after = simulated(checked(kernel));
  const auto value = [](const launch::Contract& c, std::uint64_t row, std::uint64_t column) {
    return harness::element_value(isa::ScalarType::bf16,
                                  harness::load_element(c.at("D").bytes, isa::ScalarType::bf16, row * 128 + column));
  };
  for (std::uint64_t row = 0; row < 8; ++row)
    for (std::uint64_t column = 0; column < 8; ++column) {
      CAPTURE(row);
      CAPTURE(column);
      // 2^127 alone is too much for sums in f32, and where it becomes infinite, each arithmetic says by itself.
      if ((row == 2 && column != 4) || (column == 5 && row != 1)) continue;
      const double x = value(before, row, column), y = value(after, row, column);
      CHECK(((std::isnan(x) && std::isnan(y)) || x == y));
    }
  CHECK(std::isnan(value(after, 3, 0)));
  CHECK(std::isnan(value(after, 0, 6)));
  for (const auto& [row, column] : {std::pair{1, 5}, std::pair{2, 4}}) {
    const double product = std::abs(value(after, std::uint64_t(row), std::uint64_t(column)));
    CHECK(product > 0);
    CHECK(product < 10000);  // 256 products of 36 at most
  }
}

TEST_CASE("block-scaled kernels spill no register, and those that do not fit the 99 KiB of sm_120a are refused") {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return skip(ptxas.missing);
  for (const char* name : kernels) {
    CAPTURE(name);
    const Kernel kernel = library_kernel(name, sizes);
    diag::Sink sink;
    const harness::Assembly a = harness::assemble(ptxas, checked(kernel).text, isa::sm_90a, sink);
    INFO(diag::render_text(sink));
    REQUIRE(a.status == harness::Assembly::Status::assembled);
    for (const harness::EntryResources& e : a.entries) CHECK(e.spill_store_bytes == 0);
    CHECK_FALSE(lowered(kernel, isa::sm_120a, sink));
    CHECK(sink.all().back().slug == "lower-shared-memory");
  }
}

}  // namespace lower_scale
