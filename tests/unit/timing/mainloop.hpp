// A warp-specialised main loop as PTX: one warp loads tiles of A and B into a ring of stages, another multiplies them.
// As in CUTLASS's, both ask for the next stage before they need it, and descriptors are computed before the MMAs.
#pragma once

#include <fmt/format.h>

#include <string>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "tests/unit/timing/timed.hpp"

namespace kiln::test {

struct MainLoop {
  int m = 128, n = 128, k = 64, stages = 4;
  bool fp8 = false;
  int steps = 64;

  int element() const { return fp8 ? 1 : 2; }
  int row_bytes() const { return std::min(128, k * element()); }  // of a box
  int boxes() const { return k * element() / row_bytes(); }       // of a tile
  int a_bytes() const { return m * k * element(); }
  int stage_bytes() const { return (m + n) * k * element(); }
  int full() const { return stages * stage_bytes(); }  // shared offset of the mbarriers
  int shared_bytes() const { return full() + 16 * stages + 32; }

  std::string ptx() const;
  launch::Contract contract() const;
};

inline launch::Contract MainLoop::contract() const {
  launch::Contract c;
  const auto length = std::uint64_t(k) * std::uint64_t(steps);
  for (const bool is_a : {true, false}) {
    const std::string name = is_a ? "a" : "b";
    const auto rows = std::uint64_t(is_a ? m : n);
    launch::Buffer data = buffer(name, rows * length * std::uint64_t(element()));
    launch::TensorMap t;
    t.buffer = name;
    t.dtype = fp8 ? isa::ScalarType::u8 : isa::ScalarType::bf16;
    t.dims = {length, rows};
    t.strides = {0, length * std::uint64_t(element())};
    t.box = {std::uint32_t(row_bytes() / element()), std::uint32_t(rows), 1, 1, 1};
    t.swizzle = row_bytes() == 128 ? isa::Swizzle::b128 : row_bytes() == 64 ? isa::Swizzle::b64 : isa::Swizzle::b32;
    c.buffers.push_back(std::move(data));
    c.tensor_maps[name] = t;
  }
  launch::Launch l;
  l.block = {64, 1, 1};
  l.dynamic_smem = std::uint32_t(shared_bytes());
  l.params = {map("a"), map("b")};
  c.launches.push_back(l);
  return c;
}

inline std::string MainLoop::ptx() const {
  isa::InstructionDescriptorFields f;
  f.m = m, f.n = n, f.d_type = 1;
  const isa::MmaKind kind = fp8 ? isa::MmaKind::f8f6f4 : isa::MmaKind::f16;
  f.a_type = f.b_type =
      std::uint8_t(isa::operand_type_code(kind, fp8 ? isa::ScalarType::e4m3 : isa::ScalarType::bf16).value());
  isa::SharedDescriptorFields tile;
  tile.leading = 16, tile.stride = std::uint32_t(8 * row_bytes());
  tile.swizzle_code = std::uint8_t(row_bytes() == 128 ? 2 : row_bytes() == 64 ? 4 : 6);
  std::string loads, descriptors, mmas;
  for (int box = 0; box < boxes(); ++box)
    for (const bool is_a : {true, false})
      loads += fmt::format(
          "  add.u32 %r8, %r7, {}; add.u32 %r9, %r4, {};\n"
          "  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r8], [{}, {{%r9, %r10}}], "
          "[%r6];\n",
          is_a ? box * m * row_bytes() : a_bytes() + box * n * row_bytes(), box * row_bytes() / element(),
          is_a ? "%rd1" : "%rd2");
  for (int at = 0; at < k * element(); at += 32) {
    const int box = at / row_bytes(), in = at % row_bytes();
    const int to = 20 + at / 32 * 2;
    descriptors +=
        fmt::format("  add.u64 %rd{}, %rd4, {}; add.u64 %rd{}, %rd4, {};\n", to, (box * m * row_bytes() + in) / 16,
                    to + 1, (a_bytes() + box * n * row_bytes() + in) / 16);
    mmas += fmt::format("  tcgen05.mma.cta_group::1.kind::{} [%r2], %rd{}, %rd{}, {}, {};\n", fp8 ? "f8f6f4" : "f16",
                        to, to + 1, isa::pack(f, kind), at == 0 ? "%p2" : "1");
  }
  return fmt::format(R"(.version 8.8
.target sm_100a
.address_size 64
.extern .shared .align 1024 .b8 ring[];
.visible .entry k(.param .align 64 .b8 a[128], .param .align 64 .b8 b[128]) {{
  .reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<90>;
  .shared .align 4 .b32 slot;
  mov.u32 %r0, %tid.x; mov.u32 %r1, ring; add.u32 %r11, %r1, {full}; mov.u32 %r5, slot;
  mov.b64 %rd1, a; mov.b64 %rd2, b; cvta.param.u64 %rd1, %rd1; cvta.param.u64 %rd2, %rd2;
  setp.ge.u32 %p1, %r0, 32; @%p1 bra READY;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], 512;
  setp.ne.u32 %p1, %r0, 0; @%p1 bra READY;
  mov.u32 %r3, 0;
INIT:
  shl.b32 %r6, %r3, 4; add.u32 %r6, %r6, %r11;
  mbarrier.init.shared::cta.b64 [%r6], 1; mbarrier.init.shared::cta.b64 [%r6+8], 1;
  add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, {stages}; @%p1 bra INIT;
  mbarrier.init.shared::cta.b64 [%r11+{done}], 1;
READY:
  bar.sync 0;
  mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u32 %r10, 0; mov.u32 %r12, 0; mov.u32 %r13, 0; mov.u32 %r6, %r11; mov.u32 %r7, %r1;
  setp.eq.u32 %p1, %r0, 0; @%p1 bra role_load;
  setp.eq.u32 %p1, %r0, 32; @%p1 bra role_multiply;
  bra END;
role_load:
  xor.b32 %r14, %r12, 1;
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r6+8], %r14;
LOAD:
  @%p3 bra EMPTY;
WAIT_EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r6+8], %r14;
  @!%p1 bra WAIT_EMPTY;
EMPTY:
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], {bytes};
{loads}
  add.u32 %r4, %r4, {k}; add.u32 %r3, %r3, 1; add.u32 %r13, %r13, 1; add.u32 %r6, %r6, 16; add.u32 %r7, %r7, {bytes};
  setp.eq.u32 %p1, %r13, {stages};
  @%p1 mov.u32 %r13, 0; @%p1 mov.u32 %r6, %r11; @%p1 mov.u32 %r7, %r1; @%p1 xor.b32 %r14, %r14, 1;
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r6+8], %r14;
  setp.lt.u32 %p1, %r3, {steps}; @%p1 bra LOAD;
  bra END;
