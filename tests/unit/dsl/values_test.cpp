// Values: what build() reports of them.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "dsl/dsl.hpp"
#include "emit/emit.hpp"

namespace dsl_values {

using namespace kiln;
using namespace kiln::dsl;

namespace {

std::string text(KernelBuilder& k) { return emit::emit_unverified(k.build().module); }

std::vector<diag::Diagnostic> refused(KernelBuilder& k) {
  try {
    (void)k.build();
  } catch (const diag::Rejected& r) {
    return r.findings().all();
  }
  return {};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("an index beyond an array of registers is reported with its line") {
  KernelBuilder k("k", sm_100a, warps<1>);
  unsigned line = 0;
  k.role("r", warp<0>.elect(), [&](Thread t) {
    auto sums = t.vars<4>(0.0f);
    line = __LINE__ + 1;
    sums.at(4) = 1.0f;
  });
  const auto found = refused(k);
  REQUIRE(found.size() == 1);
  CHECK(found[0].slug == "dsl-register-index");
  CHECK(found[0].where.line == line);
  CHECK(has(found[0].message, "got 4, the last is 3"));
}

TEST_CASE("a constant predicate decides a trap while the kernel is being built") {
  KernelBuilder k("k", sm_100a, warps<1>);
  k.role("r", warp<0>.elect(), [&](Thread t) {
    t.trap_if(Pred(t.recorder(), ir::Operand::number(0)));
    t.trap_if(t.thread_index() == 5);
  });
  const std::string ptx = text(k);
  CHECK(has(ptx, " trap;"));
  CHECK(ptx.find("trap;") == ptx.rfind("trap;"));
}

}  // namespace dsl_values
