// Tensor copies in im2col mode, against what an H200 loaded.
#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace sim_im2col {

using namespace kiln;
using namespace kiln::test;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

namespace {

// A tensor of 3 images of 5 rows of 7 pixels of 16 channels, counted from 1. What came out: the first of the 8 channels
// of each pixel, 0 outside.
struct Captured {
  std::array<int, 2> lower, upper, strides;
  u32 pixels;
  std::array<int, 4> at;       // channel, column, row, image
  std::array<int, 2> offsets;  // column, row
  std::vector<u16> loaded;
};
const Captured captured[] = {
    {{0, 0}, {0, 0}, {1, 1}, 24, {0, 0, 0, 0}, {0, 0}, {1,   17,  33,  49,  65,  81,  97,  113, 129, 145, 161, 177,
                                                        193, 209, 225, 241, 257, 273, 289, 305, 321, 337, 353, 369}},
    {{0, 0}, {0, 0}, {1, 1}, 24, {0, 3, 2, 1}, {0, 0}, {833,  849,  865,  881,  897,  913,  929,  945,
                                                        961,  977,  993,  1009, 1025, 1041, 1057, 1073,
                                                        1089, 1105, 1121, 1137, 1153, 1169, 1185, 1201}},
    {{-1, -1}, {-1, -1}, {1, 1}, 40, {0, -1, -1, 0}, {0, 0}, {0,   0,   0,   0,   0,   0,   0,   0,   1,   17,
                                                              33,  49,  65,  81,  0,   113, 129, 145, 161, 177,
                                                              193, 0,   225, 241, 257, 273, 289, 305, 0,   337,
                                                              353, 369, 385, 401, 417, 0,   0,   0,   0,   0}},
    {{-1, -1}, {-1, -1}, {1, 1}, 40, {0, -1, -1, 0}, {2, 1}, {17,  33,  49,  65,  81,  97,  0,   129, 145, 161,
                                                              177, 193, 209, 0,   241, 257, 273, 289, 305, 321,
                                                              0,   353, 369, 385, 401, 417, 433, 0,   465, 481,
                                                              497, 513, 529, 545, 0,   577, 593, 609, 625, 641}},
    {{-1, -1}, {-1, -1}, {1, 1}, 40, {0, 4, 3, 1}, {1, 2}, {0,    0,    1233, 1249, 1265, 1281, 1297, 1313, 1329, 1345,
                                                            1361, 1377, 1393, 1409, 1425, 1441, 1457, 1473, 1489, 1505,
                                                            1521, 1537, 1553, 1569, 1585, 1601, 1617, 1633, 1649, 1665,
                                                            0,    0,    0,    0,    0,    0,    0,    0,    0,    0}},
    {{0, 0}, {-2, -2}, {1, 1}, 40, {0, 0, 0, 0}, {1, 2}, {241,  257,  273,  289,  305,  353,  369,  385,  401,  417,
                                                          465,  481,  497,  513,  529,  801,  817,  833,  849,  865,
                                                          913,  929,  945,  961,  977,  1025, 1041, 1057, 1073, 1089,
                                                          1361, 1377, 1393, 1409, 1425, 1473, 1489, 1505, 1521, 1537}},
    {{0, 0}, {-2, -2}, {1, 1}, 32, {8, 2, 1, 0}, {2, 2}, {409,  425,  441,  489,  505,  521,  537,  553,
                                                          825,  841,  857,  873,  889,  937,  953,  969,
                                                          985,  1001, 1049, 1065, 1081, 1097, 1113, 1385,
                                                          1401, 1417, 1433, 1449, 1497, 1513, 1529, 1545}},
    {{-1, -1}, {-1, -1}, {2, 2}, 24, {0, -1, -1, 0}, {1, 1}, {1,   33,  65,  97,  225,  257,  289,  321,
                                                              449, 481, 513, 545, 561,  593,  625,  657,
                                                              785, 817, 849, 881, 1009, 1041, 1073, 1105}},
    {{-1, -1}, {-1, -1}, {2, 2}, 24, {0, 1, 1, 1}, {0, 2}, {913,  945,  977,  0, 0, 0, 0, 0, 1249, 1281, 1313, 0,
                                                            1473, 1505, 1537, 0, 0, 0, 0, 0, 0,    0,    0,    0}},
    {{-1, -1}, {0, 0}, {2, 1}, 64, {0, -1, -1, 0}, {0, 0}, {0,   0,    0,    0,    0,    17,   49,   81,   0,    129,
                                                            161, 193,  0,    241,  273,  305,  0,    353,  385,  417,
                                                            0,   465,  497,  529,  0,    0,    0,    0,    0,    577,
                                                            609, 641,  0,    689,  721,  753,  0,    801,  833,  865,
                                                            0,   913,  945,  977,  0,    1025, 1057, 1089, 0,    0,
                                                            0,   0,    0,    1137, 1169, 1201, 0,    1249, 1281, 1313,
                                                            0,   1361, 1393, 1425}},
    {{-1, 0}, {1, 2}, {1, 2}, 100, {0, 0, 0, 0}, {0, 0}, {1,    17,   33,   49,   65,   81,   97,   0,    0,    225,
                                                          241,  257,  273,  289,  305,  321,  0,    0,    449,  465,
                                                          481,  497,  513,  529,  545,  0,    0,    0,    0,    0,
                                                          0,    0,    0,    0,    0,    0,    561,  577,  593,  609,
                                                          625,  641,  657,  0,    0,    785,  801,  817,  833,  849,
                                                          865,  881,  0,    0,    1009, 1025, 1041, 1057, 1073, 1089,
                                                          1105, 0,    0,    0,    0,    0,    0,    0,    0,    0,
                                                          0,    0,    1121, 1137, 1153, 1169, 1185, 1201, 1217, 0,
                                                          0,    1345, 1361, 1377, 1393, 1409, 1425, 1441, 0,    0,
                                                          1569, 1585, 1601, 1617, 1633, 1649, 1665, 0,    0,    0}},
    {{-1, -1}, {-1, -1}, {1, 1}, 64, {0, 0, 0, 2}, {0, 0}, {1121, 1137, 1153, 1169, 1185, 1201, 0,    1233, 1249, 1265,
                                                            1281, 1297, 1313, 0,    1345, 1361, 1377, 1393, 1409, 1425,
                                                            0,    1457, 1473, 1489, 1505, 1521, 1537, 0,    0,    0,
                                                            0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                                                            0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                                                            0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                                                            0,    0,    0,    0}},
    {{-1, -1}, {-1, -1}, {2, 2}, 24, {0, 0, 0, 0}, {0, 0}, {1,   33,  65,  0, 241, 273, 305, 0, 0, 0, 0, 0,
                                                            689, 721, 753, 0, 913, 945, 977, 0, 0, 0, 0, 0}},
    {{-1, -1}, {-1, -1}, {3, 2}, 24, {0, -1, -1, 0}, {0, 0}, {0, 0,   0,   0, 145, 193, 0, 369, 417, 0, 0,    0,
                                                              0, 705, 753, 0, 929, 977, 0, 0,   0,   0, 1265, 1313}},
};

std::string load_kernel(const Captured& k) {
  const auto number = [](int v) { return std::to_string(v); };
  return head +
         ".extern .shared .align 1024 .b8 tiles[];\n.visible .entry k(.param .align 64 .b8 M[128], .param .u64 out) {\n"
         ".reg .pred %p<4>; .reg .b16 %h<3>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .shared .align 8 .b64 bar;\n"
         "mov.b64 %rd1, M; cvta.param.u64 %rd1, %rd1;\n"
         "ld.param.u64 %rd2, [out]; mov.u32 %r1, tiles; mov.u32 %r2, bar; mov.u32 %r3, 0;\n"
         "mov.u16 %h1, " +
         number(k.offsets[0]) + "; mov.u16 %h2, " + number(k.offsets[1]) +
         ";\n"
         "mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r2], " +
         std::to_string(k.pixels * 16) +
         ";\ncp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [%r1], [%rd1, {" +
         number(k.at[0]) + ", " + number(k.at[1]) + ", " + number(k.at[2]) + ", " + number(k.at[3]) +
         "}], [%r2], {%h1, %h2};\n"
         "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra W;\n"
         "D: add.u32 %r4, %r1, %r3; ld.shared.u32 %r5, [%r4]; cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd3, %rd2; "
         "st.global.u32 [%rd3], %r5; add.u32 %r3, %r3, 4; setp.lt.u32 %p1, %r3, " +
         std::to_string(k.pixels * 16) + "; @%p1 bra D;\nret;\n}\n";
}

}  // namespace

