// What ptxas makes of every kernel of the library that is lowered: no register is spilled.
#include "tests/skip.hpp"
#include "tests/unit/lower/lowered.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

// Each strategy with one CTA for a tile.
std::vector<dsl::Sizes> variants(const dsl::Entry& e) {
  std::vector<dsl::Sizes> out;
  if (e.strategies.empty()) out.emplace_back();
  for (const dsl::Strategy& s : strategies_of_one_cta(e)) {
    out.emplace_back();
    for (const auto& [option, value] : s) out.back()[std::string(option)] = value;
  }
  return out;
}

// Bytes that may be spilled: 128 sums in a thread leave no room to unpack elements and keep their scales. The warps that
// serve a pair are the eighth and the ninth of gemm_v8, so that it has a warpgroup more to share registers with.
int allowed(const dsl::Entry& e, const dsl::Sizes& sizes) {
  if (e.name == "gemm_v8") return 52;
  const auto tile = sizes.find("tile");
  return e.name == "gemm_nvf4" && tile != sizes.end() && tile->second.is({128, 256, 256}) ? 480 : 0;
}

}  // namespace

TEST_CASE("ptxas spills no register of a kernel of the library that is lowered, with any strategy for one CTA") {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return skip(ptxas.missing);
  int assembled = 0;
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
        for (const harness::EntryResources& e : a.entries) CHECK(int(e.spill_store_bytes) <= allowed(entry, sizes));
        ++assembled;
      }
    }
  CHECK(assembled >= 60);
}
