// For sm_89: what came with Hopper in older instructions, the same bits; what has none is refused by name; and kernels
// without TMA, as nvcc compiled them.
#include "harness/contract/contract_json.hpp"
#include "tests/skip.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_ada {

using namespace kiln;
using namespace kiln::test;

namespace {

constexpr isa::Target sm_89{89};

std::string ptx_of(const std::string& instructions, const std::string& directives = "") {
  return R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out) .reqntid 64, 1, 1 )" +
         directives + R"(
{
  .reg .b32 %r<16>;
  .reg .b16 %h<4>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<8>;
  .reg .pred %p<6>;
  .shared .align 16 .b8 tile[2048];
  .shared .align 8 .b64 bars[4];
  .shared .align 4 .b32 columns;
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 0;
  setp.lt.u32 %p1, %r0, 32;
  mov.u32 %r14, bars;
  mov.u32 %r15, tile;
  @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 32;
  mov.b32 %r1, 0;
  mov.b32 %r2, 0;
  mov.b32 %r3, 0;
  mul.lo.u32 %r4, %r0, 0x01010101;
  mul.lo.u32 %r5, %r0, 0x02030405;
)" + instructions +
         R"(
  bar.sync 0;
  ld.param.u64 %rd0, [out];
  mov.u32 %r13, %ctaid.x;
  mad.lo.u32 %r13, %r13, 64, %r0;
  mad.wide.u32 %rd0, %r13, 16, %rd0;
  st.global.v4.b32 [%rd0], {%r1, %r2, %r3, %r13};
  ld.shared.b32 %r12, [columns];
  @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r12, 32;
  ret;
}
)";
}

Kernel kernel_of(const std::string& instructions, const std::string& directives = "") {
  const char* contract = R"({"entry": "k", "grid": [3, 1, 1], "block": [64, 1, 1],
    "buffers": {"out": {"dtype": "u32", "shape": [768], "init": "zeros"}}, "params": [{"buffer": "out"}]})";
  Kernel out = parsed(ptx_of(instructions, directives), harness::read_contract(contract, "launch.json"));
  harness::fill(out.contract);
  return out;
}

bool assembles(const Kernel& k) {
  diag::Sink sink;
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return true;
  const harness::Assembly a = harness::assemble(ptxas, k.text, sm_89, sink);
  INFO(diag::render_text(sink));
  CHECK(a.status == harness::Assembly::Status::assembled);
  for (const harness::EntryResources& e : a.entries) CHECK(e.spill_store_bytes == 0);
  return a.status == harness::Assembly::Status::assembled;
}

void check_same(const std::string& instructions, const std::string& absent, const std::string& directives = "") {
  CAPTURE(instructions);
  const Kernel kernel = kernel_of(instructions, directives);
  diag::Sink sink;
  const auto low = lowered(kernel, sm_89, sink);
  INFO(diag::render_text(sink));
  REQUIRE(low);
  CHECK(low->text->text().find(absent) == std::string::npos);
  CHECK(assembles(*low));
  CHECK(simulated(kernel).buffers.at(0).bytes == simulated(*low).buffers.at(0).bytes);
}

std::vector<std::string> refusals(const Kernel& kernel) {
  diag::Sink sink;
  CHECK_FALSE(lowered(kernel, sm_89, sink));
  std::vector<std::string> out;
  for (const diag::Diagnostic& d : sink.all()) {
    CHECK(d.slug == "lower-target");
    out.push_back(d.message.substr(d.message.find("; got ") + 6));
  }
  return out;
}

Kernel nvcc_kernel(const std::string& name) {
  const std::string folder = KILN_SOURCE_DIR "/tests/interop/ada/";
  diag::Sink sink;
  Kernel out;
  out.text = diag::Source::read(folder + "gemm_cp_async.ptx");
  out.module = parse::parse(out.text, sink);
  REQUIRE_FALSE(sink.has_errors());
  out.contract = harness::read_contract_file(folder + name + ".json");
  harness::fill(out.contract);
  return out;
}

}  // namespace

TEST_CASE("the leader that elect.sync chooses is the lowest lane of the mask, on sm_89 too") {
  check_same("elect.sync %r1|%p2, 0xffffffff; selp.b32 %r2, 7, 9, %p2;", "elect.sync");
  check_same("@%p1 elect.sync _|%p2, 0xffffffff; @!%p1 setp.ne.u32 %p2, %r0, 40; selp.b32 %r2, 7, 9, %p2;",
             "elect.sync");
  check_same(R"(and.b32 %r6, %r0, 31; setp.gt.u32 %p3, %r6, 11; @!%p3 bra BEHIND;
  elect.sync %r1|%p2, 0xfffff000; selp.b32 %r2, 7, 9, %p2;
BEHIND:)",
             "elect.sync");
}

