// Kernels put together at random out of instructions that each are well formed, with small changes to their operands:
// the simulator and the race detector must come to an end and say something, whatever they are given.
//
// Two bytes of input choose one instruction, a third one how its numbers are changed, so that the fuzzer's mutations
// stay mutations of a program. KILN_FUZZ_PRINT=1 shows the program.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "ptx/diag/error.hpp"
#include "ptx/parse/parse.hpp"
#include "sim/simulate.hpp"

namespace {

using namespace kiln;

constexpr const char* head = R"(.version 9.0
.target sm_100a
.address_size 64
.global .align 128 .b8 gmem[4096];
.const .align 16 .b8 cmem[64];
.func (.reg .b32 result) thrice(.reg .b32 x) { mul.lo.u32 result, x, 3; ret.uni; }
.visible .entry families(.param .align 64 .b8 big[128]) .explicitcluster
{
  .reg .pred p<8>; .reg .b16 h<10>; .reg .b32 r<12>; .reg .b64 d<10>; .reg .f32 f<10>; .reg .f64 fd<10>; .reg .b128 q<4>;
  .reg .b8 r1b<4>;
  .shared .align 1024 .b8 smem[4096];
  .local .align 16 .b8 lmem[64];
  mov.u32 r1, %tid.x; mov.u32 r2, smem; mov.u32 r3, 64; mov.u64 d1, gmem; mov.u64 d2, big; mov.u32 r4, %laneid;
  mov.u32 r5, 0; mov.u32 r6, 1; mov.u64 d3, 0; mov.u64 d4, 16; setp.eq.u32 p1, r1, 0; setp.lt.u32 p2, r1, 32;
  add.u32 r7, r2, 1024; mov.u32 r8, 0x8040490; mov.u32 r9, 0; mov.u64 d5, 0x0000401000080040; mov.u16 h1, 3;
)";

// What the forms file has not: the asynchronous units, on addresses that the head has prepared.
const std::vector<std::string> asynchronous = {
    "mbarrier.init.shared::cta.b64 [r7], 1;",
    "mbarrier.init.shared::cta.b64 [r7+8], 2;",
    "fence.mbarrier_init.release.cluster;",
    "fence.proxy.async;",
    "mbarrier.inval.shared::cta.b64 [r7];",
    "mbarrier.arrive.shared::cta.b64 d6, [r7];",
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [r7], 16;",
    "mbarrier.test_wait.parity.shared::cta.b64 p3, [r7], 0;",
    "mbarrier.try_wait.parity.shared::cta.b64 p3, [r7], 0;",
    "@p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [r2], [d1], 16, [r7];",
    "@p1 cp.async.bulk.global.shared::cta.bulk_group [d1], [r2], 16;",
    "cp.async.bulk.commit_group;",
    "cp.async.bulk.wait_group 0;",
    "cp.async.bulk.wait_group.read 1;",
    "bar.sync 0;",
    "bar.warp.sync -1;",
    "barrier.cluster.arrive;",
    "barrier.cluster.wait;",
    "@p2 bar.arrive 1, 64;",
    "@p2 bar.sync 1, 64;",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r2], 32;",
    "ld.shared.b32 r9, [r2];",
    "@p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r2], 64;",
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 r9, 32;",
    "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
    "@p1 tcgen05.mma.cta_group::1.kind::f16 [r9], d5, d5, r8, p2;",
    "@p1 tcgen05.mma.cta_group::2.kind::f16 [r9], d5, d5, r8, p2;",
    "@p1 tcgen05.mma.cta_group::1.kind::f16 [r9], [r9], d5, r8, p2;",
    "@p1 tcgen05.mma.sp.cta_group::1.kind::f16 [r9], d5, d5, [r9], r8, p2;",
    "@p1 tcgen05.mma.ws.cta_group::1.kind::tf32 [r9], d5, d5, r8, p2;",
    "@p1 tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [r9], d5, d5, r8, [r9], [r9], p2;",
    "@p1 tcgen05.cp.cta_group::1.128x256b [r9], d5;",
    "@p1 tcgen05.shift.cta_group::1.down [r9];",
    "@p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [r7];",
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {r10, r11}, [r9];",
    "tcgen05.st.sync.aligned.32x32b.x1.b32 [r9], {r1};",
    "tcgen05.wait::ld.sync.aligned;",
    "tcgen05.wait::st.sync.aligned;",
    "tcgen05.fence::before_thread_sync;",
    "tcgen05.fence::after_thread_sync;",
    "elect.sync _|p4, -1;",
    "mapa.shared::cluster.u32 r10, r2, 1;",
    "BACK: @p3 bra BACK;"};

std::vector<std::string> instructions() {
  std::vector<std::string> out = asynchronous;
  std::ifstream in(KILN_SOURCE_DIR "/tests/data/ptx/families_sm_100a.ptx");
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    inside |= line.find(".entry") != line.npos;
    // Labels, calls and declarations belong to that file's own kernel.
    if (inside && line.starts_with("  ") && line.find(':') >= line.find(';') && line.find("call") == line.npos &&
        line.find(".reg") == line.npos && line.find("brx") == line.npos && line.find("bra") == line.npos)
      out.push_back(line);
  }
  if (out.size() == asynchronous.size()) std::abort();
  return out;
}

// Changes one number of the text, if there is one.
std::string changed(std::string text, std::uint8_t how) {
  if (how < 128) return text;
  const std::size_t at = text.find_last_of("0123456789");
  if (at != text.npos) text[at] = char('0' + how % 10);
  return text;
}

std::string kernel(const std::uint8_t* data, std::size_t size) {
  static const std::vector<std::string> lines = instructions();
  std::string text = head;
  for (std::size_t at = 0; at + 3 <= size && at < 3 * 200; at += 3) {
    const std::string& line = lines[(data[at] | data[at + 1] << 8) % lines.size()];
    if (line.starts_with("BACK") && text.find("BACK") != text.npos) continue;
    text += changed(line, data[at + 2]) + "\n";
  }
  return text + "ret;\n}\n";
}

launch::Contract contract(std::uint8_t shape) {
  launch::Launch l;
  l.entry = "families";
  l.cluster = {1u + (shape & 1), 1, 1};
  l.grid = l.cluster;
  l.block = {shape & 2 ? 64u : 40u, 1, 1};
  launch::StructParam big;
  big.size = 128;
  l.params = {launch::Param{big}};
  launch::Contract c;
  c.launches = {l};
  return c;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  diag::Sink sink;
  const auto source = std::make_shared<const diag::Source>("fuzz.ptx", kernel(data + 1, size - 1));
  if (std::getenv("KILN_FUZZ_PRINT")) std::fputs(std::string(source->text()).c_str(), stderr);
  const ir::Module module = parse::parse(source, sink);
  if (sink.has_errors()) return 0;
  launch::Contract c = contract(data[0]);
  sim::Options options;
  options.seed = data[0];
  options.max_steps = 3000;
  try {
    const sim::Result r = sim::simulate(module, c, options, sink);
    if (r.outcome != sim::Outcome::finished && sink.all().empty()) {
      std::fprintf(stderr, "a run that did not finish says nothing:\n%s\n", std::string(source->text()).c_str());
      std::abort();
    }
  } catch (const diag::InputError&) {
  }
  return 0;
}
