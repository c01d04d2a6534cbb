// Fragments of the warp-level matrix instructions against the formulas that the ISA writes under its figures.
#include <doctest/doctest.h>

#include <set>

#include "ptx/isa/matrix_move.hpp"
#include "ptx/isa/matrix_shape.hpp"
#include "ptx/isa/mma_metadata.hpp"
#include "ptx/isa/wgmma.hpp"

using namespace kiln::isa;

namespace {

using Cell = MmaSyncCell;

// a<i> and b<i> count elements over all registers.
Cell a(int t, int i, int per) { return mma_sync_a_cell(t, i / per, i % per, per); }
Cell b(int t, int i, int per) { return mma_sync_b_cell(t, i / per, i % per, per); }

template <class F>
void for_lanes_and(int count, F f) {
  for (int t = 0; t < 32; ++t)
    for (int i = 0; i < count; ++i) f(t, i, t >> 2, t % 4);
}

}  // namespace

static_assert(parse_matrix_shape("m16n8k16") == MatrixShape{16, 8, 16});
static_assert(parse_matrix_shape("m64n256k256") == MatrixShape{64, 256, 256});
static_assert(!parse_matrix_shape("m16n8") && !parse_matrix_shape("m16n8k") && !parse_matrix_shape("m16n8k16x") &&
              !parse_matrix_shape("n8m16k16") && !parse_matrix_shape(""));

TEST_CASE("fragments of m16n8k16 of f16 lie as the ISA's formulas say") {
  for_lanes_and(8, [](int t, int i, int group, int lane) {
    const int row = (i < 2 || (4 <= i && i < 6)) ? group : group + 8;
    CHECK(a(t, i, 2) == Cell{row, lane * 2 + (i & 1) + (i >= 4 ? 8 : 0)});
  });
  for_lanes_and(4, [](int t, int i, int group, int lane) {
    CHECK(b(t, i, 2) == Cell{lane * 2 + (i & 1) + (i >= 2 ? 8 : 0), group});
  });
}

TEST_CASE("fragments of tf32, bytes, nibbles, bits and f64 lie as the ISA's formulas say") {
  for_lanes_and(4, [](int t, int i, int group, int lane) {
    CHECK(a(t, i, 1) == Cell{i % 2 ? group + 8 : group, i < 2 ? lane : lane + 4});  // m16n8k8 of tf32
  });
  for_lanes_and(16, [](int t, int i, int group, int lane) {  // m16n8k32 of bytes
    const int row = (i < 4 || (8 <= i && i < 12)) ? group : group + 8;
    CHECK(a(t, i, 4) == Cell{row, lane * 4 + (i & 3) + (i >= 8 ? 16 : 0)});
  });
  for_lanes_and(16, [](int t, int i, int group, int lane) {  // m16n8k64 of nibbles
    CHECK(b(t, i, 8) == Cell{lane * 8 + (i & 7) + (i >= 8 ? 32 : 0), group});
  });
  for_lanes_and(128, [](int t, int i, int group, int lane) {  // m16n8k256 of bits
    const int row = (i < 32 || (64 <= i && i < 96)) ? group : group + 8;
    CHECK(a(t, i, 32) == Cell{row, lane * 32 + (i & 31) + (i >= 64 ? 128 : 0)});
  });
  for_lanes_and(8, [](int t, int i, int group, int lane) {  // m16n8k16 of f64
    CHECK(a(t, i, 1) == Cell{i % 2 ? group + 8 : group, i % 2 ? i * 2 - 2 + lane : i * 2 + lane});
  });
  for_lanes_and(4, [](int t, int i, int group, int lane) { CHECK(b(t, i, 1) == Cell{lane + i * 4, group}); });
  for_lanes_and(4, [](int t, int i, int group, int lane) {  // m8n8k16: eight rows
    CHECK(mma_sync_a_cell(t, 0, i, 4, 8) == Cell{group, lane * 4 + i});
  });
}

TEST_CASE("metadata of every sparse shape fills the lanes that the selector chooses, each bit once") {
  struct Shape {
    int bits, k, sets;
  };
  // f16 k16, k32; tf32 k8, k16; s8 k32, k64; s4 k64, k128: sets of lanes as the ISA's ranges of the selector say.
  for (const Shape& s :
       {Shape{16, 16, 4}, {16, 32, 2}, {32, 8, 4}, {32, 16, 2}, {8, 32, 2}, {8, 64, 1}, {4, 64, 2}, {4, 128, 1}}) {
    CAPTURE(s.bits);
    CAPTURE(s.k);
    const int bits = s.bits, sets = s.sets, stored = s.k / 2, chunks = stored / metadata_kept(bits);
    CHECK(metadata_lanes(bits, stored) * sets == 4);
    std::set<std::pair<int, int>> used;
    for (int selector = 0; selector < sets; ++selector)
      for (int row = 0; row < 16; ++row)
        for (int chunk = 0; chunk < chunks; ++chunk) {
          const MetadataBits m = metadata_bits(bits, stored, row, chunk, selector);
          CHECK(m.lane / 4 == row % 8);
          CHECK(m.lane % 4 / metadata_lanes(bits, stored) == selector);
          used.insert({m.lane, m.shift});
        }
    CHECK(used.size() == 32 * 8);
  }
}