TEST_CASE("waits and arrivals of sm_90 on the CTA's own mbarriers are those of sm_80, in several schedules") {
  const std::string waits = R"(
  @%p0 mbarrier.init.shared::cta.b64 [bars], 192;
  @%p0 fence.mbarrier_init.release.cluster;
  @%p0 st.shared.b32 [tile], 5;
  bar.sync 0;
  setp.eq.u32 %p3, %r0, 63;
  @%p3 st.shared.b32 [tile], 77;
  mov.b32 %r6, 2;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r14];
  mbarrier.arrive.shared::cta.b64 %rd1, [%r14], %r6;
AGAIN:
  mbarrier.try_wait.acquire.cluster.shared::cta.b64 %p2, [%r14], %rd1, 1000;
  @!%p2 bra AGAIN;
  ld.shared.b32 %r1, [tile];
  mbarrier.arrive.relaxed.cta.shared::cta.b64 %rd1, [%r14], 1;
  mbarrier.arrive_drop.shared::cta.b64 _, [%r14], 2;
MORE:
  mbarrier.try_wait.parity.relaxed.cta.shared::cta.b64 %p2, [bars], 1;
  @!%p2 bra MORE;)";
  check_same(waits, "try_wait");
  const Kernel kernel = kernel_of(waits);
  diag::Sink sink;
  const auto low = lowered(kernel, sm_89, sink);
  REQUIRE(low);
  for (std::uint64_t seed = 2; seed <= 6; ++seed)
    CHECK(simulated(kernel).buffers.at(0).bytes == simulated(*low, seed).buffers.at(0).bytes);
}

TEST_CASE("a CTA that is alone in its cluster is its own cluster") {
  check_same(R"(
  mov.u32 %r6, %cluster_ctarank; mov.u32 %r7, %cluster_nctarank; mov.u32 %r8, %clusterid.x;
  mov.u32 %r9, %nclusterid.x; mov.u32 %r10, %cluster_ctaid.y; mov.u32 %r11, %cluster_nctaid.x;
  mad.lo.u32 %r1, %r6, 3, %r7; mad.lo.u32 %r1, %r1, 7, %r8; mad.lo.u32 %r1, %r1, 7, %r9;
  mad.lo.u32 %r1, %r1, 7, %r10; mad.lo.u32 %r1, %r1, 7, %r11;
  mapa.shared::cluster.u32 %r6, %r15, 0;
  getctarank.shared::cluster.u32 %r7, %r6;
  @%p0 st.relaxed.cluster.shared::cluster.b32 [%r6], 3;
  fence.acq_rel.cluster;
  bar.sync 0;
  atom.relaxed.cluster.shared::cluster.add.u32 %r8, [%r6], 2;
  bar.sync 0;
  ld.relaxed.cluster.shared::cluster.b32 %r2, [%r6+0];
  add.u32 %r2, %r2, %r7;)",
             "cluster", ".reqnctapercluster 1, 1, 1");
}

TEST_CASE("matrices are stored as stmatrix stores them") {
  const std::string look = R"(
  bar.sync 0;
  mad.lo.u32 %r6, %r0, 8, %r15;
  ld.shared.v2.b32 {%r1, %r2}, [%r6];)";
  const std::string rows = R"(
  mad.lo.u32 %r6, %r0, 8, %r15;
  st.shared.v2.b32 [%r6], {0, 0};
  bar.sync 0;
  @!%p1 bra STORED;
  mad.lo.u32 %r7, %r0, 16, %r15;
  cvt.u64.u32 %rd1, %r7;
  cvta.shared.u64 %rd1, %rd1;
)";
  for (const char* i : {"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r7], {%r4, %r5, %r0, %r4};",
                        "stmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 [%r7], {%r4, %r5};",
                        "stmatrix.sync.aligned.m8n8.x1.b16 [%rd1], {%r5};",
                        "stmatrix.sync.aligned.m8n8.x4.trans.b16 [%rd1], {%r4, %r5, %r0, %r4};"})
    check_same(rows + i + "\nSTORED:" + look, "stmatrix");
}

TEST_CASE("sums, differences and products of bf16 are fused ones") {
  const std::string operands = R"(
  mul.lo.u32 %r6, %r0, 0x9E3779B9;
  mul.lo.u32 %r7, %r6, 0x85EBCA6B;
  setp.eq.u32 %p2, %r0, 9;
  @%p2 mov.b32 %r6, 0x80007F80;
  @%p2 mov.b32 %r7, 0x8000FF80;
  mov.b32 {%h0, %h1}, %r6;
  mov.b32 {%h2, %h3}, %r7;
)";
  check_same(operands + "add.rn.bf16x2 %r1, %r6, %r7; sub.bf16x2 %r2, %r6, %r7; mul.bf16x2 %r3, %r6, %r7;",
             "mul.bf16x2");
  check_same(operands + R"(add.bf16 %h0, %h0, %h2; mul.rn.bf16 %h1, %h1, %h3; mov.b32 %r1, {%h0, %h1};
  sub.bf16 %h0, %h2, %h3; mov.b32 %r2, {%h0, %h1};)",
             "sub.bf16");
}

