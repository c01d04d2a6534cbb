// What ptxas makes of every kernel of the library that is lowered: no register is spilled, but of those that are named.
#include <array>
#include <set>
#include <string>

#include "tests/skip.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_spill {

using namespace kiln;
using namespace kiln::test;

namespace {

std::vector<dsl::Sizes> variants(const dsl::Entry& e) {
  std::vector<dsl::Sizes> out;
  if (e.strategies.empty()) out.emplace_back();
  for (const dsl::Strategy& s : e.strategies) {
    out.emplace_back();
    for (const auto& [option, value] : s) out.back()[std::string(option)] = value;
  }
  return out;
}

// Kernels whose threads hold a row of sums, or of scores, in registers. All warps of a lowered kernel have as many
// registers, those that now multiply too, so ptxas keeps some of the row in memory.
constexpr std::array hold_a_row{"gemm_bf16_to_mxf8",        "gemm_mxf8_to_mxf8",     "attention_in_turn",
                                "attention_in_turn_causal", "attention_window",      "attention_varlen",
                                "attention_backward_q",     "attention_backward_kv", "gemm_bf16_norm",
                                "gemm_nvf4_dual",           "gemm_e4m3_grouped",     "gemm_e4m3_masked"};

}  // namespace

TEST_CASE("ptxas spills no register of a kernel of the library that is lowered, with any strategy, but of twelve") {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return skip(ptxas.missing);
  int assembled = 0;
  std::set<std::string> spilled;
  for (const dsl::Entry& entry : dsl::kernel_table())
    for (const dsl::Sizes& sizes : variants(entry)) {
      const Kernel kernel = library_kernel(std::string(entry.name), sizes);
      for (const isa::Target target : {isa::sm_90a, isa::sm_120a}) {
        CAPTURE(entry.name);
        CAPTURE(isa::spelling(target));
        diag::Sink sink;
        const auto low = lowered(kernel, target, sink);
        if (!low) continue;  // whether that is right, docs/lowering.md says, and its test
        const harness::Assembly a = harness::assemble(ptxas, low->text, target, sink);
        INFO(diag::render_text(sink));
        REQUIRE(a.status == harness::Assembly::Status::assembled);
        for (const harness::EntryResources& e : a.entries)
          if (e.spill_store_bytes != 0) spilled.insert(std::string(entry.name));
        ++assembled;
      }
    }
  CHECK(assembled >= 60);
  CHECK(spilled == std::set<std::string>(hold_a_row.begin(), hold_a_row.end()));
}

}  // namespace lower_spill
