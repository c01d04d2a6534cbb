// Memory that a thread takes while it runs.
#include <doctest/doctest.h>

#include "tests/unit/sim/eval.hpp"

namespace sim_stack {

using namespace kiln;
using namespace kiln::test;

TEST_CASE("alloca gives each thread memory of its own, aligned as asked") {
  const Run r = run_kernel(kernel(R"(
    .local .align 8 .b8 depot[12];
    mov.u32 %r1, %tid.x; mov.u64 %rd1, 24; mul.lo.u32 %r2, %r1, 4; cvt.u64.u32 %rd5, %r2;
    alloca.u64 %rd2, %rd1, 4; alloca.u64 %rd3, %rd1, 64;
    mad.lo.u32 %r3, %r1, 10, 5; st.local.u32 [%rd2+20], %r3; st.local.u32 [%rd3], %r1; st.local.u32 [depot], %r1;
    ld.local.u32 %r4, [%rd2+20]; and.b64 %rd4, %rd3, 63; cvt.u32.u64 %r5, %rd4; add.u32 %r4, %r4, %r5;
    cvta.local.u64 %rd6, %rd3; ld.u32 %r6, [%rd6]; add.u32 %r4, %r4, %r6;
    add.u64 %rd7, %out, %rd5; st.global.u32 [%rd7], %r4;)"),
                           33, 64);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (u32 t = 0; t < 33; ++t) CHECK(r.read<u32>("out")[t] == 11 * t + 5);
}

TEST_CASE("stackrestore gives memory back, which then holds nothing") {
  const std::string body = R"(
    mov.u64 %rd1, 16; stacksave.u64 %rd2; alloca.u64 %rd3, %rd1; st.local.u32 [%rd3], 41;
    stackrestore.u64 %rd2; alloca.u64 %rd4, %rd1; sub.u64 %rd5, %rd4, %rd3; cvt.u32.u64 %r1, %rd5;
    st.global.u32 [%out], %r1;)";
  const Run again = run_kernel(kernel(body));
  REQUIRE_MESSAGE(again.clean(), again.findings());
  CHECK(again.read<u32>("out")[0] == 0);
  CHECK(
      run_kernel(kernel(body + "ld.local.u32 %r2, [%rd4]; st.global.u32 [%out], %r2;")).has("[memory-uninitialised]"));
  CHECK(
      run_kernel(kernel("stacksave.u64 %rd2; add.u64 %rd2, %rd2, 16; stackrestore.u64 %rd2;")).has("[memory-bounds]"));
}

TEST_CASE("stackrestore of what no stacksave gave is a fault, also where nothing else takes from the stack") {
  CHECK(run_kernel(kernel(".local .align 16 .b8 depot[32]; cvta.local.u64 %rd2, depot; stackrestore.u64 %rd2;"))
            .has("[memory-bounds]"));
}

TEST_CASE("a function's stack ends with it") {
  const std::string function = R"(
.func (.reg .b64 at) take(.reg .b32 value) {
  .reg .b64 %d<3>;
  mov.u64 %d1, 32; alloca.u64 %d2, %d1; st.local.u32 [%d2], value; mov.u64 at, %d2; ret;
}
)";
  const std::string body = R"(
    mov.u64 %rd1, 8; alloca.u64 %rd2, %rd1; st.local.u32 [%rd2], 7; mov.u32 %r1, 5;
    call (%rd3), take, (%r1); call (%rd4), take, (%r1);
    sub.u64 %rd5, %rd4, %rd3; cvt.u32.u64 %r2, %rd5; ld.local.u32 %r3, [%rd2]; add.u32 %r2, %r2, %r3;
    st.global.u32 [%out], %r2;)";
  const Run r = run_kernel(kernel(body, function));
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out")[0] == 7);
  CHECK(run_kernel(kernel(body + "ld.local.u32 %r4, [%rd4]; st.global.u32 [%out], %r4;", function))
            .has("[memory-uninitialised]"));
}

TEST_CASE("a stack that grows beyond its room ends the run as incomplete") {
  const Run r = run_kernel(kernel("mov.u64 %rd1, 4000; alloca.u64 %rd2, %rd1; alloca.u64 %rd3, %rd1;"));
  CHECK(r.result.outcome == sim::Outcome::incomplete);
  CHECK(r.has("a stack of more than 4096 bytes"));
}

}  // namespace sim_stack
