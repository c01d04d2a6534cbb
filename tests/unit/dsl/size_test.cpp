// Options that say a strategy of a kernel.
#include <doctest/doctest.h>

#include <string>

#include "dsl/size.hpp"
#include "ptx/diag/error.hpp"

namespace dsl_size {

using namespace kiln;
using dsl::Size, dsl::Sizes, dsl::Strategy;

namespace {

const std::vector<Strategy> strategies{{{"tile", {256, 256, 64}}, {"stages", 7}},
                                       {{"tile", {128, 256, 64}}, {"stages", 4}},
                                       {{"tile", {128, 64, 64}}, {"stages", 4}}};

std::optional<std::size_t> listed(const Sizes& sizes) { return dsl::listed_strategy(strategies, sizes); }

}  // namespace

TEST_CASE("the first strategy that has what was given is the one that is listed") {
  CHECK(listed({}) == 0);
  CHECK(listed({{"m", 512}, {"tile", {}}, {"stages", {}}}) == 0);
  CHECK(listed({{"stages", 4}}) == 1);
  CHECK(listed({{"tile", {128, 64, 64}}}) == 2);
  CHECK(listed({{"tile", {128, 64, 64}}, {"stages", 4}}) == 2);
}

TEST_CASE("a strategy that no list has is none, and what was given of it can be said") {
  const Sizes sizes{{"tile", {128, 64, 64}}, {"stages", 7}, {"m", 512}};
  CHECK_FALSE(listed(sizes));
  CHECK_FALSE(listed({{"tile", 256}}));
  CHECK(text(dsl::given_of(strategies.front(), sizes)) == "--tile 128x64x64 --stages 7");
}

TEST_CASE("a size is a number, extents or nothing, and only a number is used as one") {
  CHECK(text(Size(512)) == "512");
  CHECK(text(Size(128, 256, 64)) == "128x256x64");
  CHECK(text(Size()).empty());
  CHECK(std::uint64_t(Size(512)) == 512);
  CHECK(Size(128, 256, 64) != Size(128, 256, 32));
  CHECK(Size(512) == 512);
  CHECK_THROWS_AS((void)static_cast<std::uint64_t>(Size(1, 2, 3)), diag::InternalError);
  CHECK_THROWS_AS((void)static_cast<std::uint64_t>(Size()), diag::InternalError);
}

// Compared as numbers, which extents are not, they were an internal error of `kiln tune --measure`.
TEST_CASE("strategies are the same if the same was given for each option") {
  const dsl::Strategy one{{"tile", {128, 96, 64}}, {"stages", 7}}, again{{"tile", {128, 96, 64}}, {"stages", 7}};
  CHECK(one == again);
  CHECK(one != dsl::Strategy{{"tile", {128, 96, 128}}, {"stages", 7}});
  CHECK(one != dsl::Strategy{{"tile", {128, 96, 64}}});
}

TEST_CASE("a list has a number for each of several problems, and one of them alone is a number") {
  const Size list = Size::list({96, 0, 128});
  CHECK(list.is_list());
  CHECK(text(list) == "96,0,128");
  CHECK(list.extents().size() == 3);
  CHECK(list == Size::list({96, 0, 128}));
  CHECK(list != Size(96, 0, 128));
  CHECK(list != Size::list({96, 0}));
  CHECK_THROWS_AS((void)static_cast<std::uint64_t>(list), diag::InternalError);
  CHECK(Size::list({7}) == Size(7));
  CHECK_FALSE(Size::list({}).is_given());
}

}  // namespace dsl_size
