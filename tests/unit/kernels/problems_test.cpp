// Products of several sizes in one launch: the tile that they are built with.
#include <doctest/doctest.h>

#include <string>

#include "kernels/by_hand.hpp"
#include "ptx/diag/error.hpp"

using namespace kiln;
using namespace kiln::kernels;

namespace {

// The tile that so many CTAs take for groups of these rows, each with n columns.
std::string tile(dsl::Strategy (*of)(const dsl::Sizes&), std::vector<std::uint64_t> rows, std::uint64_t n,
                 std::uint64_t ctas) {
  const dsl::Sizes sizes{{"m", dsl::Size::list(std::move(rows))}, {"n", n}, {"k", 512}, {"ctas", ctas}};
  return dsl::text(of(sizes));
}

}  // namespace

TEST_CASE("products of several sizes have the tile with which a CTA copies the fewest rows of A and B") {
  // Eleven rows of tiles, two rounds of 320 rows; with 256 columns two of 384, with 128 three of 256.
  CHECK(tile(gemm_problems_strategy, {128, 1280}, 4096, 148) == "--tile 128x192x64");
  CHECK(tile(gemm_problems_strategy, {128}, 4096, 148) == "--tile 128x64x64");
  // The same: two rounds of 288.
  CHECK(tile(gemm_nvf4_problems_strategy, {128, 1280}, 4096, 148) == "--tile 128x160x256");
  CHECK(tile(gemm_nvf4_problems_strategy, {128, 384}, 4096, 148) == "--tile 128x128x256");
  CHECK(tile(gemm_nvf4_problems_strategy, {128}, 4096, 148) == "--tile 128x64x256");
}

TEST_CASE("groups without rows have the usual tile, and a tile that is given stands") {
  CHECK(tile(gemm_problems_strategy, {0, 0}, 4096, 148) == "--tile 128x256x64");
  const dsl::Sizes given{{"m", 128}, {"n", 4096}, {"k", 512}, {"ctas", 148}, {"tile", {128, 256, 64}}};
  CHECK(dsl::text(gemm_problems_strategy(given)) == "--tile 128x256x64");
}

TEST_CASE("a tile that products of several sizes are not built with is refused") {
  const dsl::Sizes sizes{{"m", 128}, {"n", 256}, {"k", 512}, {"ctas", 148}, {"tile", {128, 96, 256}}};
  CHECK_THROWS_WITH_AS(gemm_nvf4_problems(dsl::sm_100a, sizes),
                       "--tile 128x96x256: must be one of 128x128x256, 128x160x256, 128x64x256", diag::InputError);
}