role_multiply:
  ld.shared.u32 %r2, [%r5];
  cvt.u64.u32 %rd3, %r1; and.b64 %rd3, %rd3, 0x3FFFF; shr.u64 %rd3, %rd3, 4; or.b64 %rd3, %rd3, {tile}; mov.u64 %rd4, %rd3;
  setp.ne.u32 %p2, %r3, 0;
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r6], %r12;
MULTIPLY:
  @%p3 bra FULL;
WAIT_FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r6], %r12;
  @!%p1 bra WAIT_FULL;
FULL:
  mov.u32 %r15, %r6;
{descriptors}
  add.u32 %r3, %r3, 1; add.u32 %r13, %r13, 1; add.u32 %r6, %r6, 16; add.u64 %rd4, %rd4, {units};
  setp.eq.u32 %p1, %r13, {stages};
  @%p1 mov.u32 %r13, 0; @%p1 mov.u32 %r6, %r11; @%p1 mov.u64 %rd4, %rd3; @%p1 xor.b32 %r12, %r12, 1;
  setp.lt.u32 %p1, %r3, {steps};
  @%p1 mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r6], %r12;
{mmas}
  setp.ne.u32 %p2, %r3, 0;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r15+8];
  @%p1 bra MULTIPLY;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r11+{done}];
DONE:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r11+{done}], 0;
  @!%p1 bra DONE;
END:
  bar.sync 0;
  setp.ge.u32 %p1, %r0, 32; @%p1 bra OUT;
  ld.shared.u32 %r2, [%r5];
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 512;
OUT:
  ret;
}}
)",
                     fmt::arg("full", full()), fmt::arg("stages", stages), fmt::arg("done", 16 * stages),
                     fmt::arg("bytes", stage_bytes()), fmt::arg("loads", loads), fmt::arg("mmas", mmas),
                     fmt::arg("descriptors", descriptors), fmt::arg("k", k), fmt::arg("steps", steps),
                     fmt::arg("tile", isa::pack(tile)), fmt::arg("units", stage_bytes() / 16));
}

}  // namespace kiln::test
