// What came with Blackwell besides tcgen05, in instructions that Hopper has: the same bits.
#include <cstring>

#include "harness/contract/contract_json.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_older {

using namespace kiln;
using namespace kiln::test;

namespace {

// Each thread has 32 bytes of its own. Numbers of all kinds go in, NaNs and infinities too.
Kernel kernel_of(const std::string& instructions) {
  const std::string ptx = R"(.version 9.0
.target sm_100a
.address_size 64
.shared .align 4 .b8 few[20];
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 one);
.func other(.param .b32 x) { ret; }
.extern .shared .align 16 .b8 dynamic[];
.visible .entry k(.param .u64 in, .param .u64 out) .reqntid 128, 1, 1
{
  .reg .b32 %r<12>, %t<4>;
  .reg .f32 %f<4>;
  .reg .b16 %h<4>;
  .reg .b64 %rd<8>;
  .reg .pred %p<2>;
  .shared .align 4 .b32 address;
  mov.u32 %t0, %tid.x;
  setp.lt.u32 %p0, %t0, 32;
  @%p0 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;
  @%p0 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  bar.sync 0;
  setp.ne.u32 %p1, %t0, 5;
  ld.param.u64 %rd0, [in];
  ld.param.u64 %rd1, [out];
  mad.wide.u32 %rd0, %t0, 32, %rd0;
  mad.wide.u32 %rd1, %t0, 32, %rd1;
  ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd0];
  ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd0+16];
  mov.b64 %rd2, {%r0, %r1};
  mov.b64 %rd3, {%r2, %r3};
  mov.b64 %rd4, {%r4, %r5};
  mov.b32 %f0, %r0; mov.b32 %f1, %r1; mov.b32 %f2, %r2;
  mov.b32 {%h0, %h1}, %r4;
)" + instructions + R"(
  st.global.v4.b32 [%rd1], {%r0, %r1, %r2, %r3};
  st.global.v4.b32 [%rd1+16], {%r4, %r5, %r6, %r7};
DONE:
  bar.sync 0;
  ld.shared.b32 %t1, [address];
  @%p0 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t1, 32;
  ret;
}
)";
  const char* contract = R"({"entry": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "dynamic_smem": 64,
    "buffers": {"in": {"dtype": "u32", "shape": [1024], "init": "zeros"},
                "out": {"dtype": "u32", "shape": [1024], "init": "zeros"}},
    "params": [{"buffer": "in"}, {"buffer": "out"}]})";
  Kernel out = parsed(ptx, harness::read_contract(contract, "launch.json"));
  harness::fill(out.contract);
  launch::Buffer& in = out.contract.buffers.at(0);
  std::uint32_t word = 0x9E3779B9u;
  for (std::size_t i = 0; i < 1024; ++i) {
    word = word * 1664525u + 1013904223u;
    const std::uint32_t special[] = {0x7FC00000u, 0xFF800000u, 0x00000001u, 0x80000000u};
    const std::uint32_t value = i % 11 == 3 ? special[i / 11 % 4] : word;
    std::memcpy(in.bytes.data() + 4 * i, &value, 4);
  }
  return out;
}

void check_same(const std::string& instructions, const std::string& absent) {
  CAPTURE(instructions);
  const Kernel kernel = kernel_of(instructions);
  diag::Sink sink;
  const auto low = lowered(kernel, isa::sm_90a, sink);
  INFO(diag::render_text(sink));
  REQUIRE(low);
  CHECK(low->text->text().find(absent) == std::string::npos);
  CHECK(simulated(kernel).buffers.at(1).bytes == simulated(*low).buffers.at(1).bytes);
}

}  // namespace

TEST_CASE("arithmetic of two floats at a time becomes one for each") {
  for (const char* op : {"add.rn.f32x2 %rd2, %rd2, %rd3;", "sub.rz.ftz.f32x2 %rd2, %rd2, %rd3;",
                         "mul.rp.f32x2 %rd2, %rd3, %rd2;", "fma.rn.f32x2 %rd2, %rd2, %rd3, %rd4;"})
    check_same(std::string(op) + " mov.b64 {%r0, %r1}, %rd2;", "f32x2");
}

