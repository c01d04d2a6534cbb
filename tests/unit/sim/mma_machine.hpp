// One tcgen05.mma (or another instruction of the tensor core) between two pictures of tensor memory: a kernel that
// fills shared and tensor memory of every CTA from a test's bytes, has one thread issue some text, and dumps 128
// columns.
#pragma once

#include <doctest/doctest.h>

#include <functional>

#include "sim/core/observer.hpp"
#include "tests/unit/sim/tensor_kernel.hpp"

namespace kiln::test {

/// What the memories of one CTA hold before and after.
struct TensorPicture {
  static constexpr int columns = 128, lanes = 128;
  std::vector<u8> shared = std::vector<u8>(32768, 0);
  std::vector<u32> tmem = std::vector<u32>(std::size_t(columns) * lanes, 0);  // [column * 128 + lane]

  u32& cell(int lane, int column) { return tmem[std::size_t(column * lanes + lane)]; }
  u32 cell(int lane, int column) const { return tmem[std::size_t(column * lanes + lane)]; }
};

/// Where the operands of an issued instruction are: %r2 is the tensor-memory address, %rd2 the descriptor of shared
/// byte 0 without anything but its start address.
struct MmaMachine {
  std::string target = "sm_100a";
  int ctas = 1;
  bool fill_tmem = true;
  std::vector<TensorPicture> before = std::vector<TensorPicture>(1);
  std::vector<TensorPicture> after{};
  sim::Observer* observer = nullptr;
  /// Makes another module of the text, and adapts the launch to it.
  std::function<ir::Module(ir::Module, launch::Contract&)> rewritten{};

  std::string text(const std::string& issued) const;
  /// All threads of all CTAs meet.
  std::string meeting() const {
    return ctas == 1 ? "bar.sync 0;" : "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
  }
  /// Runs the text and fills `after`.
  Run run(const std::string& issued, u64 seed = 1);
};

inline std::string MmaMachine::text(const std::string& issued) const {
  const std::string g = ".cta_group::" + std::to_string(ctas), n = std::to_string(TensorPicture::columns);
  std::string fill;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 64; ++i)
      fill +=
          "ld.global.u32 %r" + std::to_string(100 + i) + ", [%rd8+" + std::to_string(512 * (64 * half + i)) + "];\n";
    fill += "tcgen05.st.sync.aligned.32x32b.x64.b32 [%r6+" + std::to_string(64 * half) + "], " +
            vector_of("r", 100, 64) + ";\n";
  }
  std::string dump;
  for (int half = 0; half < 2; ++half) {
    dump += "tcgen05.ld.sync.aligned.32x32b.x64.b32 " + vector_of("r", 100, 64) + ", [%r6+" +
            std::to_string(64 * half) + "]; tcgen05.wait::ld.sync.aligned;\n";
    for (int i = 0; i < 64; ++i)
      dump +=
          "st.global.u32 [%rd7+" + std::to_string(512 * (64 * half + i)) + "], %r" + std::to_string(100 + i) + ";\n";
  }
  return ".version 8.8\n.target " + target + "\n.address_size 64\n" +
         ".visible .entry k(.param .u64 in, .param .u64 cells, .param .u64 out) .reqnctapercluster " +
         std::to_string(ctas) + R"(, 1, 1 {
    .reg .pred %p<9>; .reg .b32 %r<300>; .reg .b64 %rd<30>; .reg .b16 %h<4>;
    .shared .align 1024 .b8 tile[32768]; .shared .align 4 .b32 slot; .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd9, [cells]; ld.param.u64 %rd7, [out];
    mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; mov.u32 %r9, %cluster_ctarank;
    mov.u32 %r3, tile; mov.u32 %r4, bar; mov.u32 %r5, slot; and.b32 %r33, %r3, 0xFFFFFF;
    mul.wide.u32 %rd3, %r9, 32768; add.u64 %rd1, %rd1, %rd3;
    mad.lo.u32 %r17, %r9, 16384, %r0; mul.wide.u32 %rd3, %r17, 4; add.u64 %rd7, %rd7, %rd3; add.u64 %rd8, %rd9, %rd3;
    )" + meeting() +
         R"(
    setp.ne.u32 %p8, %r1, 0; @%p8 bra A1;
    tcgen05.alloc)" +
         g + ".sync.aligned.shared::cta.b32 [%r5], " + n + R"(;
    setp.eq.u32 %p7, %r0, 0; @%p7 mbarrier.init.shared.b64 [%r4], 1;
  A1: mov.u32 %r10, %r0;
  CP: shl.b32 %r11, %r10, 4; cvt.u64.u32 %rd4, %r11; add.u64 %rd4, %rd4, %rd1;
    ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%rd4];
    add.u32 %r11, %r11, %r3; st.shared.v4.u32 [%r11], {%r12, %r13, %r14, %r15};
    add.u32 %r10, %r10, 128; setp.lt.u32 %p1, %r10, 2048; @%p1 bra CP;
    fence.proxy.async.shared::cta; bar.sync 0; ld.shared.u32 %r2, [%r5];
    shl.b32 %r6, %r1, 21; add.u32 %r6, %r6, %r2;
)" + (fill_tmem ? fill : "") +
         R"(tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync;
    )" + meeting() +
         R"( tcgen05.fence::after_thread_sync;
    or.b32 %r16, %r0, %r9; setp.ne.u32 %p1, %r16, 0; @%p1 bra W;
    shr.u32 %r34, %r33, 4; cvt.u64.u32 %rd2, %r34;
)" + issued +
         "\n" + "mov.u16 %h1, " + std::to_string((1 << ctas) - 1) + ";\ntcgen05.commit" + g +
         R"(.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r4], %h1;
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W;
    tcgen05.fence::after_thread_sync;
)" + dump +
         "bar.sync 0; " + meeting() + " @%p8 bra Z1;\ntcgen05.dealloc" + g + ".sync.aligned.b32 %r2, " + n +
         ";\nZ1: ret; }\n";
}

inline Run MmaMachine::run(const std::string& issued, u64 seed) {
  std::vector<u8> in;
  std::vector<u32> cells;
  for (const TensorPicture& p : before) {
    in.insert(in.end(), p.shared.begin(), p.shared.end());
    cells.insert(cells.end(), p.tmem.begin(), p.tmem.end());
  }
  launch::Contract c;
  c.buffers = {filled("in", in), filled("cells", cells), buffer("out", cells.size() * 4)};
  launch::Launch l;
  l.grid = {u32(ctas), 1, 1};
  l.block = {128, 1, 1};
  l.params = {pointer("in"), pointer("cells"), pointer("out")};
  c.launches = {l};
  sim::Options o;
  o.seed = seed;
  Run r;
  r.contract = std::move(c);
  ir::Module module = parse::parse(std::make_shared<const diag::Source>("test.ptx", text(issued)), r.sink);
  REQUIRE_MESSAGE(!r.sink.has_errors(), r.findings());
  if (rewritten) module = rewritten(std::move(module), r.contract);
  r.result = sim::simulate(module, r.contract, o, r.sink, observer);
  const auto out = r.read<u32>("out");
  after.assign(before.size(), {});
  for (std::size_t k = 0; k < after.size(); ++k)
    after[k].tmem.assign(out.begin() + std::ptrdiff_t(k * 16384), out.begin() + std::ptrdiff_t((k + 1) * 16384));
  return r;
}

}  // namespace kiln::test
