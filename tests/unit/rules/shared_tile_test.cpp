#include "tests/unit/rules/switch.hpp"

#include "ptx/rules/shared_tile.hpp"

using namespace kiln::rules;
using kiln::test::is_broken;

static_assert(sdesc_tile_piece(3, 3).ok());
static_assert(sdesc_advance({0, 0}, {16, 16}, 16).ok());

TEST_CASE("tcgen05-sdesc-tile: every line meets the piece that the first one met") {
  CHECK(sdesc_tile_piece(0, 0).ok());
  CHECK(sdesc_tile_piece(7, 7).ok());
  CHECK(is_broken(sdesc_tile_piece(1, 0), Rule::sdesc_tile, 0));
  CHECK(is_broken(sdesc_tile_piece(0, 7), Rule::sdesc_tile, 7));
}

TEST_CASE("tcgen05-sdesc-tile: a line stays in its row; core matrices may slide, but not by whole groups") {
  CHECK(sdesc_tile_line(5, 5, false).ok());
  CHECK(is_broken(sdesc_tile_line(6, 5, false), Rule::sdesc_tile, 5));
  CHECK(is_broken(sdesc_tile_line(4, 5, false), Rule::sdesc_tile, 5));
  CHECK(sdesc_tile_line(6, 5, true).ok());
  CHECK(sdesc_tile_line(5, 5, true).ok());
  CHECK(is_broken(sdesc_tile_line(13, 5, true), Rule::sdesc_tile, 5));
  CHECK(is_broken(sdesc_tile_line(5, 21, true), Rule::sdesc_tile, 21));
}

TEST_CASE("tcgen05-sdesc-tile: groups of lines follow each other or leave whole groups out") {
  CHECK(sdesc_tile_step(8, 8).ok());
  CHECK(sdesc_tile_step(24, 8).ok());
  CHECK(sdesc_tile_step(4, 4).ok());
  CHECK(is_broken(sdesc_tile_step(9, 8), Rule::sdesc_tile, 8));
  CHECK(is_broken(sdesc_tile_step(4, 8), Rule::sdesc_tile, 8));
  CHECK(is_broken(sdesc_tile_step(0, 8), Rule::sdesc_tile));
  CHECK(is_broken(sdesc_tile_step(-8, 8), Rule::sdesc_tile));
}

TEST_CASE("tcgen05-sdesc-tile: a box goes on where a group ends, and nothing is read twice but a broadcast") {
  CHECK(sdesc_tile_end(true).ok());
  CHECK(is_broken(sdesc_tile_end(false), Rule::sdesc_tile));
  CHECK(sdesc_tile_once(true).ok());
  CHECK(is_broken(sdesc_tile_once(false), Rule::sdesc_tile));
}

TEST_CASE("tcgen05-sdesc-advance: what is used again of one operand meets the same of the other") {
  CHECK(sdesc_advance({0, 0}, {16, 16}, 16).ok());
  CHECK(sdesc_advance({48, 16}, {16, -16}, 16).ok());  // two tensors, K from the end
  CHECK(sdesc_advance({0, 0}, {0, 0}, 16).ok());
  CHECK(sdesc_advance({0, 16}, {16, 0}, 16).ok());  // another order of K in A than in B: nothing is used again
  CHECK(is_broken(sdesc_advance({0, 0}, {0, 16}, 16), Rule::sdesc_advance, 16));
  CHECK(is_broken(sdesc_advance({0, 0}, {16, 0}, 16), Rule::sdesc_advance, 0));
  CHECK(is_broken(sdesc_advance({0, 0}, {8, 8}, 16), Rule::sdesc_advance, 16));
  CHECK(is_broken(sdesc_advance({16, 48}, {1, 33}, 16), Rule::sdesc_advance, 16));
  CHECK(is_broken(sdesc_advance({0, 0}, {8, 16}, 16), Rule::sdesc_advance, 16));
  CHECK(is_broken(sdesc_advance({16, 16}, {1, 32}, 16), Rule::sdesc_advance, 16));
}
