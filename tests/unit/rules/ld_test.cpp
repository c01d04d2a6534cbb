#include "tests/unit/rules/switch.hpp"

#include "ptx/rules/tcgen05_ld.hpp"

using namespace kiln::rules;
using kiln::isa::DataShape;
using kiln::test::is_broken;

TEST_CASE("tcgen05-ld-repeat: each shape ends where its registers do") {
  CHECK(ld_repeat(DataShape::s32x32b, 128).ok());
  CHECK(ld_repeat(DataShape::s16x64b, 128).ok());
  CHECK(ld_repeat(DataShape::s16x32bx2, 128).ok());
  CHECK(ld_repeat(DataShape::s16x128b, 64).ok());
  CHECK(ld_repeat(DataShape::s16x256b, 32).ok());
  CHECK(is_broken(ld_repeat(DataShape::s16x128b, 128), Rule::ld_repeat, 64));
  CHECK(is_broken(ld_repeat(DataShape::s16x256b, 64), Rule::ld_repeat, 32));
  CHECK(is_broken(ld_repeat(DataShape::s32x32b, 0), Rule::ld_repeat, 1));
}

TEST_CASE("tcgen05-ld-registers: one, one, two, four and one register a repeat") {
  CHECK(ld_registers(DataShape::s32x32b, 8, 8).ok());
  CHECK(ld_registers(DataShape::s16x64b, 8, 8).ok());
  CHECK(ld_registers(DataShape::s16x128b, 8, 16).ok());
  CHECK(ld_registers(DataShape::s16x256b, 8, 32).ok());
  CHECK(ld_registers(DataShape::s16x32bx2, 8, 8).ok());
  CHECK(is_broken(ld_registers(DataShape::s16x256b, 1, 2), Rule::ld_registers, 4));
}

TEST_CASE("tcgen05-ld-lane: multiples of 32, of 16 for the shapes that cover 16, of anything for a copy's") {
  for (int lane : {0, 32, 96}) CHECK(ld_lane(DataShape::s32x32b, lane).ok());
  for (int lane : {0, 16, 48}) CHECK(ld_lane(DataShape::s16x256b, lane).ok());
  CHECK(ld_lane(DataShape::s128x256b, 5).ok());
  CHECK(is_broken(ld_lane(DataShape::s32x32b, 16), Rule::ld_lane, 0));
  CHECK(is_broken(ld_lane(DataShape::s32x32b, 33), Rule::ld_lane, 32));
  CHECK(is_broken(ld_lane(DataShape::s16x32bx2, 24), Rule::ld_lane, 16));
}

TEST_CASE("tcgen05-ld-quarter: a warp's own quarter, or the middle of it for 16 lanes") {
  for (int warp = 0; warp < 8; ++warp) {
    CHECK(ld_quarter(DataShape::s32x32b, 32 * (warp % 4), warp).ok());
    CHECK(ld_quarter(DataShape::s16x256b, 32 * (warp % 4) + 16, warp).ok());
    CHECK(is_broken(ld_quarter(DataShape::s32x32b, 32 * (warp % 4) + 16, warp), Rule::ld_quarter));
    CHECK(is_broken(ld_quarter(DataShape::s32x32b, 32 * ((warp + 1) % 4), warp), Rule::ld_quarter, 32 * (warp % 4)));
  }
}

TEST_CASE("tcgen05-ld-wait: registers are pending until the wait") {
  CHECK(is_broken(step(LdState::pending, LdEvent::read).verdict, Rule::ld_wait));
  CHECK(step(LdState::pending, LdEvent::wait).next == LdState::ready);
  CHECK(step(LdState::ready, LdEvent::read).verdict.ok());
}
