// Matrix descriptors against the tiles that they read: tcgen05-sdesc-tile and tcgen05-sdesc-advance. All data are
// zeros.
#include <doctest/doctest.h>

#include "tests/unit/sim/tile_kernel.hpp"

namespace sim_tile {

using namespace kiln;
using namespace kiln::test;
using isa::Swizzle;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

namespace {

constexpr u32 b_offset = 32768, element = 2, k_step = 16;  // bytes, elements

// A matrix with a third dimension: blocks of the columns.
launch::TensorMap blocked(u32 columns, u32 rows, u32 block, u32 box_rows, u32 box_blocks, Swizzle s) {
  launch::TensorMap m;
  m.rank = 3;
  m.dims = {block, rows, columns / block};
  m.strides = {0, columns * element, block * element};
  m.box = {block, box_rows, box_blocks, 1, 1};
  m.swizzle = s;
  return m;
}

isa::SharedDescriptorFields descriptor(u32 start, Swizzle s, u32 leading, u32 stride) {
  isa::SharedDescriptorFields d;
  d.start = start, d.leading = leading, d.stride = stride;
  d.swizzle_code = isa::descriptor_code(s);
  return d;
}

// K-major A and B, each one swizzled box; all MMAs along its rows.
struct Plain {
  TileKernel kernel{};
  isa::SharedDescriptorFields a{}, b{};
  u32 slices = 0;