TEST_CASE("a minimum or maximum of three becomes two, magnitudes and NaNs as before, under a guard too") {
  for (const char* op : {"max.f32 %f0, %f1, %f0, %f2;", "min.ftz.f32 %f0, %f1, %f0, %f2;",
                         "@%p1 max.NaN.abs.f32 %f0, %f1, %f0, %f2;", "min.ftz.NaN.abs.f32 %f0, %f1, %f0, %f2;"})
    check_same(std::string(op) + " mov.b32 %r0, %f0;", ".abs.f32 %f0");
}

TEST_CASE("f32 with f16 or bf16 becomes a conversion and f32") {
  for (const char* op :
       {"add.f32.bf16 %f0, %h0, %f1;", "sub.rz.f32.f16 %f0, %h0, %f1;", "fma.rn.f32.bf16 %f0, %h0, %h1, %f1;"})
    check_same(std::string(op) + " mov.b32 %r0, %f0;", "f32.bf16 %f0");
}

TEST_CASE("an access of 256 bits becomes two of 128, when it writes its own address too") {
  for (const char* op : {"ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%rd0];",
                         "ld.global.L2::evict_last.v4.b64 {%rd0, %rd2, %rd3, %rd4}, [%rd0]; mov.b64 {%r0, %r1}, %rd0; "
                         "mov.b64 {%r2, %r3}, %rd4;",
                         "st.global.v8.b32 [%rd1], {%r7, %r6, %r5, %r4, %r3, %r2, %r1, %r0}; bra DONE;"})
    check_same(op, "v8");
}

TEST_CASE("dynamic shared memory begins where it did, as far as a swizzle can see") {
  const Kernel kernel = kernel_of("mov.b32 %r0, dynamic; and.b32 %r0, %r0, 1023;");
  diag::Sink sink;
  const auto low = lowered(kernel, isa::sm_90a, sink, lower::Place::global);
  REQUIRE(low);
  CHECK(simulated(kernel).buffers.at(1).bytes == simulated(*low).buffers.at(1).bytes);
}

// nvcc's own words for assert(condition).
constexpr const char* assertion = R"(
  setp.lt.u32 %p1, %t0, LIMIT;
  @%p1 bra HOLDS;
  {
    .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
    st.param.b64 [p0], %rd0;
    st.param.b64 [p1], %rd0;
    st.param.b32 [p2], 112;
    st.param.b64 [p3], %rd0;
    st.param.b64 [p4], 1;
    call.uni __assertfail, (p0, p1, p2, p3, p4);
  }
HOLDS:
)";

std::string asserted(const std::string& limit) {
  return std::string(assertion).replace(std::string(assertion).find("LIMIT"), 5, limit);
}

TEST_CASE("an assertion that holds changes nothing, and one that does not ends the kernel") {
  check_same(asserted("128"), "tcgen05");
  diag::Sink sink;
  const auto low = lowered(kernel_of(asserted("127")), isa::sm_90a, sink);
  REQUIRE(low);
  launch::Contract contract = low->contract;
  diag::Sink found;
  CHECK(sim::simulate(low->module, contract, {}, found).outcome != sim::Outcome::finished);
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return;
  const harness::Assembly a = harness::assemble(ptxas, low->text, isa::sm_90a, found);
  CHECK(a.status == harness::Assembly::Status::assembled);
}

TEST_CASE("any other call in a kernel that uses tcgen05 is refused") {
  diag::Sink sink;
  CHECK_FALSE(lowered(kernel_of("{ .param .b32 x; st.param.b32 [x], 1; call.uni other, (x); }"), isa::sm_90a, sink));
  CHECK(sink.all().front().slug == "lower-unsupported");
}

}  // namespace lower_older
