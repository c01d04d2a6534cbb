// Dot products out of JSON: every published word comes out again, and what is wrong is told with its place.
#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "harness/dot/dot_problem.hpp"
#include "ptx/diag/error.hpp"

namespace harness_dot_json {

using namespace kiln;
using nlohmann::json;

namespace {

json document() {
  std::ifstream in(KILN_TEST_DATA "/num/b200_vectors.json");
  REQUIRE(in);
  return json::parse(in);
}

// The first vector of a kind, sparse or dense, as a document of its own.
json first_of(const std::string& kind, bool sparse = false) {
  const json all = document();
  for (const json& v : all.at("vectors"))
    if (v.at("kind") == kind && v.contains("meta") == sparse) return {{"vectors", json::array({v})}};
  FAIL("no such vector");
  return {};
}

std::string complaint(const json& d) {
  try {
    harness::read_dot_problems(d.dump(), "f.json");
  } catch (const diag::InputError& e) {
    return e.what();
  }
  return "";
}

std::uint32_t result(const json& d) {
  return harness::evaluate(harness::read_dot_problems(d.dump(), "f.json").at(0)).value();
}

}  // namespace

TEST_CASE("every published word comes out of the file, sparse and scaled ones too") {
  const auto problems = harness::read_dot_problems(document().dump(), "b200");
  REQUIRE(problems.size() == 84);
  for (const harness::DotProblem& p : problems) {
    CAPTURE(p.name);
    CHECK(harness::evaluate(p) == p.expect);
  }
}

TEST_CASE("a sparse A may come as it is stored") {
  for (const char* kind : {"tf32", "mxf8f6f4", "mxf4", "mxf4nvf4"}) {
    json d = first_of(kind, true);
    const auto stored = harness::read_dot_problems(d.dump(), "f.json").at(0).a;
    const std::uint32_t want = d["vectors"][0]["expect"];
    d["vectors"][0]["a"] = stored;
    CHECK(result(d) == want);
  }
}

TEST_CASE("switches act as in the instruction") {
  json d = {{"vectors",
             {{{"kind", "f16"},
               {"a_fmt", "bf16"},
               {"b_fmt", "bf16"},
               {"d_fmt", "f32"},
               {"a", {0x3F80}},
               {"b", {0x4000}},
               {"c", 0x41000000}}}}};
  json& v = d["vectors"][0];
  CHECK(result(d) == 0x41200000);  // 1 * 2 + 8
  v["negate_a"] = true;
  CHECK(result(d) == 0x40C00000);
  v["negate_b"] = true, v["scale_input_d"] = 2;
  CHECK(result(d) == 0x40800000);
  v["enable_input_d"] = false;
  CHECK(result(d) == 0x40000000);
}

TEST_CASE("K = 96 is three or six blocks of packed fp4") {
  json d = first_of("mxf4");
  json& v = d["vectors"][0];
  v["a"] = v["b"] = std::vector<int>(96, 2);  // ones
  v["sa"] = {127, 128, 129}, v["sb"] = {127, 127, 127}, v["scale_vec"] = 3, v["c"] = 0;
  CHECK(result(d) == 0x43600000);  // 32 * (1 + 2 + 4)
  v["kind"] = "mxf4nvf4", v["scale_vec"] = 6, v["scale_fmt"] = "ue4m3";
  v["sa"] = {0x38, 0x38, 0x38, 0x38, 0x38, 0x40}, v["sb"] = {0x38, 0x38, 0x38, 0x38, 0x38, 0x38};
  CHECK(result(d) == 0x42E00000);  // 16 * (5 + 2)
}

TEST_CASE("what is wrong is told with its place") {
  const auto with = [](json d, const std::string& key, json value) {
    d["vectors"][0][key] = std::move(value);
    return complaint(d);
  };
  const auto starts = [](const std::string& text, const std::string& with_this) {
    CHECK_MESSAGE(text.starts_with("f.json: " + with_this), text);
  };
  const json f16 = first_of("f16"), sparse = first_of("mxf4", true), scaled = first_of("mxf8f6f4"), i8 = first_of("i8");
  starts(complaint(json::array()), "must be an object");
  starts(complaint({{"vectors", 3}}), "vectors: must be an array");
  starts(complaint({{"vectors", {1}}}), "vectors[0]: must be an object");
  starts(with(f16, "kind", "f15"), "vectors[0].kind: must be f16,");
  starts(with(f16, "a_fmt", "f64"), "vectors[0].a_fmt: must be a format");
  starts(with(f16, "b_fmt", "f16"), "vectors[0].b_fmt: kind::f16 does not multiply bf16 by f16");
  starts(with(f16, "d_fmt", "f16"), "vectors[0].d_fmt: kind::f16 does not add");
  starts(with(f16, "b", std::vector<int>(17, 0)), "vectors[0].b: must have at most 16");
  starts(with(f16, "a", {1, -1}), "vectors[0].a[1]: must be a whole number");
  starts(with(f16, "c", 1.5), "vectors[0].c: must be");
  starts(with(f16, "expect", "1"), "vectors[0].expect: must be");
  starts(with(f16, "sa", {1}), "vectors[0].sa: kind::f16 has no scales");
  starts(with(f16, "sat", true), "vectors[0].sat: kind::f16 does not saturate");
  starts(with(f16, "scale_input_d", 16), "vectors[0].scale_input_d: must be");
  starts(with(f16, "scale", 1), "vectors[0].scale: unknown key");
  starts(with(i8, "negate_b", true), "vectors[0].negate_b: kind::i8 does not negate");
  starts(with(i8, "scale_input_d", 1), "vectors[0].scale_input_d: kind::i8 does not");
  starts(with(sparse, "meta", {0x44444444, 0x44444445}), "vectors[0].meta[1]: the nibble 0x5 at bit 0");
  starts(with(sparse, "meta", {1}), "vectors[0].meta: must have 2 elements");
  starts(with(sparse, "a", {1, 2}), "vectors[0].a: must have 128 elements, or the 64 that are kept; got 2");
  starts(with(scaled, "scale_fmt", "ue4m3"), "vectors[0].scale_fmt: kind::mxf8f6f4 with 1 scales does not take ue4m3");
  starts(with(scaled, "scale_vec", 2), "vectors[0].scale_vec: kind::mxf8f6f4 with K = 32 does not have 2");
  starts(with(scaled, "sb", {256}), "vectors[0].sb[0]: must be");
  starts(with(f16, "instruction", "wgmma"), "vectors[0].arch: is missing");
  starts(with(f16, "arch", "hopper"), "vectors[0].arch: must be a target");
}

TEST_CASE("instructions without a model here have no word, and say so") {
  json d = first_of("f16");
  d["vectors"][0]["instruction"] = "mma.sync", d["vectors"][0]["arch"] = "sm_90";
  const auto problem = harness::read_dot_problems(d.dump(), "f.json").at(0);
  CHECK(problem.instruction == harness::DotInstruction::mma_sync);
  CHECK(problem.arch == "sm_90");
  CHECK_FALSE(harness::evaluate(problem));
}

}  // namespace harness_dot_json
