// ldmatrix, stmatrix and movmatrix of every shape. Shared memory is filled with bytes that say where they lie; what the
// lanes then hold is written out here from the ISA's figures.
#include "tests/unit/sim/matrix_kernel.hpp"

namespace sim_matrix_move {

using namespace kiln;
using namespace kiln::test;

namespace {

// 512 bytes of shared memory, byte i = (i * 7 + 3) % 251, stored by the lanes; then `body` with %a = tile + 16 * lane.
u32 byte_at(int i) { return u32((i * 7 + 3) % 251); }

const std::string tile = ".shared .align 16 .b8 tile[512];\n";

Registers filled_tile() {
  Registers in(4, std::array<u32, 32>{});
  for (int t = 0; t < 32; ++t)
    for (int r = 0; r < 4; ++r)
      for (int b = 0; b < 4; ++b) in[std::size_t(r)][std::size_t(t)] |= byte_at(16 * t + 4 * r + b) << 8 * b;
  return in;
}

Registers load(const std::string& target, const std::string& instruction, int results) {
  return run_registers(target,
                       ".reg .b32 %a; mov.u32 %a, tile; mad.lo.u32 %a, %t, 16, %a;\n"
                       "st.shared.v4.b32 [%a], {%r0, %r1, %r2, %r3}; bar.warp.sync 0xffffffff;\n" +
                           instruction + " " + names("%d", 0, results) + ", [%a];\n",
                       filled_tile(), results, tile);
}

// The 512 bytes after an instruction that stores %r4, %r5, ... through the same addresses.
std::vector<u32> store(const std::string& target, const std::string& instruction, const Registers& values) {
  Registers in = filled_tile();
  in.insert(in.end(), values.begin(), values.end());
  const Registers out = run_registers(target,
                                      ".reg .b32 %a; mov.u32 %a, tile; mad.lo.u32 %a, %t, 16, %a;\n"
                                      "st.shared.v4.b32 [%a], {%r0, %r1, %r2, %r3}; bar.warp.sync 0xffffffff;\n" +
                                          instruction + " [%a], " + names("%r", 4, int(values.size())) +
                                          ";\nbar.warp.sync 0xffffffff; ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%a];\n",
                                      in, 4, tile);
  std::vector<u32> bytes;
  for (std::size_t t = 0; t < 32; ++t)
    for (std::size_t b = 0; b < 16; ++b) bytes.push_back(out[b / 4][t] >> 8 * (b % 4) & 0xFF);
  return bytes;
}

u32 half_at(int row, int column) { return byte_at(16 * row + 2 * column) | byte_at(16 * row + 2 * column + 1) << 8; }

Registers numbered(int count) {
  Registers r(std::size_t(count), std::array<u32, 32>{});
  for (int k = 0; k < count; ++k)
    for (int t = 0; t < 32; ++t) r[std::size_t(k)][std::size_t(t)] = u32(t) * 0x01030507u + u32(k) * 0x11000000u;
  return r;
}

template <class F>
void for_cells(int registers, F f) {
  for (int r = 0; r < registers; ++r)
    for (int t = 0; t < 32; ++t) f(std::size_t(r), std::size_t(t), t / 4, t % 4);
}

}  // namespace

TEST_CASE("ldmatrix m8n8 gives each lane two neighbours of a row, or of a column with .trans") {
  const Registers plain = load("sm_80", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", 4);
  const Registers trans = load("sm_80", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2);
  for_cells(4, [&](auto r, auto t, int group, int lane) {
    const int row = 8 * int(r) + group;
    CHECK(plain[r][t] == (half_at(row, 2 * lane) | half_at(row, 2 * lane + 1) << 16));
  });
  for_cells(2, [&](auto r, auto t, int group, int lane) {
    const int row = 8 * int(r) + 2 * lane;
    CHECK(trans[r][t] == (half_at(row, group) | half_at(row + 1, group) << 16));
  });
}

TEST_CASE("ldmatrix m16n16 gives each lane four rows of two byte columns") {
  const Registers got = load("sm_100a", "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8", 4);
  for_cells(4, [&](auto r, auto t, int group, int lane) {
    for (int b = 0; b < 4; ++b) {
      const int row = 16 * int(r / 2) + 4 * lane + b, column = group + 8 * int(r % 2);
      CHECK((got[r][t] >> 8 * b & 0xFF) == byte_at(16 * row + column));
    }
  });
}

TEST_CASE("ldmatrix widens packed elements of six and four bits to bytes") {
  const auto packed = [](int row, int element, int bits) {
    u32 v = 0;
    for (int i = 0; i < bits; ++i) {
      const int bit = element * bits + i;
      v |= (byte_at(16 * row + bit / 8) >> bit % 8 & 1) << i;
    }
    return v;
  };
  for (const auto& [format, bits] : {std::pair{"b6x16_p32", 6}, {"b4x16_p64", 4}}) {
    const Registers plain = load("sm_120a", std::string("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.") + format, 4);
    const Registers trans =
        load("sm_100a", std::string("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.") + format, 2);
    for_cells(4, [&, bits = bits](auto r, auto t, int group, int lane) {
      for (int b = 0; b < 4; ++b) {
        CHECK((plain[r][t] >> 8 * b & 0xFF) == packed(8 * int(r) + group, 4 * lane + b, bits));
        if (r < 2) CHECK((trans[r][t] >> 8 * b & 0xFF) == packed(4 * lane + b, group + 8 * int(r), bits));
      }
    });
  }
}

TEST_CASE("stmatrix writes what ldmatrix would read, and nothing else") {
  const Registers values = numbered(2);
  const auto plain = store("sm_90a", "stmatrix.sync.aligned.m8n8.x2.shared.b16", values);
  const auto trans = store("sm_90a", "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16", values);
  for_cells(2, [&](auto r, auto t, int group, int lane) {
    for (int b = 0; b < 4; ++b) {
      const u32 byte = values[r][t] >> 8 * b & 0xFF;
      CHECK(plain[std::size_t(16 * (8 * int(r) + group) + 4 * lane + b)] == byte);
      CHECK(trans[std::size_t(16 * (8 * int(r) + 2 * lane + b / 2) + 2 * group + b % 2)] == byte);
    }
  });
  for (int i = 256; i < 512; ++i) CHECK(plain[std::size_t(i)] == byte_at(i));
}

TEST_CASE("stmatrix m16n8 writes a tile of bytes by columns") {
  const Registers values = numbered(4);
  const auto got = store("sm_100a", "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8", values);
  for_cells(4, [&](auto r, auto t, int group, int lane) {
    for (int b = 0; b < 4; ++b) {
      const int row = group + 8 * (b / 2), column = 2 * lane + b % 2;  // of the accumulator
      CHECK(got[std::size_t(16 * (8 * int(r) + column) + row)] == (values[r][t] >> 8 * b & 0xFF));
    }
  });
}

TEST_CASE("movmatrix transposes eight by eight") {
  const Registers in = numbered(1);
  const Registers out = run_registers("sm_80", "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %r0;\n", in, 1);
  const auto element = [](const Registers& r, int row, int column) {
    return r[0][std::size_t(4 * row + column / 2)] >> 16 * (column % 2) & 0xFFFF;
  };
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column) CHECK(element(out, row, column) == element(in, column, row));
}

}  // namespace sim_matrix_move