TEST_CASE("metadata of f16 shares a word between rows g and g + 8; of bytes it does not") {
  CHECK(metadata_bits(16, 8, 3, 2, 1) == MetadataBits{13, 8});
  CHECK(metadata_bits(16, 8, 11, 2, 1) == MetadataBits{13, 24});
  CHECK(metadata_bits(16, 16, 0, 5, 1) == MetadataBits{3, 4});
  CHECK(metadata_bits(8, 32, 0, 15, 0) == MetadataBits{2, 28});
  CHECK(metadata_bits(8, 32, 8, 0, 0) == MetadataBits{1, 0});
  CHECK(metadata_bits(8, 16, 15, 7, 1) == MetadataBits{31, 28});
}

TEST_CASE("scales of block-scaled instructions: two lanes of four for A, one for B") {
  CHECK(mma_sync_scale_a(0, 0, 2, 0) == MmaSyncScalePlace{0, 2});
  CHECK(mma_sync_scale_a(9, 1, 0, 1) == MmaSyncScalePlace{7, 1});
  CHECK(mma_sync_scale_b(5, 3, 0, 2) == MmaSyncScalePlace{22, 3});
}

TEST_CASE("a matrix that ldmatrix or stmatrix moves is held once, byte by byte") {
  struct Kind {
    DataShape shape;
    bool trans;
    int bytes;
  };
  for (const auto& [shape, trans, bytes] : {Kind{DataShape::m8n8, false, 128},
                                            {DataShape::m8n8, true, 128},
                                            {DataShape::m8n16, false, 128},
                                            {DataShape::m16n16, true, 256},
                                            {DataShape::m16n8, true, 128}}) {
    std::set<std::pair<int, int>> used;
    for (int t = 0; t < 32; ++t)
      for (int r = 0; r < matrix_registers(shape); ++r)
        for (int byte = 0; byte < 4; ++byte) {
          const MatrixByte m = matrix_byte(shape, trans, t, r, byte);
          CHECK(m.row < matrix_rows(shape));
          CHECK(m.byte < matrix_row_bytes);
          used.insert({m.row, m.byte});
        }
    CHECK(int(used.size()) == bytes);
  }
}

TEST_CASE("matrices of bytes come transposed as the operands and leave as the accumulators of m16n8") {
  for (int t = 0; t < 32; ++t)
    for (int i = 0; i < 4; ++i) {
      // ldmatrix.m16n16.trans of rows of k gives each of its registers four k of one column: B of m16n8k32.
      const Cell of_b = mma_sync_b_cell(t, 0, i, 4);
      CHECK(matrix_byte(DataShape::m16n16, true, t, 0, i) == MatrixByte{of_b.row, of_b.column});
      CHECK(matrix_byte(DataShape::m16n16, true, t, 1, i) == MatrixByte{of_b.row, of_b.column + 8});
      const Cell of_d = mma_sync_cell(t, i);
      CHECK(matrix_byte(DataShape::m16n8, true, t, 0, i) == MatrixByte{of_d.column, of_d.row});
    }
}

TEST_CASE("a warp's part of a wgmma accumulator repeats the tile of mma.sync every eight columns") {
  for_lanes_and(8, [](int t, int i, int group, int lane) {
    CHECK(wgmma_d_cell(t, i) == Cell{group + 8 * (i / 2 % 2), 8 * (i / 4) + lane * 2 + i % 2});
  });
}

TEST_CASE("the descriptor of wgmma has its swizzle in two bits: 1 is 128B, 3 is 32B") {
  const std::uint64_t word = 0x4000'0040'0001'0123ull | 5ull << 49;
  const SharedDescriptorFields f = unpack_wgmma(word);
  CHECK(f.start == 0x1230);
  CHECK(f.leading == 16);
  CHECK(f.stride == 1024);
  CHECK(f.base_offset == 5);
  CHECK(wgmma_swizzle(f.swizzle_code) == Swizzle::b128);
  CHECK(f.reserved == 0);
  CHECK(unpack_wgmma(1ull << 46 | 1ull << 61).reserved == (1ull << 46 | 1ull << 61));
  for (Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    CHECK(wgmma_swizzle(unpack_wgmma(pack_wgmma(f, s)).swizzle_code) == s);
    CHECK(unpack_wgmma(pack_wgmma(f, s)).stride == 1024);
  }
  CHECK(pack_wgmma(f, Swizzle::b128) == word);
}
