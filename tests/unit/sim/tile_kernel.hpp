// Tensor copies into shared memory, then MMAs out of it: a kernel of one warp (in each of `ctas` CTAs) whose data is
// all zeros, so that nothing but the layouts can tell right from wrong. The verifier, which runs nothing, must say of
// the tiles what the simulator says.
#pragma once

#include <set>

#include "ptx/isa/shared_descriptor.hpp"
#include "tests/unit/sim/tiled_map.hpp"
#include "verifier/explore.hpp"

namespace kiln::test {

/// Descriptors as words whose start address counts from the first byte of the tiles.
struct TileMma {
  std::uint64_t a = 0, b = 0;
};

struct TileKernel {
  static constexpr std::uint32_t m = 128, n = 64, bytes = 65536;  // m and n in one CTA
  int ctas = 1;
  launch::TensorMap a{}, b{};
  std::uint32_t a_major = 0, b_major = 0;  // 1: MN-major
  /// "A at 1024 {0, 64}": map, offset, coordinates; each CTA of a pair loads the same.
  struct Copy {
    char map = 'A';
    std::uint32_t offset = 0;
    std::string coordinates{};
  };
  std::vector<Copy> copies{};
  std::uint32_t copied = 0;  // bytes
  std::string between{};     // %r1: the tiles
  std::vector<TileMma> mmas{};

  std::string text() const;
  Run run() const;
  void check_explored(const Run&, const launch::Contract&) const;
};

inline std::string TileKernel::text() const {
  const std::string group = ".cta_group::" + std::to_string(ctas);
  std::string loads, products;
  for (const Copy& c : copies) {
    const std::string dims = std::to_string(c.map == 'A' ? a.rank : b.rank);
    loads += "cp.async.bulk.tensor." + dims + "d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r1+" +
             std::to_string(c.offset) + "], [" + (c.map == 'A' ? "%rd1" : "%rd2") + ", {" + c.coordinates +
             "}], [%r2];\n";
  }
  const std::uint32_t shape =
      0x490 | a_major << 15 | b_major << 16 | n * std::uint32_t(ctas) / 8 << 17 | m * std::uint32_t(ctas) / 16 << 24;
  for (std::size_t k = 0; k < mmas.size(); ++k)
    products += "add.u64 %rd4, %rd3, " + std::to_string(mmas[k].a) + "; add.u64 %rd5, %rd3, " +
                std::to_string(mmas[k].b) + ";\ntcgen05.mma" + group + ".kind::f16 [%r6], %rd4, %rd5, " +
                std::to_string(shape) + ", " + (k ? "1" : "0") + ";\n";
  const std::string clusters = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
  return head + ".extern .shared .align 1024 .b8 tiles[];\n" +
         ".visible .entry k(.param .align 64 .b8 A[128], .param .align 64 .b8 B[128]) .reqntid 32 "
         ".reqnctapercluster " +
         std::to_string(ctas) + R"(, 1, 1 {
  .reg .pred %p<4>; .reg .b16 %h1; .reg .b32 %r<20>; .reg .b64 %rd<9>;
  .shared .align 8 .b64 full; .shared .align 8 .b64 done; .shared .align 4 .b32 slot;
  mov.b64 %rd1, A; cvta.param.u64 %rd1, %rd1; mov.b64 %rd2, B; cvta.param.u64 %rd2, %rd2;
  mov.u32 %r1, tiles; mov.u32 %r2, full; mov.u32 %r3, done; mov.u32 %r4, slot;
  mov.u32 %r5, %tid.x; mov.u32 %r8, %cluster_ctarank; setp.ne.u32 %p1, %r5, 0;
  @%p1 bra READY;
  mbarrier.init.shared.b64 [%r2], 1; mbarrier.init.shared.b64 [%r3], 1; fence.mbarrier_init.release.cluster;
READY:
)" + clusters +
         "tcgen05.alloc" + group + R"(.sync.aligned.shared::cta.b32 [%r4], 128;
  bar.sync 0; ld.shared.u32 %r6, [%r4];
  @%p1 bra LOADED;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r2], )" +
         std::to_string(copied) + ";\n" + loads + R"(
FULL: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra FULL;
)" + between +
         "LOADED:\n" + clusters + R"(
  or.b32 %r9, %r5, %r8; setp.ne.u32 %p3, %r9, 0; @%p3 bra WAIT;
  shr.u32 %r7, %r1, 4; cvt.u64.u32 %rd3, %r7;
)" + products +
         "mov.u16 %h1, " + std::to_string((1 << ctas) - 1) + ";\ntcgen05.commit" + group +
         R"(.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r3], %h1;
WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
  bar.warp.sync 0xffffffff;
)" + clusters +
         "tcgen05.dealloc" + group + ".sync.aligned.b32 %r6, 128;\nret;\n}\n";
}

// What is said about tiles: the rule, the place, and what was found but for addresses, which are not the same.
inline std::string said_of_tiles(const diag::Sink& sink) {
  std::set<std::string> all;
  for (const diag::Diagnostic& d : sink.all())
    if (d.slug == "tcgen05-sdesc-tile" || d.slug == "tcgen05-sdesc-advance")
      all.insert(d.slug + " at " + std::to_string(d.where.place.begin) + ": " +
                 d.message.substr(0, d.message.find("0x")));
  std::string out;
  for (const std::string& one : all) out += one + "\n";
  return out;
}

inline void TileKernel::check_explored(const Run& r, const launch::Contract& c) const {
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<const diag::Source>("test.ptx", text()), sink);
  verifier::check_synchronisation(module, sink, &c);
  CHECK_MESSAGE(!sink.incomplete(), diag::render_text(sink));
  CHECK(said_of_tiles(sink) == said_of_tiles(r.sink));
}

inline Run TileKernel::run() const {
  launch::Contract c;
  c.buffers = {buffer("A", 65536), buffer("B", 65536)};
  c.tensor_maps = {{"A", a}, {"B", b}};
  c.tensor_maps["A"].buffer = "A", c.tensor_maps["B"].buffer = "B";
  launch::Launch l;
  l.grid = {std::uint32_t(ctas), 1, 1};
  l.block = {32, 1, 1};
  l.dynamic_smem = bytes;
  l.params = {map("A"), map("B")};
  c.launches = {l};
  Run r = kiln::test::run(text(), c);
  check_explored(r, c);
  return r;
}

}  // namespace kiln::test
