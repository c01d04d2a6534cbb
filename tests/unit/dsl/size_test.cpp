// Options that choose among the strategies of a kernel.
#include <doctest/doctest.h>

#include <string>

#include "dsl/size.hpp"
#include "ptx/diag/error.hpp"

using namespace kiln;
using dsl::Size, dsl::Sizes, dsl::Strategy;

namespace {

const std::vector<Strategy> strategies{{{"tile", {256, 256, 64}}, {"stages", 7}},
                                       {{"tile", {128, 256, 64}}, {"stages", 4}},
                                       {{"tile", {128, 64, 64}}, {"stages", 4}}};

std::size_t chosen(const Sizes& sizes) { return dsl::chosen_strategy("gemm", strategies, sizes); }

std::string complaint(const Sizes& sizes) {
  try {
    chosen(sizes);
  } catch (const diag::InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("the first strategy that has what was given is taken") {
  CHECK(chosen({}) == 0);
  CHECK(chosen({{"m", 512}, {"tile", {}}, {"stages", {}}}) == 0);
  CHECK(chosen({{"stages", 4}}) == 1);
  CHECK(chosen({{"tile", {128, 64, 64}}}) == 2);
  CHECK(chosen({{"tile", {128, 64, 64}}, {"stages", 4}}) == 2);
}

TEST_CASE("a strategy that there is not is refused with what was asked for and all that there are") {
  CHECK(complaint({{"tile", {128, 64, 64}}, {"stages", 7}, {"m", 512}}) ==
        "--tile 128x64x64 --stages 7: gemm is not instantiated so; its strategies are\n"
        "  --tile 256x256x64 --stages 7\n"
        "  --tile 128x256x64 --stages 4\n"
        "  --tile 128x64x64 --stages 4");
  CHECK(complaint({{"tile", 256}}).starts_with("--tile 256: gemm is not instantiated so"));
}

TEST_CASE("a size is a number, extents or nothing, and only a number is used as one") {
  CHECK(text(Size(512)) == "512");
  CHECK(text(Size(128, 256, 64)) == "128x256x64");
  CHECK(text(Size()).empty());
  CHECK(std::uint64_t(Size(512)) == 512);
  CHECK_FALSE(Size(128, 256, 64).is(Size(128, 256, 32)));
  CHECK_THROWS_AS((void)static_cast<std::uint64_t>(Size(1, 2, 3)), diag::InternalError);
  CHECK_THROWS_AS((void)static_cast<std::uint64_t>(Size()), diag::InternalError);
}
