// What holds for every kernel of the table, on every target that it names, and for every strategy on the first of them.
#include <doctest/doctest.h>

#include <cstdlib>

#include "dsl/entry.hpp"
#include "emit/emit.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "ptx/diag/render.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/skip.hpp"
#include "verifier/verify.hpp"

namespace {

using namespace kiln;

// The standard sizes, and on the first target those of every other strategy.
std::vector<dsl::Sizes> instances(const dsl::Entry& e, isa::Target target) {
  std::vector<dsl::Sizes> out{dsl::standard_sizes(e)};
  if (target != e.targets[0]) return out;
  for (std::size_t i = 1; i < e.strategies.size(); ++i) {
    out.push_back(out.front());
    for (const auto& [option, value] : e.strategies[i]) out.back()[std::string(option)] = value;
  }
  return out;
}

template <class Law>
void ask(const dsl::Entry& e, isa::Target target, const dsl::Sizes& sizes, Law law) {
  const dsl::Kernel kernel = e.build(target, sizes);
  diag::Sink sink;
  const auto verified = verifier::verify(kernel.module, sink);
  INFO(diag::render_text(sink));
  REQUIRE(verified);
  CHECK(sink.all().empty());
  law(kernel, std::make_shared<const diag::Source>(std::string(e.name) + ".ptx", emit::emit(*verified)));
}

// Calls `law` with each kernel, its target and its text.
template <class Law>
void for_each_kernel(Law law) {
  for (const dsl::Entry& e : dsl::kernel_table())
    for (const isa::Target target : e.targets)
      for (const dsl::Sizes& sizes : instances(e, target)) {
        CAPTURE(std::string(e.name));
        CAPTURE(isa::spelling(target));
        const std::string tile = sizes.contains("tile") ? dsl::text(sizes.at("tile")) : "";
        CAPTURE(tile);
        ask(e, target, sizes, law);
      }
}

}  // namespace

TEST_CASE("every kernel is clean, and reading its text gives the same module and the same verdict") {
  for_each_kernel([](const dsl::Kernel& kernel, const diag::SourcePtr& text) {
    diag::Sink sink;
    const ir::Module read = parse::parse(text, sink);
    CHECK(read == kernel.module);
    verifier::check(read, sink);
    INFO(diag::render_text(sink));
    CHECK(sink.all().empty());
  });
}

TEST_CASE("ptxas assembles every kernel without spills and without a stack") {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return test::skip("no ptxas: " + ptxas.missing);
  const char* newest_path = std::getenv("KILN_NEWEST_PTXAS");
  const harness::Ptxas newest = newest_path ? harness::inspect_ptxas(newest_path) : ptxas;
  INFO(newest.missing);
  REQUIRE(newest.found());
  std::string too_new;  // of the last kernel for which both are too old
  int assembled = 0;
  for_each_kernel([&](const dsl::Kernel& kernel, const diag::SourcePtr& text) {
    diag::Sink sink;
    harness::Assembly a = harness::assemble(ptxas, text, kernel.target, sink);
    if (a.status == harness::Assembly::Status::unavailable) {
      CHECK(kernel.target.sm == 107);  // everything else is in reach of the oldest ptxas
      a = harness::assemble(newest, text, kernel.target, sink);
    }
    INFO(diag::render_text(sink));
    if (a.status == harness::Assembly::Status::unavailable) {
      too_new = a.reason;
      return;
    }
    ++assembled;
    REQUIRE(a.status == harness::Assembly::Status::assembled);
    REQUIRE(a.entries.size() == 1);
    CHECK_FALSE(a.entries[0].spills());
    CHECK(a.entries[0].stack_bytes == 0);
  });
  CHECK(assembled > 0);
  if (!too_new.empty()) test::skip(too_new + "; KILN_NEWEST_PTXAS names another");
}
