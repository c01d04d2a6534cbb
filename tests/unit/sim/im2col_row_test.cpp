// Tensor copies that walk the pixels of one row after the other: im2col::w and im2col::w::128. The first cases are the
// examples of the PTX ISA, "im2col::w and im2col::w::128 modes".
#include <doctest/doctest.h>

#include "ptx/diag/error.hpp"
#include "tests/unit/sim/run.hpp"

namespace sim_im2col_row {

using namespace kiln;
using namespace kiln::test;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

namespace {

constexpr u32 channels = 32;  // of 16 bits: the span of the 64-byte swizzle
constexpr int height = 3;

struct Walk {
  int width, images, lower, upper, stride, pixels;
  int w, h, n;  // where it begins
  int halo, offset;
  bool fixed = false;  // im2col::w::128
};

launch::Contract contract(const Walk& k) {
  std::vector<u16> data(channels * u32(k.width * height * k.images));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = u16(i * 40503 % 65521 + 1);
  launch::TensorMap m;
  m.buffer = "T";
  m.dtype = isa::ScalarType::u16;
  m.rank = 4;
  m.dims = {channels, u32(k.width), u32(height), u32(k.images)};
  m.strides = {0, channels * 2, channels * 2 * u32(k.width), channels * 2 * u32(k.width * height)};
  m.element_strides = {1, u32(k.stride), 1, 1, 1};
  m.swizzle = isa::Swizzle::b64;
  m.im2col = launch::Im2col{
      {k.lower}, {k.upper}, channels, u32(k.pixels), k.fixed ? isa::Im2colWalk::row_128 : isa::Im2colWalk::row};
  launch::Contract c;
  c.buffers = {filled("T", data), buffer("out", 16384)};
  c.tensor_maps = {{"T", m}};
  launch::Launch l;
  l.block = {1, 1, 1};
  l.dynamic_smem = 16384;
  l.params = {map("T"), pointer("out")};
  c.launches = {l};
  return c;
}

std::string load_kernel(const Walk& k, const std::string& mode) {
  const auto number = [](int v) { return std::to_string(v); };
  const int bytes = (k.pixels + k.halo) * int(channels) * 2;
  return head +
         ".extern .shared .align 1024 .b8 tiles[];\n.visible .entry k(.param .align 64 .b8 M[128], .param .u64 out) {\n"
         ".reg .pred %p<4>; .reg .b16 %h<3>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .shared .align 8 .b64 bar;\n"
         "mov.b64 %rd1, M; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [out]; mov.u32 %r1, tiles; mov.u32 %r2, bar; mov.u32 %r3, 0;\n"
         "mov.u16 %h1, " +
         number(k.halo) + "; mov.u16 %h2, " + number(k.offset) +
         ";\nmbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r2], " + number(bytes) +
         ";\ncp.async.bulk.tensor.4d.shared::cta.global." + mode + ".mbarrier::complete_tx::bytes [%r1], [%rd1, {0, " +
         number(k.w) + ", " + number(k.h) + ", " + number(k.n) +
         "}], [%r2], {%h1, %h2};\n"
         "W: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra W;\n"
         "D: add.u32 %r4, %r1, %r3; ld.shared.u32 %r5, [%r4]; cvt.u64.u32 %rd3, %r3; add.u64 %rd3, %rd3, %rd2; "
         "st.global.u32 [%rd3], %r5; add.u32 %r3, %r3, 4; setp.lt.u32 %p1, %r3, " +
         number(bytes) + "; @%p1 bra D;\nret;\n}\n";
}

Run load(const Walk& k) { return run(load_kernel(k, k.fixed ? "im2col::w::128" : "im2col::w"), contract(k)); }

// Every pixel that the walk could meet, image by image.
std::vector<std::pair<int, int>> pixels_of(const Walk& k) {
  std::vector<std::pair<int, int>> out;
  for (int n = k.n; int(out.size()) < k.pixels + k.halo; ++n)
    for (int w = n == k.n ? k.w : k.lower; w < k.width + k.upper; w += k.stride) out.emplace_back(w + k.offset, n);
  return out;
}

void check(const Walk& k) {
  const Run r = load(k);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto data = r.read<u16>("T"), out = r.read<u16>("out");
  const auto walked = pixels_of(k);
  for (u32 p = 0; p < u32(k.pixels + k.halo); ++p) {
    const auto [w, n] = walked[p];
    const bool inside = w >= 0 && w < k.width && n < k.images;
    for (u32 c = 0; c < channels; ++c) {
      const u32 chunk = c / 8 ^ p / 2 % 4;  // 16-byte chunks of a 64-byte row
      const u16 expected = inside ? data[u32((n * height + k.h) * k.width + w) * channels + c] : u16(0);
      CHECK(out[p * channels + chunk * 8 + c % 8] == expected);
    }
  }
}

}  // namespace

TEST_CASE("im2col::w walks along W of one row, then of the same row of the next image") {
  check({7, 27, 0, 0, 1, 128, 3, 2, 7, 0, 0});
  check({7, 27, 0, 0, 1, 128, 3, 2, 7, 2, 0});    // with the two pixels after it
  check({7, 12, 0, 0, 1, 128, 3, 2, 0, 0, 0});    // past the last image
  check({67, 8, -1, 0, 2, 128, -1, 2, 3, 1, 0});  // example 1
  check({67, 8, -1, 0, 2, 128, -1, 2, 3, 0, 1});
  for (int offset = 0; offset < 3; ++offset) check({7, 60, -1, -1, 3, 128, -1, 2, 7, 0, offset});  // example 2
  check({9, 4, 1, -1, 2, 12, -4, 0, 1, 0, 0});  // begins before the lower corner
}

TEST_CASE("im2col::w::128 walks 128 pixels") { check({7, 30, -1, -1, 1, 128, 2, 1, 3, 0, 1, true}); }

TEST_CASE("a halo whose place only a picture shows is not modelled") {
  CHECK(load({7, 12, 0, 0, 1, 7, 0, 2, 0, 2, 0}).has("a halo of im2col::w after the end of its row"));
  CHECK(load({7, 30, 0, 0, 1, 128, 0, 1, 3, 1, 0, true}).has("the halo of im2col::w::128"));
}

TEST_CASE("a map that walks rows serves its own mode, and has a swizzle") {
  const Walk k{7, 12, 0, 0, 1, 7, 0, 2, 0, 0, 0};
  CHECK(run(load_kernel(k, "im2col::w::128"), contract(k)).has("[tma-map]"));
  CHECK(run(load_kernel(k, "im2col"), contract(k)).has("[tma-map]"));
  launch::Contract plain = contract(k);
  plain.tensor_maps.at("T").swizzle = isa::Swizzle::none;
  CHECK_THROWS_AS(run(load_kernel(k, "im2col::w"), plain), diag::InputError);
}

}  // namespace sim_im2col_row
