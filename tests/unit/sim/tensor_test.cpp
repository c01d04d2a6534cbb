// Tensor memory: allocation, loads, stores, copies.
#include <doctest/doctest.h>

#include "tests/unit/sim/tensor_kernel.hpp"

namespace sim_tensor {

using namespace kiln;
using namespace kiln::test;

namespace {

// Writes value lane * 1000 + column to every cell of eight columns.
const std::string fill = [] {
  std::string text = "mul.lo.u32 %r10, %r0, 1000;\n";
  for (int c = 0; c < 8; ++c) text += "add.u32 %r" + std::to_string(20 + c) + ", %r10, " + std::to_string(c) + ";\n";
  return text + "tcgen05.st.sync.aligned.32x32b.x8.b32 [%r6], " + vector_of("r", 20, 8) +
         ";\ntcgen05.wait::st.sync.aligned;\n";
}();

// The load under test, its registers at word [register * 128 + thread] of the output.
std::vector<u32> loaded(const std::string& modifiers, int registers, const std::string& tail = "") {
  const Run r = run_tensor(
      tensor_kernel(fill + "tcgen05.ld.sync.aligned." + modifiers + ".b32 " + vector_of("r", 100, registers) +
                    ", [%r6]" + tail + ";\ntcgen05.wait::ld.sync.aligned;\n" + put(100, registers)),
      std::vector<u8>(16), std::size_t(registers) * 512);
  REQUIRE_MESSAGE(r.clean(), modifiers << "\n" << r.findings());
  return r.read<u32>("out");
}

}  // namespace

TEST_CASE("every load shape picks its cells") {
  const auto wide = loaded("32x32b.x4", 4);
  CHECK(wide[2 * 128 + 37] == 37002);
  const auto a = loaded("16x64b.x2", 2);  // thread t: row t/4 + 8(t%2), column 2i + (t/2)%2
  CHECK(a[0 * 128 + 1] == 8000);
  CHECK(a[1 * 128 + 32 + 6] == 33003);
  const auto b = loaded("16x128b.x1", 2);  // row t/4 + 8i, column t%4
  CHECK(b[1 * 128 + 7] == 9003);
  const auto c = loaded("16x256b.x1", 4);  // row t/4 + 8(i/2), column 2(t%4) + i%2
  CHECK(c[3 * 128 + 7] == 9007);
  const auto d = loaded("16x32bx2.x2", 2, ", 4");  // lanes t%16; threads 16 and up start 4 columns later
  CHECK(d[1 * 128 + 3] == 3001);
  CHECK(d[1 * 128 + 19] == 3005);
  const auto packed = loaded("32x32b.x2.pack::16b", 2);
  CHECK(packed[1 * 128 + 3] == (3002u | 3003u << 16));
}

TEST_CASE("stores mirror loads, and unpack spreads halves") {
  const Run r = run_tensor(tensor_kernel(R"(
    mul.lo.u32 %r20, %r0, 65537; add.u32 %r21, %r20, 65536;
    tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%r6], {%r20, %r21}; tcgen05.wait::st.sync.aligned;
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r100, %r101, %r102, %r103}, [%r6]; tcgen05.wait::ld.sync.aligned;
    )" + put(100, 4)),
                           std::vector<u8>(16), 2048);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out")[0 * 128 + 9] == 9);
  CHECK(r.read<u32>("out")[3 * 128 + 9] == 10);
}

TEST_CASE("tensor memory is checked") {
  const auto with = [](const std::string& body) {
    return run_tensor(tensor_kernel(body, 32), std::vector<u8>(16), 512);
  };
  const std::string beyond = "add.u32 %r7, %r6, 30; tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r10, %r11, %r12, %r13}, [%r7];";
  CHECK(with(beyond + "add.u32 %r13, %r13, 1;").has("of which 32 is not allocated [tcgen05-tmem-range]"));
  CHECK(with(beyond + "add.u32 %r11, %r11, 1;").has("portability: a load must read inside the allocation, also where no "
                                                     "instruction uses what it reads beyond; got columns 30 to 33, of "
                                                     "which 32 is not allocated [tcgen05-tmem-range-unused]"));
  CHECK(with("add.u32 %r7, %r6, 32; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r7];")
            .has("of which 32 is not allocated [tcgen05-tmem-range]"));
  CHECK(with("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r6]; st.global.u32 [%own], %r10;")
            .has("got tensor-memory cells from column 0 as what is stored in global memory [memory-uninitialised]"));
  CHECK(with("tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%r0};").has("[tcgen05-ld-quarter]"));
  CHECK(with("setp.lt.u32 %p1, %r0, 9; @%p1 exit; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r0};")
            .has("[warp-aligned]"));
  CHECK(with("add.u32 %r7, %r6, %r0; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r7], {%r0};").has("[warp-uniform]"));
  CHECK(with("@%p8 bra N; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], 48; N:")
            .has("[tcgen05-alloc-columns]"));
  CHECK(with("@%p8 bra N; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; "
             "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], 32; N:")
            .has("[tcgen05-alloc-relinquished]"));
  CHECK(with("@%p8 bra N; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], 512; N:")
            .has("waits for 512 free columns of tensor memory; 32 are allocated"));
}

