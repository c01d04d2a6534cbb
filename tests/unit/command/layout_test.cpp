// Layouts in CuTe's notation, against what CuTe itself has for the same instructions (cute/atom/mma_traits_sm80.hpp,
// mma_traits_sm90_gmma.hpp, mma_traits_sm100.hpp).
#include <doctest/doctest.h>

#include "ptx/diag/error.hpp"
#include "tools/command/layout_subjects.hpp"

using namespace kiln;
using command::layouts_of;
using command::notation;

namespace {

std::vector<std::string> notations(const std::string& subject) {
  std::vector<std::string> out;
  for (const command::DrawnLayout& d : layouts_of(subject)) out.push_back(notation(d));
  return out;
}

}  // namespace

TEST_CASE("fragments of mma.sync have the layouts of CuTe's traits") {
  CHECK(notations("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") ==
        std::vector<std::string>{"((4,8),(2,2,2)):((32,1),(16,8,128))", "((4,8),(2,2)):((16,1),(8,64))",
                                 "((4,8),(2,2)):((32,1),(16,8))"});
  CHECK(notations("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") ==
        std::vector<std::string>{"((4,8),(2,2)):((16,1),(8,64))", "((4,8),2):((8,1),32)",
                                 "((4,8),(2,2)):((32,1),(16,8))"});
  CHECK(notations("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32").front() ==
        "((4,8),(4,2,2)):((64,1),(16,8,256))");
}

TEST_CASE("an accumulator of wgmma has the layout of CuTe's CLayout_64xN") {
  CHECK(notations("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16") ==
        std::vector<std::string>{"((4,8,4),(2,2,16)):((128,1,16),(64,8,512))",
                                 "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))"});
}

TEST_CASE("tiles of shared memory have the layouts of CuTe's atoms") {
  CHECK(notations("bf16 128 64").front() == "Sw<3,4,3> o (128,64):(64,1)");
  CHECK(notations("SharedTile<bf16, 128, 64, K_major, swizzle_128B>").front() == "Sw<3,4,3> o (128,64):(64,1)");
  CHECK(notations("bf16 128 128").front() == "Sw<3,4,3> o (128,(64,2)):(64,(1,8192))");
  CHECK(notations("bf16 128 64 MN_major swizzle_128B").front() == "Sw<3,4,3> o ((64,2),64):((1,4096),64)");
  CHECK(notations("f16 64 32 swizzle_64B").front() == "Sw<2,4,3> o (64,32):(32,1)");
  CHECK(notations("tf32 64 8 swizzle_32B").front() == "Sw<1,4,3> o (64,8):(8,1)");
  CHECK(notations("tf32 64 32 MN_major swizzle_128B_atom_32B").front() == "Sw<2,5,2> o ((32,2),32):((1,1024),32)");
  CHECK(notations("bf16 128 64 swizzle_none").front() == "(128,(8,8)):(8,(1,1024))");
}

TEST_CASE("tensor memory is addressed by lane * 65536 + column") {
  CHECK(notations("tcgen05.ld.sync.aligned.32x32b.x8.b32").front() == "(32,8):(65536,1)");
  CHECK(notations("tcgen05.ld.16x256b.x2").front() == "((4,8),(2,2,2)):((2,65536),(1,524288,8))");
  CHECK(notations("tcgen05.mma.cta_group::1 128x256").front() == "(128,256):(65536,1)");
  CHECK(notations("tcgen05.mma.cta_group::1 64x256").front() == "((16,4),256):((65536,2097152),1)");
  CHECK(notations("tcgen05.mma.cta_group::2 256x256").front() == "(128,256):(65536,1)");
  CHECK(notations("tcgen05.mma.cta_group::2 128x256").front() == "(64,(128,2)):(65536,(1,4194304))");
  CHECK(notations("tcgen05.mma.ws.cta_group::1 32x256").front() == "(32,(64,4)):(65536,(1,2097152))");
}

TEST_CASE("CuTe's swizzle over byte addresses is the hardware's") {
  using isa::Swizzle;
  for (const Swizzle s : {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128, Swizzle::b128_atom32,
                          Swizzle::b128_atom64})
    for (std::uint32_t address = 0; address < 8192; ++address)
      REQUIRE(command::cute_swizzle(s)(address) == isa::swizzled(s, address));
}

TEST_CASE("the picture of a swizzled tile shows pieces of 16 bytes in the order of addresses") {
  const auto picture = layouts_of("bf16 128 64").front().picture;
  REQUIRE(picture.size() == 9);
  CHECK(picture[1] == std::vector<std::string>{"0", "0x0000", "0-7", "8-15", "16-23", "24-31", "32-39", "40-47",
                                               "48-55", "56-63"});
  CHECK(picture[2] == std::vector<std::string>{"1", "0x0080", "8-15", "0-7", "24-31", "16-23", "40-47", "32-39",
                                               "56-63", "48-55"});
  CHECK(picture[8][2] == "56-63");
}

TEST_CASE("a map that no shape and stride describe has no layout") {
  const int extents[] = {8};
  CHECK_FALSE(command::probe_layout(extents, [](std::span<const int> at) { return at[0] ^ at[0] >> 1; }));
  CHECK(command::probe_layout(extents, [](std::span<const int> at) { return 3 * at[0]; }) ==
        std::vector<command::LayoutMode>{{{8}, {3}}});
}

TEST_CASE("a tile that breaks a rule is refused with the rule's name") {
  CHECK_THROWS_WITH_AS(layouts_of("bf16 128 96"), doctest::Contains("[shared-tile-span]"), diag::InputError);
  CHECK_THROWS_WITH_AS(layouts_of("bf16 128"), doctest::Contains("two extents"), diag::InputError);
  CHECK_THROWS_WITH_AS(layouts_of("bf16 128 64 swizzle_128"), doctest::Contains("did you mean swizzle_128B?"),
                       diag::InputError);
}
