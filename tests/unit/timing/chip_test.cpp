// Chips as data: what is shipped can be read, and what is wrong is said with its place.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "harness/chip/chip_json.hpp"
#include "ptx/diag/error.hpp"
#include "timing/chip.hpp"

namespace kiln::timing::chip_test {
namespace {

// The message about a shipped chip in which one piece of text stands for another.
std::string complaint(const std::string& chip, const std::string& from, const std::string& to) {
  std::string text(harness::chip_text(chip));
  const std::size_t at = text.find(from);
  REQUIRE(at != text.npos);
  text.replace(at, from.size(), to);
  try {
    harness::read_chip(text, "my.json");
  } catch (const diag::InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("each shipped chip can be read, and its name is its file's") {
  for (const char* name : {"b200", "h200", "h100"}) {
    const Chip chip = harness::chip_of(name);
    CHECK(chip.name == name);
    CHECK(chip[FactId::sms] > 100);
  }
}

TEST_CASE("the clock falls with the square of what multiplies and what brings operands, once a launch is long") {
  const Chip h200 = harness::chip_of("h200"), b200 = harness::chip_of("b200");
  const double top = h200[FactId::work_clock], drop = h200[FactId::work_drop];
  constexpr double long_ago = 1e8, short_one = 100;
  CHECK(clock_of(h200, {long_ago, 0.5, 0.5}).value == doctest::Approx(top - drop));
  CHECK(clock_of(h200, {long_ago, 0.8, 0.4}).value == doctest::Approx(top - drop * 1.44));
  CHECK(clock_of(h200, {short_one, 0.8, 0.4}).value == doctest::Approx(top).epsilon(0.001));
  const double delay = h200[FactId::work_delay] * 1e3 * (top - drop * (1 - std::exp(-1.0)));  // in cycles
  CHECK(clock_of(h200, {delay, 0.5, 0.5}).value == doctest::Approx(top - drop * (1 - std::exp(-1.0))).epsilon(0.002));
  const Clock range = clock_of(h200, {long_ago, 0.5, 0.5});
  CHECK(range.least < range.value);
  CHECK(range.most > range.value);
  // Without products, and on a chip with tcgen05, the use of the tensor core alone counts.
  CHECK(clock_of(h200, {long_ago, 0, 0.4}).value == clock_under(h200, 0).value);
  CHECK(clock_of(b200, {long_ago, 0.5, 0.5}).value == clock_under(b200, 0.5).value);
}

TEST_CASE("a chip that is not known is refused with those that are") {
  CHECK_THROWS_WITH_AS(harness::chip_of("b2000"),
                       "no chip is named 'b2000'; known are b200, h200, h100, or a file.json", diag::InputError);
}

TEST_CASE("what is wrong in a chip file is said with its place") {
  CHECK(complaint("b200", "\"value\": 148", "\"value\": -1") ==
        "my.json: /facts/sms/value: must be a number above 0; got -1");
  CHECK(complaint("b200", "\"unit\": \"GHz\"", "\"unit\": \"MHz\"") ==
        "my.json: /facts/max_clock/unit: must be \"GHz\"; got \"MHz\"");
  CHECK(complaint("b200", "\"trust\": \"A\"", "\"trust\": \"D\"") ==
        "my.json: /facts/sms/trust: must be \"A\", \"B\" or \"C\"; got \"D\"");
  CHECK(complaint("b200", "\"source\": \"SA\"", "\"source\": \"XY\"") ==
        "my.json: /facts/sms/source: must be a key of \"sources\"; got \"XY\"");
  CHECK(complaint("b200", "\"sms\"", "\"smss\"").starts_with("my.json: /facts/smss: unknown key; known are sms, "));
  CHECK(complaint("b200", "\"n\": [64, 80", "\"n\": [64, 64") ==
        "my.json: /mma/0/n/1: must be larger than the one before; got 64");
  CHECK(complaint("b200", "\"interval\": [", "\"interval\": [1, ") ==
        "my.json: /mma/0/interval: must have 6 elements; got 7");
  CHECK(complaint("b200", "\"kinds\": [\"f16\"", "\"kinds\": [\"f17\"")
            .starts_with("my.json: /mma/0/kinds/0: must be a kind of tcgen05.mma"));
  CHECK(complaint("h100", "\"tensor_core\": \"wgmma\"", "\"tensor_core\": \"wmma\"") ==
        "my.json: /tensor_core: must be \"tcgen05\" or \"wgmma\"; got \"wmma\"");
  CHECK(complaint("h100", "\"tensor_core\": \"wgmma\"", "\"tensor_core\": \"tcgen05\"")
            .starts_with("my.json: /wgmma: unknown key"));
}

TEST_CASE("a fact of the other tensor core is unknown, and one of its own may not be left out") {
  CHECK(complaint("h100", "\"wgmma_drain\": {", "\"mma_floor\": {")
            .starts_with("my.json: /facts/mma_floor: unknown key"));
  const std::string text(harness::chip_text("h100"));
  const std::size_t first = text.find("    \"cta_gap\""), end = text.find('\n', first) + 1;
  CHECK_THROWS_WITH_AS(harness::read_chip(text.substr(0, first) + text.substr(end), "my.json"),
                       "my.json: /facts: \"cta_gap\" is missing", diag::InputError);
}

TEST_CASE("an MMA between two measured N lies on the line between them, and one below them on the floor") {
  const Chip chip = harness::chip_of("b200");
  const auto f16 = isa::MmaKind::f16;
  CHECK(mma_time(chip, f16, false, 1, 128, 128).interval == doctest::Approx(64).epsilon(0.001));
  CHECK(mma_time(chip, f16, false, 1, 128, 192).interval == doctest::Approx(96).epsilon(0.001));
  CHECK(mma_time(chip, f16, false, 1, 64, 16).interval == 26);
  CHECK(mma_time(chip, f16, false, 1, 128, 128).latency == 200);
  CHECK(mma_time(chip, f16, false, 1, 128, 128).exact);
  CHECK_FALSE(mma_time(chip, f16, false, 1, 32, 128).exact);
}

TEST_CASE("a slower chip has longer times and lower rates, as far as the trust of each allows") {
  const Chip chip = harness::chip_of("b200"), slow = bent(chip, true), fast = bent(chip, false);
  CHECK(slow[FactId::try_wait] == doctest::Approx(47 * 1.02));
  CHECK(slow[FactId::wake] == doctest::Approx(47 * 1.10));
  CHECK(slow[FactId::remote_arrive] == doctest::Approx(212 * 1.30));
  CHECK(fast[FactId::remote_arrive] == doctest::Approx(212 / 1.30));
  CHECK(slow[FactId::store_rate] == doctest::Approx(32 / 1.10));
  CHECK(slow[FactId::sms] == 148);
  CHECK(wgmma_interval(bent(harness::chip_of("h100"), true), 64) == doctest::Approx(32.46875 * 1.02));
}

}  // namespace
}  // namespace kiln::timing::chip_test
