// What ptxas makes of every kernel of the library that is lowered: no register is spilled.
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

}  // namespace

TEST_CASE("ptxas spills no register of a kernel of the library that is lowered, with any strategy") {
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
        for (const harness::EntryResources& e : a.entries) CHECK(e.spill_store_bytes == 0);
        ++assembled;
      }
    }
  CHECK(assembled >= 60);
}

}  // namespace lower_spill