TEST_CASE("what orders asynchronous copies or other grids is nothing where there are none") {
  check_same(R"(griddepcontrol.wait; @%p1 griddepcontrol.launch_dependents;
  @%p0 st.shared.b32 [tile], 9; fence.proxy.async.shared::cta; @%p0 fence.proxy.async; bar.sync 0;
  ld.shared.b32 %r1, [tile];)",
             "griddepcontrol");
}

TEST_CASE("what has no older form is refused by its name on sm_89, each where it stands") {
  CHECK(refusals(
            kernel_of("mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], 16;\n"
                      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 16, [bars];\n"
                      "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r15], 0, [%r14];\n"
                      "tanh.approx.bf16x2 %r1, %r2;\nred.global.add.v4.f32 [%rd1], {%f0, %f1, %f2, %f3};\n"
                      "mov.u32 %r1, %aggr_smem_size;")) ==
        std::vector<std::string>{"mbarrier.arrive.expect_tx.shared::cta.b64 for sm_89",
                                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes for sm_89",
                                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 for sm_89",
                                 "tanh.approx.bf16x2 for sm_89", "red.global.add.v4.f32 for sm_89",
                                 "mov.u32 for sm_89"});
  CHECK(refusals(kernel_of("", ".reqnctapercluster 2, 1, 1")) ==
        std::vector<std::string>{"a cluster of CTAs for sm_89"});
  CHECK(refusals(kernel_of("barrier.cluster.arrive;")) == std::vector<std::string>{"barrier.cluster.arrive for sm_89"});
  CHECK(refusals(library_kernel("gemm_v5", {})) == std::vector<std::string>{"a cluster of CTAs for sm_89"});
}

TEST_CASE("a kernel without tcgen05 gets older forms too, and is refused by name where there are none") {
  const auto of = [](const std::string& instructions) {
    return parsed(R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out) .reqntid 32, 1, 1 .reqnctapercluster 1, 1, 1
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  .reg .pred %p<2>;
  mov.b32 %r1, 0x3F804000;
  griddepcontrol.wait;
)" + instructions + R"(
  ld.param.u64 %rd0, [out];
  @%p0 st.release.cluster.global.b32 [%rd0], %r1;
  ret;
}
)",
                  harness::read_contract(R"({"entry": "k", "grid": [1], "block": [32], "params": [{"buffer": "out"}],
                    "buffers": {"out": {"dtype": "u32", "shape": [1], "init": "zeros"}}})",
                                         "launch.json"));
  };
  Kernel kernel = of("elect.sync _|%p0, 0xffffffff; @%p0 add.bf16x2 %r1, %r1, %r1;");
  harness::fill(kernel.contract);
  diag::Sink sink;
  const auto low = lowered(kernel, sm_89, sink);
  INFO(diag::render_text(sink));
  REQUIRE(low);
  CHECK(assembles(*low));
  CHECK(simulated(*low).buffers.at(0).bytes == simulated(kernel).buffers.at(0).bytes);
  CHECK(refusals(of("setmaxnreg.inc.sync.aligned.u32 96; cp.async.bulk.commit_group;")) ==
        std::vector<std::string>{"setmaxnreg for sm_89", "cp.async.bulk.commit_group for sm_89"});
}

TEST_CASE("GEMMs without TMA that nvcc compiled run on sm_89 when lowered, in several schedules, without a spill") {
  for (const char* name : {"gemm_bf16_cp_async", "gemm_e4m3_cp_async", "gemm_s8_cp_async"})
    for (const lower::Place image : {lower::Place::shared, lower::Place::global}) {
      CAPTURE(name);
      const Kernel kernel = nvcc_kernel(name);
      diag::Sink sink;
      const auto low = lowered(kernel, sm_89, sink, image);
      INFO(diag::render_text(sink));
      REQUIRE(low);
      CHECK(assembles(*low));
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const launch::Contract c = simulated(*low, seed);
        check_right(c);
        if (c.find("D")->dtype == isa::ScalarType::s32)  // exact; floats are added up in another order
          CHECK(c.find("D")->bytes == simulated(kernel).find("D")->bytes);
      }
    }
}

}  // namespace lower_ada
