#include "tests/unit/rules/switch.hpp"

#include "ptx/rules/shared_memory.hpp"

using namespace kiln;
using namespace kiln::rules;
using isa::Major, isa::MmaKind, isa::Swizzle;
using kiln::test::is_broken;

TEST_CASE("tcgen05-sdesc-fixed: version 1 and reserved bits zero") {
  isa::SharedDescriptorFields f;
  CHECK(sdesc_fixed(f).ok());
  f.version = 0;
  CHECK(is_broken(sdesc_fixed(f), Rule::sdesc_fixed, 1));
  f = isa::unpack_shared(isa::pack(isa::SharedDescriptorFields{}) | 1 << 14);
  CHECK(is_broken(sdesc_fixed(f), Rule::sdesc_fixed, 0));
}

TEST_CASE("tcgen05-sdesc-swizzle: five codes of eight") {
  for (std::uint8_t code : {0, 1, 2, 4, 6}) CHECK(sdesc_swizzle(code).ok());
  for (std::uint8_t code : {3, 5, 7}) CHECK(is_broken(sdesc_swizzle(code), Rule::sdesc_swizzle));
}

TEST_CASE("tcgen05-sdesc-atom32: MN-major tf32 and 32-byte atoms, or neither") {
  CHECK(sdesc_atom32(MmaKind::tf32, Major::MN, Swizzle::b128_atom32).ok());
  CHECK(sdesc_atom32(MmaKind::tf32, Major::K, Swizzle::b128).ok());
  CHECK(is_broken(sdesc_atom32(MmaKind::tf32, Major::MN, Swizzle::b128), Rule::sdesc_atom32));
  CHECK(is_broken(sdesc_atom32(MmaKind::f16, Major::MN, Swizzle::b128_atom32), Rule::sdesc_atom32));
}

TEST_CASE("tcgen05-sdesc-alignment: the first row of the pattern, or the base offset says which") {
  CHECK(sdesc_alignment(Swizzle::b128, 0x400, 0).ok());
  CHECK(sdesc_alignment(Swizzle::b128, 0x460, 0).ok());
  CHECK(sdesc_alignment(Swizzle::b128, 0x480, 1).ok());
  CHECK(sdesc_alignment(Swizzle::none, 0x490, 0).ok());
  CHECK(is_broken(sdesc_alignment(Swizzle::b128, 0x480, 0), Rule::sdesc_alignment, 0x400));
  CHECK(is_broken(sdesc_alignment(Swizzle::b32, 0x480, 0), Rule::sdesc_alignment, 0x400));
}

TEST_CASE("shared-tile-span, shared-tile-slice, shared-tile-layout, shared-budget") {
  CHECK(tile_span(Swizzle::b128, 128).ok());
  CHECK(tile_span(Swizzle::b128, 64).ok());
  CHECK(is_broken(tile_span(Swizzle::b128, 192), Rule::tile_span, 256));
  CHECK(tile_slice(64, 48, 16).ok());
  CHECK(is_broken(tile_slice(64, 64, 16), Rule::tile_slice, 48));
  CHECK(is_broken(tile_slice(64, 20, 16), Rule::tile_slice, 16));
  CHECK(tile_layout(true).ok());
  CHECK(is_broken(tile_layout(false), Rule::tile_layout));
  CHECK(shared_budget(isa::sm_100a, 227 * 1024).ok());
  CHECK(is_broken(shared_budget(isa::sm_100a, 227 * 1024 + 1), Rule::shared_budget, 227 * 1024));
  CHECK(is_broken(shared_budget(isa::sm_120a, 100 * 1024), Rule::shared_budget, 99 * 1024));
}

TEST_CASE("shared-static: 48 KiB, but for a target with an a suffix") {
  CHECK(shared_static(49152, isa::sm_100f).ok());
  CHECK(is_broken(shared_static(49153, isa::sm_100f), Rule::shared_static));
  CHECK(is_broken(shared_static(49153, isa::Target{90}), Rule::shared_static));
  CHECK(shared_static(49153, isa::sm_100a).ok());
  CHECK(shared_static(232448, isa::sm_90a).ok());
  CHECK(is_broken(shared_static(232449, isa::sm_90a), Rule::shared_static));
}

TEST_CASE("shared-bank-conflict: no more wavefronts than lanes need") {
  CHECK(shared_bank_conflict(4, 4).ok());
  CHECK(is_broken(shared_bank_conflict(32, 4), Rule::shared_bank_conflict, 4));
}