TEST_CASE("an uncommitted MMA is not waited for") {
  // The commit comes before the MMA: the load reads unwritten cells, on some schedule or all.
  const Run r = run_tensor(tensor_kernel(R"(
    setp.ne.u32 %p1, %r0, 0; @%p1 bra W;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%r6]; st.global.u32 [%own], %r10;)"),
                           std::vector<u8>(16), 512);
  CHECK(r.has("[memory-uninitialised]"));
}

TEST_CASE("cp spreads shared rows over lanes, shift moves them up") {
  std::vector<u8> in(2048);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = u8(i / 16);
  const Run r = run_tensor(tensor_kernel(R"(
    mov.u32 %r10, %r0; shl.b32 %r11, %r0, 4; cvt.u64.u32 %rd1, %r11; add.u64 %rd1, %rd1, %in;
    ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%rd1];
    add.u32 %r11, %r11, %r3; st.shared.v4.u32 [%r11], {%r12, %r13, %r14, %r15}; fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.u32 %p1, %r0, 0; @%p1 bra W;
    shr.u32 %r12, %r3, 4; cvt.u64.u32 %rd2, %r12; add.u64 %rd2, %rd2, 0x0000400800000000;
    tcgen05.cp.cta_group::1.32x128b.warpx4 [%r2], %rd2;
    add.u32 %r13, %r2, 8; tcgen05.cp.cta_group::1.128x128b [%r13], %rd2; add.u32 %r14, %r2, 12;
    tcgen05.cp.cta_group::1.128x128b [%r14], %rd2; tcgen05.shift.cta_group::1.down [%r13];
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r100}, [%r6]; add.u32 %r6, %r6, 8;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r101}, [%r6];
    )" + put(100, 2)),
                           in, 1024);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u32>("out");
  CHECK(out[5] == 0x05050505);
  CHECK(out[64 + 5] == 0x05050505);
  CHECK(out[128 + 64 + 5] == 0x46464646);
  CHECK(out[128 + 31] == 0x1F1F1F1F);
}

TEST_CASE("registers that are used before tcgen05.wait::ld are reported once a load, at the first use") {
  const auto ld = [](int first) {
    return "tcgen05.ld.sync.aligned.32x32b.x4.b32 " + vector_of("r", first, 4) + ", [%r6];\n";
  };
  const auto reports = [](const std::string& body) {
    const Run r = run_tensor(tensor_kernel(fill + body), std::vector<u8>(16), 512);
    std::vector<std::string> names;
    for (const diag::Diagnostic& d : r.sink.all())
      names.push_back(d.message.substr(d.message.rfind("got")) + " " + d.slug);
    return names;
  };
  const std::string wait = "tcgen05.wait::ld.sync.aligned;\n";
  using Names = std::vector<std::string>;
  CHECK(reports(ld(100) + wait + "add.u32 %r10, %r100, %r101;\n") == Names{});
  CHECK(reports(ld(100) + "add.u32 %r10, %r102, %r12; add.u32 %r10, %r101, %r100; mov.u32 %r11, %r103;\n" + wait) ==
        Names{"got %r102 tcgen05-ld-wait"});
  CHECK(reports(ld(100) + ld(110) + "add.u32 %r10, %r101, %r111; add.u32 %r11, %r100, %r110;\n" + wait) ==
        Names{"got %r101 tcgen05-ld-wait", "got %r111 tcgen05-ld-wait"});
}

}  // namespace sim_tensor