  explicit Plain(Swizzle s) {
    const u32 span = u32(isa::span_bytes(s)), k = span / element;
    kernel.a = matrix(k, 128, k, 128, s), kernel.b = matrix(k, 64, k, 64, s);
    kernel.copies = {{'A', 0, "0, 0"}, {'B', b_offset, "0, 0"}};
    kernel.copied = 192 * span;
    a = descriptor(0, s, 0, 8 * span), b = descriptor(b_offset, s, 0, 8 * span);
    slices = k / k_step;
  }
  void add(u32 slice_of_a, u32 slice_of_b) {
    isa::SharedDescriptorFields x = a, y = b;
    x.start += slice_of_a * k_step * element, y.start += slice_of_b * k_step * element;
    kernel.mmas.push_back({isa::pack(x), isa::pack(y)});
  }
  Run run() {
    if (kernel.mmas.empty())
      for (u32 k = 0; k < slices; ++k) add(k, k);
    return kernel.run();
  }
};

// MN-major A in two boxes of 64 rows, K-major B.
Plain mn_major() {
  Plain p(Swizzle::b128);
  p.kernel.a_major = 1;
  p.kernel.a = matrix(128, 64, 64, 64, Swizzle::b128);
  p.kernel.copies = {{'A', 0, "0, 0"}, {'A', 8192, "64, 0"}, {'B', b_offset, "0, 0"}};
  p.a = descriptor(0, Swizzle::b128, 8192, 1024);
  for (u32 k = 0; k < 4; ++k) {
    isa::SharedDescriptorFields x = p.a, y = p.b;
    x.start += k * k_step * 128, y.start += k * k_step * element;
    p.kernel.mmas.push_back({isa::pack(x), isa::pack(y)});
  }
  return p;
}

// Both operands without a swizzle: a box of three dimensions, 16 bytes along K, rows, blocks of K.
Plain core_matrices(u32 leading_of_a = 2048, u32 stride_of_a = 128) {
  Plain p(Swizzle::b128);
  p.kernel.a = blocked(64, 128, 8, 128, 8, Swizzle::none), p.kernel.b = blocked(64, 64, 8, 64, 8, Swizzle::none);
  p.kernel.copies = {{'A', 0, "0, 0, 0"}, {'B', b_offset, "0, 0, 0"}};
  for (u32 k = 0; k < 4; ++k)
    p.kernel.mmas.push_back({isa::pack(descriptor(k * 4096, Swizzle::none, leading_of_a, stride_of_a)),
                             isa::pack(descriptor(b_offset + k * 2048, Swizzle::none, 1024, 128))});
  return p;
}

const std::string tile_slug = "tcgen05-sdesc-tile", advance_slug = "tcgen05-sdesc-advance";

void expect_clean(const Run& r) {
  CHECK_MESSAGE(r.clean(), r.findings());
  CHECK_MESSAGE(!r.has(tile_slug), r.findings());
  CHECK_MESSAGE(!r.has(advance_slug), r.findings());
}

// Messages may stand over several lines.
void expect(const Run& r, const std::string& slug, const std::string& words) {
  CHECK_MESSAGE(r.has(slug), r.findings());
  bool said = false;
  for (const diag::Diagnostic& d : r.sink.all()) {
    if (d.slug != slug) continue;
    said |= d.severity == diag::Severity::error && d.message.find(words) != std::string::npos;
    for (const diag::Note& n : d.notes) said |= n.message.find(words) != std::string::npos;
  }
  CHECK_MESSAGE(said, r.findings());
}

}  // namespace

TEST_CASE("tiles read as they were copied are right, in each swizzle") {
  for (const Swizzle s : {Swizzle::b128, Swizzle::b64, Swizzle::b32}) expect_clean(Plain(s).run());
}

TEST_CASE("tiles where M is contiguous are right, in two boxes or as blocks of one") {
  expect_clean(mn_major().run());
  Plain p = mn_major();
  p.kernel.a = blocked(128, 64, 64, 64, 2, Swizzle::b128);
  p.kernel.copies = {{'A', 0, "0, 0, 0"}, {'B', b_offset, "0, 0"}};
  expect_clean(p.run());
}

TEST_CASE("core matrices that a copy of three dimensions has laid out are right") {
  expect_clean(core_matrices().run());
}

TEST_CASE("an operand may come in several boxes") {
  Plain p(Swizzle::b128);
  p.kernel.b = matrix(64, 64, 64, 32, Swizzle::b128);
  p.kernel.copies = {{'A', 0, "0, 0"}, {'B', b_offset, "0, 0"}, {'B', b_offset + 4096, "0, 32"}};
  expect_clean(p.run());
}

TEST_CASE("K may run in any order when A and B agree") {
  Plain p(Swizzle::b128);
  for (const u32 k : {3u, 1u, 0u, 2u}) p.add(k, k);
  expect_clean(p.run());
}

TEST_CASE("an MMA may be executed again") {
  Plain p(Swizzle::b128);
  for (const u32 k : {0u, 1u, 2u, 3u, 0u, 1u, 2u, 3u}) p.add(k, k);
  expect_clean(p.run());
}

TEST_CASE("eight rows may stand for all rows of an operand") {
  Plain p(Swizzle::b128);
  p.kernel.b = matrix(64, 64, 64, 8, Swizzle::b128);
  p.kernel.copied = 136 * 128;
  p.b.stride = 0;
  expect_clean(p.run());
}

TEST_CASE("halves of a pair of CTAs are judged where they lie") {
  Plain p(Swizzle::b128);
  p.kernel.ctas = 2;
  expect_clean(p.run());
  Plain wrong(Swizzle::b128);
  wrong.kernel.ctas = 2;
  wrong.b.base_offset = 1;
  expect(wrong.run(), tile_slug, "repair: base offset 0");
}

TEST_CASE("what threads have written is not known") {
  Plain p(Swizzle::b128);
  p.b.base_offset = 1;
  p.kernel.between = "mov.u32 %r10, 0;\n";
  for (u32 at = 0; at < 128; at += 16)
    p.kernel.between += "st.shared.v4.u32 [%r1+" + std::to_string(b_offset + at) + "], {%r10, %r10, %r10, %r10};\n";
  p.kernel.between += "fence.proxy.async.shared::cta;\n";
  expect_clean(p.run());
}

TEST_CASE("tcgen05-sdesc-tile: another swizzle in the descriptor") {
  Plain p(Swizzle::b128);
  p.a.swizzle_code = isa::descriptor_code(Swizzle::none);
  p.a.leading = 16;
  const Run r = p.run();
  expect(
      r, tile_slug,
      "row 1 of A from byte 16 of its row of the tile where row 0 of A reads from byte 0: the tile was copied with the "
      "128B swizzle, the descriptor says no swizzle");
  expect(r, tile_slug, "the tile was copied here");
  expect(r, tile_slug, "repair: swizzle code 2 in the descriptor");
  for (const Swizzle copied : {Swizzle::b128, Swizzle::b64, Swizzle::b32})
    for (const Swizzle said : {Swizzle::b128, Swizzle::b64, Swizzle::b32}) {
      if (said == copied) continue;
      Plain q(copied);
      q.b.swizzle_code = isa::descriptor_code(said);
      expect(q.run(), tile_slug, "the descriptor says the " + std::string(isa::spelling(said)) + " swizzle");
    }
}

TEST_CASE("tcgen05-sdesc-tile: a copy without the swizzle that the descriptor says") {
  Plain p(Swizzle::b128);
  p.kernel.b.swizzle = Swizzle::none;
  expect(p.run(), tile_slug, "the tile was copied with no swizzle");
  expect(p.run(), tile_slug, "repair: the 128B swizzle in the tensor map");
}

TEST_CASE("tcgen05-sdesc-tile: a base offset that copies know nothing of") {
  Plain p(Swizzle::b128);
  p.b.base_offset = 3;
  expect(p.run(), tile_slug, "repair: base offset 0");
  Plain q = mn_major();
  q.a.base_offset = 3;
  q.kernel.mmas.assign(1, {isa::pack(q.a), isa::pack(q.b)});
  expect(q.run(), tile_slug, "repair: base offset 0");
}

TEST_CASE("tcgen05-sdesc-tile: strides that repeat, cut or leave out rows") {
  for (const u32 stride : {0u, 512u, 1152u, 2048u}) {
    Plain p(Swizzle::b128);
    p.a.stride = stride;
    expect(p.run(), tile_slug, "repair: a stride dimension byte offset of 1024, not " + std::to_string(stride));
  }
  expect(core_matrices(2048, 256).run(), tile_slug, "repair: a stride dimension byte offset of 128, not 256");
}

TEST_CASE("tcgen05-sdesc-tile: leading dimensions that change the line") {
  Plain p = mn_major();
  p.a.leading = 8192 + 128;
  p.kernel.mmas.assign(1, {isa::pack(p.a), isa::pack(p.b)});
  expect(p.run(), tile_slug, "repair: a leading dimension byte offset of 8192, not 8320");
  p.a.leading = 0;
  p.kernel.mmas.assign(1, {isa::pack(p.a), isa::pack(p.b)});
  expect(p.run(), tile_slug, "keeps the pieces of a line apart");
  expect(core_matrices(2048 + 128).run(), tile_slug, "repair: a leading dimension byte offset of 2048, not 2176");
}

TEST_CASE("tcgen05-sdesc-tile: a slice that runs past its row") {
  Plain p(Swizzle::b128);
  p.a.start += 112;
  p.add(0, 0);
  expect(p.run(), tile_slug, "the operand must lie in one row of the tile");
}

TEST_CASE("tcgen05-sdesc-advance: one operand stays where it is") {
  Plain p(Swizzle::b128);
  p.add(0, 0), p.add(0, 1);
  expect(p.run(), advance_slug,
         "A from K = 0 of its tile and B from K = 16, where another MMA of this accumulator has 0 and 0");
  Plain q(Swizzle::b128);
  q.add(1, 0), q.add(1, 1), q.add(2, 2), q.add(3, 3);
  expect(q.run(), advance_slug, "the other MMA is here");
}

TEST_CASE("tcgen05-sdesc-advance: half a slice, and steps along another dimension") {
  Plain p(Swizzle::b128);
  p.add(0, 0);
  p.a.start += k_step;
  p.add(0, 1);
  expect(p.run(), advance_slug, "A from K = 8 of its tile and B from K = 16");
  Plain half(Swizzle::b128);
  half.add(0, 0);
  half.a.start += k_step, half.b.start += k_step;
  half.add(0, 0);
  expect(half.run(), advance_slug, "repair: the same 16 elements of both in each MMA");
  Plain q = mn_major();
  q.kernel.mmas[2].a = q.kernel.mmas[1].a;
  expect(q.run(), advance_slug, "A from K = 16 of its tile and B from K = 32");
  Plain c = core_matrices();
  c.kernel.mmas[3].b = c.kernel.mmas[0].b;
  expect(c.run(), advance_slug, "A from K = 48 of its tile and B from K = 0");
}

}  // namespace sim_tile
