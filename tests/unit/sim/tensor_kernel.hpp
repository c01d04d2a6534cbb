// A kernel around tcgen05 instructions: allocation, a barrier, the addresses that tests need, and the release at the
// end.
#pragma once

#include "tests/unit/sim/run.hpp"

namespace kiln::test {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// A kernel of 128 threads around `body`: %r0 thread, %r1 warp, %r2 tensor-memory address, %r3 shared memory, %out the
// buffer, %own its word for this thread.
inline std::string tensor_kernel(const std::string& body, int columns = 128, int shared = 65536) {
  const std::string n = std::to_string(columns);
  return head +
         ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
         ".reg .pred %p<9>; .reg .b32 %r<200>; .reg .b64 %rd<20>; .reg .b64 %out; .reg .b64 %in; .reg .b64 %own; .reg "
         ".b16 %h<4>;\n"
         ".shared .align 1024 .b8 tile[" +
         std::to_string(shared) +
         "]; .shared .align 4 .b32 slot; .shared .align 8 .b64 bar;\n"
         "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; mov.u32 %r3, "
         "tile; mov.u32 %r4, bar; mov.u32 %r5, slot;\n"
         "mul.wide.u32 %own, %r0, 4; add.u64 %own, %own, %out;\n"
         "setp.ne.u32 %p8, %r1, 0; @%p8 bra A1;\n"
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r5], " +
         n +
         ";\n"
         "setp.eq.u32 %p7, %r0, 0; @%p7 mbarrier.init.shared.b64 [%r4], 1;\n"
         "A1: bar.sync 0; ld.shared.u32 %r2, [%r5]; shl.b32 %r6, %r1, 21; add.u32 %r6, %r6, %r2;\n" +
         body + "\nbar.sync 0; @%p8 bra Z1; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, " + n +
         ";\nZ1: ret;\n}\n";
}

inline Run run_tensor(const std::string& text, std::vector<u8> in, std::size_t out_bytes, u64 seed = 1) {
  launch::Contract c;
  c.buffers = {filled("in", in), buffer("out", out_bytes)};
  launch::Launch l;
  l.block = {128, 1, 1};
  l.params = {pointer("in"), pointer("out")};
  c.launches = {l};
  sim::Options o;
  o.seed = seed;
  return run(text, c, o);
}

inline std::string vector_of(const std::string& prefix, int first, int n) {
  std::string text = "{";
  for (int i = 0; i < n; ++i) text += (i ? ", %" : "%") + prefix + std::to_string(first + i);
  return text + "}";
}

inline std::string put(int first, int n) {
  std::string text;
  for (int i = 0; i < n; ++i)
    text += "st.global.u32 [%own+" + std::to_string(i * 512) + "], %r" + std::to_string(first + i) + ";\n";
  return text;
}

}  // namespace kiln::test