TEST_CASE("a column of pixels is walked as the hardware does it") {
  std::vector<u16> data(16 * 7 * 5 * 3);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = u16(i + 1);
  for (const Captured& k : captured) {
    launch::TensorMap m;
    m.buffer = "T";
    m.dtype = isa::ScalarType::u16;
    m.rank = 4;
    m.dims = {16, 7, 5, 3};
    m.strides = {0, 32, 32 * 7, 32 * 35};
    m.element_strides = {1, u32(k.strides[0]), u32(k.strides[1]), 1, 1};
    m.im2col = launch::Im2col{{k.lower[0], k.lower[1]}, {k.upper[0], k.upper[1]}, 8, k.pixels};
    launch::Contract c;
    c.buffers = {filled("T", data), buffer("out", k.pixels * 16)};
    c.tensor_maps = {{"T", m}};
    launch::Launch l;
    l.block = {1, 1, 1};
    l.dynamic_smem = 4096;
    l.params = {map("T"), pointer("out")};
    c.launches = {l};
    const Run r = run(load_kernel(k), c);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    const auto out = r.read<u16>("out");
    for (u32 p = 0; p < k.pixels; ++p)
      for (u32 x = 0; x < 8; ++x) CHECK(out[p * 8 + x] == (k.loaded[p] ? k.loaded[p] + x : 0));
  }
}

}  // namespace sim_im2col
