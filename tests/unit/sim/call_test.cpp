// Device functions: what they take and give, which function calls which, and what ends as a finding.
#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace sim_call {

using namespace kiln;
using namespace kiln::test;
using u32 = std::uint32_t;

namespace {

const std::string lane_store =
    "mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %out, %rd1; st.global.u32 [%rd1], %r9;";

const std::string functions = R"(
.func (.param .b32 result) twice(.param .b32 x) {
  .reg .b32 a<3>;
  ld.param.b32 a1, [x]; add.u32 a2, a1, a1; st.param.b32 [result], a2;
  ret;
}
.func (.reg .b32 result) twice_and_one(.reg .b32 x) {
  .reg .pred odd; .reg .b32 a;
  { .param .b32 p; .param .b32 q; st.param.b32 [p], x; call.uni (q), twice, (p); ld.param.b32 a, [q]; }
  and.b32 result, x, 1; setp.ne.u32 odd, result, 0;
  mov.u32 result, a;
  @odd ret;
  add.u32 result, result, 1;
}
)";

}  // namespace

TEST_CASE("a function takes and gives .param and .reg values, and may return from several places") {
  const Run r =
      run_kernel(kernel("mov.u32 %r1, %tid.x; call (%r9), twice_and_one, (%r1);" + lane_store, functions), 32);
  CHECK_MESSAGE(r.clean(), r.findings());
  for (u32 i = 0; i < 32; ++i) CHECK(r.read<u32>("out")[i] == (i & 1 ? 2 * i : 2 * i + 1));
}

TEST_CASE("lanes that call from different places return to their own") {
  const std::string body = R"(
mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 3; mov.u32 %r9, 1000; setp.eq.u32 %p1, %r2, 0; setp.eq.u32 %p2, %r2, 1;
@%p1 bra FIRST;
@%p2 bra SECOND;
@!%p1 call (%r9), twice_and_one, (5);
bra DONE;
FIRST: call (%r9), twice_and_one, (%r1); add.u32 %r9, %r9, 100;
bra DONE;
SECOND: call (%r3), twice_and_one, (%r1); add.u32 %r9, %r3, %r9;
DONE: )" + lane_store;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    sim::Options options;
    options.seed = seed;
    const Run r = run_kernel(kernel(body, functions), 32, 64, options);
    CHECK_MESSAGE(r.clean(), r.findings());
    for (u32 i = 0; i < 32; ++i) {
      const u32 twice = i & 1 ? 2 * i : 2 * i + 1;
      CHECK(r.read<u32>("out")[i] == (i % 4 == 0 ? twice + 100 : i % 4 == 1 ? twice + 1000 : 10));
    }
  }
}

TEST_CASE("an indirect call goes where its address says, lane by lane") {
  const std::string more = functions + R"(
.func (.param .b32 result) thrice(.param .b32 x) {
  .reg .b32 a<3>;
  ld.param.b32 a1, [x]; mul.lo.u32 a2, a1, 3; st.param.b32 [result], a2;
  ret;
}
.global .align 8 .u64 table[2] = {twice, thrice};
)";
  const std::string body = R"(
prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; mul.wide.u32 %rd2, %r2, 8; mov.u64 %rd3, table; add.u64 %rd2, %rd2, %rd3;
ld.global.u64 %rd4, [%rd2];
{ .param .b32 p; .param .b32 q; st.param.b32 [p], %r1; call (q), %rd4, (p), prototype; ld.param.b32 %r9, [q]; }
)" + lane_store;
  const Run r = run_kernel(kernel(body, more), 32);
  CHECK_MESSAGE(r.clean(), r.findings());
  for (u32 i = 0; i < 32; ++i) CHECK(r.read<u32>("out")[i] == (i & 1 ? 3 * i : 2 * i));
  const Run wrong = run_kernel(kernel("mov.u64 %rd4, 64; p: .callprototype _ (); call %rd4, p;", more));
  CHECK(wrong.has("got a call of address 0x40, which is no function [memory-bounds]"));
}

TEST_CASE("unwritten bytes of a structure stay unwritten in the function") {
  const std::string f = R"(
.func (.param .b32 result) second(.param .align 8 .b8 x[8]) {
  .reg .b32 a;
  ld.param.b32 a, [x+4]; st.param.b32 [result], a;
  ret;
}
)";
  const std::string call = "call.uni (q), second, (p); ld.param.b32 %r9, [q]; } st.global.u32 [%out], %r9;";
  const std::string open = "mov.u32 %r1, 7; { .param .align 8 .b8 p[8]; .param .b32 q; st.param.b32 [p], %r1;";
  CHECK(run_kernel(kernel(open + call, f)).has("[memory-uninitialised]"));
  const Run r = run_kernel(kernel(open + "st.param.b32 [p+4], 9;" + call, f));
  CHECK_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out")[0] == 9);
}

TEST_CASE("functions have shared memory of their own, one for the CTA") {
  const std::string f = R"(
.shared .align 4 .b32 box;
.func put(.reg .b32 x) { st.shared.u32 [box], x; ret; }
.func (.reg .b32 y) take() { .shared .align 4 .b32 other; st.shared.u32 [other], 1; ld.shared.u32 y, [box]; ret; }
)";
  const Run r = run_kernel(kernel("mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 5; @%p1 call put, (%r1); bar.sync 0; "
                                  "call (%r9), take; " +
                                      lane_store,
                                  f),
                           32, 32);
  CHECK_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out") == std::vector<u32>(32, 5));
}

TEST_CASE("a recursion is named, and so is a function without a body") {
  const std::string f = R"(
.func (.reg .b32 y) down(.reg .b32 x) {
  .reg .pred end;
  setp.eq.u32 end, x, 0; mov.u32 y, 0;
  @end ret;
  sub.u32 x, x, 1; call (y), down, (x);
  ret;
}
.extern .func elsewhere;
)";
  CHECK(run_kernel(kernel("call (%r9), down, (0); st.global.u32 [%out], %r9;", f)).clean());
  const Run r = run_kernel(kernel("call (%r9), down, (1);", f));
  CHECK(r.result.outcome == sim::Outcome::incomplete);
  CHECK(r.has("the recursive call of `down`"));
  CHECK(run_kernel(kernel("call elsewhere;", f)).has("a function without a body: `elsewhere`"));
}

TEST_CASE("the heap gives unwritten memory, and free takes it away") {
  const std::string f = ".extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p);\n";
  const std::string get =
      "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call (r), malloc, (n); ld.param.b64 %rd2, [r]; }\n";
  const std::string put = "{ .param .b64 p; st.param.b64 [p], %rd2; call free, (p); }\n";
  CHECK(run_kernel(kernel(get + "st.u32 [%rd2+60], 5; ld.u32 %r9, [%rd2+60]; st.global.u32 [%out], %r9;" + put, f))
            .clean());
  CHECK(run_kernel(kernel(get + "ld.u32 %r9, [%rd2]; st.global.u32 [%out], %r9;" + put, f))
            .has("[memory-uninitialised]"));
  CHECK(run_kernel(kernel(get + put + "st.u32 [%rd2], 5;", f)).has("[memory-bounds]"));
  CHECK(run_kernel(kernel(get + put + put, f)).has("which malloc did not give"));
}

TEST_CASE("a breakpoint that no debugger waits for is a trap") {
  CHECK(run_kernel(kernel("brkpt;")).has("no thread may reach a trap; got a breakpoint [trap-reached]"));
}

}  // namespace sim_call
