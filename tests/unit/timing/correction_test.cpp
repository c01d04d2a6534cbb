// Corrections of estimates: trees over traits, as JSON.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "harness/chip/chip_json.hpp"
#include "ptx/diag/error.hpp"

namespace kiln::timing::correction_test {
namespace {

std::string document(const std::string& trees) {
  std::string names;
  for (const std::string_view name : trait_names) names += (names.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  return R"({"gemms": "mine", "fitted": "by hand", "traits": [)" + names + R"(], "trees": )" + trees + "}";
}

Correction with(const std::string& trees) { return harness::read_correction(document(trees), "mine.json"); }

// What is wrong with a document.
std::string complaint(const std::string& text) {
  try {
    harness::read_correction(text, "mine.json");
  } catch (const diag::InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a leaf counts for all GEMMs, and trees add up") {
  const Correction c = with("[0.25, -0.5]");
  CHECK(c.name == "mine");
  CHECK(c.factor({}) == doctest::Approx(std::exp(-0.25)));
}

TEST_CASE("a question leads to its first node up to its number, and to its second above") {
  const std::string tile_rows = std::to_string(int(Trait::tile_rows)), ctas = std::to_string(int(Trait::ctas));
  const Correction c = with("[[" + tile_rows + ", 128, [" + ctas + ", 1.5, 1, 2], 3]]");
  Traits x;
  x[Trait::tile_rows] = 128, x[Trait::ctas] = 1;
  CHECK(c.factor(x) == doctest::Approx(std::exp(1)));
  x[Trait::ctas] = 2;
  CHECK(c.factor(x) == doctest::Approx(std::exp(2)));
  x[Trait::tile_rows] = 129;
  CHECK(c.factor(x) == doctest::Approx(std::exp(3)));
}

TEST_CASE("what is wrong in a correction is said with its place") {
  CHECK(complaint(document("[]")) == "mine.json: /trees: must have 1 to 10000 elements; got 0");
  CHECK(complaint(document("[[1, 2, 3]]")) == "mine.json: /trees/0: must have 4 elements; got 3");
  CHECK(complaint(document("[[1, 2, 3, \"x\"]]")) == "mine.json: /trees/0/3: must be a number; got \"x\"");
  const std::string beyond = std::to_string(trait_count), last = std::to_string(trait_count - 1);
  CHECK(complaint(document("[[" + beyond + ", 2, 3, 4]]")) ==
        "mine.json: /trees/0/0: must be a whole number from 0 to " + last + "; got " + beyond);
  std::string other = document("[0]");
  other.replace(other.find("tile_rows"), 9, "tile_cols");
  CHECK(complaint(other) == "mine.json: /traits/1: must be \"tile_rows\", as in timing/traits.def; got \"tile_cols\"");
}

TEST_CASE("a chip names a correction that is there, and keeps it when it is written") {
  std::string text = harness::write_chip(harness::chip_of("h200"));
  CHECK(harness::read_chip(text, "my.json").gemms->name == "h200");
  text.replace(text.find("\"gemms\": \"h200\""), 15, "\"gemms\": \"h201\"");
  CHECK_THROWS_WITH_AS(harness::read_chip(text, "my.json"), "my.json: /gemms: must be \"h200\"; got \"h201\"",
                       diag::InputError);
}

}  // namespace
}  // namespace kiln::timing::correction_test
