// Instruction descriptors and masks of lanes that a kernel makes of its parameters, as CuTe DSL's kernels do: the
// contract says what they are, and the lowered kernel stops where that does not hold.
#include "tests/unit/lower/lowered.hpp"

namespace lower_given {

using namespace kiln;
using namespace kiln::test;

namespace {

// The second byte of the last parameter turns a sign; its other words are the mask.
constexpr const char* from_parameters = R"(
  .reg .b16 %g<4>;
  .reg .b32 %given<6>;
  .reg .pred %negates;
  ld.param.v2.b8 {%g0, %g1}, [given];
  and.b16 %g2, %g1, 1;
  setp.ne.b16 %negates, %g2, 0;
  selp.b32 %given0, 0x8202490, 0x8200490, %negates;
  ld.param.v4.b32 {%given1, %given2, %given3, %given4}, [given+16];
)";

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()), ++found)
    text.replace(at, what.size(), by);
  REQUIRE(found > 0);
}

launch::Param given(std::uint8_t negates, std::uint8_t mask = 0) {
  launch::BytesParam p;
  p.bytes.resize(32);
  p.bytes[0] = 77;
  p.bytes[1] = negates;
  p.bytes[20] = mask;
  return {p};
}

// gemm_bf16_basic with one more parameter.
Kernel kernel() {
  const Kernel plain = library_kernel("gemm_bf16_basic", {{"m", 128}, {"n", 256}, {"k", 128}});
  std::string text{plain.text->text()};
  replace_all(text, ".param .u32 gemm_bf16_basic_k_tiles",
              ".param .u32 gemm_bf16_basic_k_tiles, .param .align 16 .b8 given[32]");
  const std::size_t body = text.find("{\n");
  REQUIRE(body != std::string::npos);
  text.insert(body + 2, from_parameters);
  replace_all(text, "0x8200490, %p", "%given0, {%given1, %given2, %given3, %given4}, %p");
  replace_all(text, "0x8200490, 1;", "%given0, {%given1, %given2, %given3, %given4}, 1;");
  Kernel out = parsed(text, plain.contract);
  out.contract.launches[0].params.push_back(given(0));
  return out;
}

// The only finding of a lowering that fails.
std::string refusal(const Kernel& k, bool with_contract = true) {
  diag::Sink sink;
  CHECK_FALSE(
      lower::lower(k.module, {isa::sm_90a, lower::Place::automatic, with_contract ? &k.contract : nullptr}, sink));
  REQUIRE_FALSE(sink.all().empty());
  for (const diag::Diagnostic& d : sink.all()) CHECK(d.message == sink.all()[0].message);
  return sink.all()[0].slug + ": " + sink.all()[0].message;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("an instruction descriptor and a mask made of parameters are what the contract's launches say") {
  const Kernel k = kernel();
  diag::Sink sink;
  const auto out = lower::lower(k.module, {isa::sm_90a, lower::Place::automatic, &k.contract}, sink);
  INFO(diag::render_text(sink));
  REQUIRE(out);
  CHECK(out->reports.at(0).assuming == 4);
  CHECK(has(lower::sentence(out->reports[0]), "instruction descriptors and lane masks of 4 MMAs"));
  check_right(simulated(*lowered(k, isa::sm_90a, sink)));
}

TEST_CASE("a sign that the contract turns is turned in the lowered kernel too") {
  Kernel k = kernel();
  k.contract.launches[0].params.back() = given(1);
  diag::Sink sink;
  const auto low = lowered(k, isa::sm_90a, sink);
  REQUIRE(low);
  const launch::Contract own = simulated(k), after = simulated(*low);
  CHECK(own.at("D").bytes == after.at("D").bytes);
  CHECK(own.at("D").bytes != simulated(kernel()).at("D").bytes);
}

TEST_CASE("a lowered kernel traps where a parameter makes another descriptor or mask than the contract said") {
  diag::Sink sink;
  for (const launch::Param& other : {given(1), given(0, 4)}) {
    auto low = lowered(kernel(), isa::sm_90a, sink);
    REQUIRE(low);
    low->contract.launches[0].params.back() = other;
    const sim::Result result = sim::simulate(low->module, low->contract, {}, sink);
    CHECK(result.outcome != sim::Outcome::finished);
    CHECK(has(diag::render_text(sink), "trap"));
  }
  auto low = lowered(kernel(), isa::sm_90a, sink);
  launch::Param same_values = given(2);  // another byte, the same sign
  low->contract.launches[0].params.back() = same_values;
  check_right(simulated(*low));
}

TEST_CASE("parameters that are in no contract, and launches that differ in what they make, are refused and named") {
  Kernel k = kernel();
  CHECK(has(refusal(k, false), "whose values a contract would say"));
  k.contract.launches.push_back(k.contract.launches[0]);
  k.contract.launches[1].params.back() = given(2);
  diag::Sink sink;
  CHECK(lowered(k, isa::sm_90a, sink));
  k.contract.launches[1].params.back() = given(1);
  const std::string differ = refusal(k);
  CHECK(has(differ, "lower-idesc"));
  CHECK(has(differ, "of which the contract's launches make different values"));
  k.contract.launches[1].params.back() = given(0, 1);
  CHECK(has(refusal(k), "lower-unsupported"));
}

TEST_CASE("a struct is known where it has numbers, and an address is not") {
  Kernel k = kernel();
  launch::StructParam record;
  record.size = 32;
  record.fields.push_back({0, {launch::ScalarParam{isa::ScalarType::u16, 77}}});
  for (std::uint32_t at : {16u, 24u}) record.fields.push_back({at, {launch::ScalarParam{isa::ScalarType::u64, 0}}});
  k.contract.launches[0].params.back() = {record};
  diag::Sink sink;
  const auto low = lowered(k, isa::sm_90a, sink);
  REQUIRE(low);
  check_right(simulated(*low));
  record.fields.back().value = {launch::PointerParam{"D", 0}};
  k.contract.launches[0].params.back() = {record};
  CHECK(has(refusal(k), "of which the contract does not say enough"));
}

TEST_CASE("a mask that the contract says has ones is refused") {
  Kernel k = kernel();
  k.contract.launches[0].params.back() = given(0, 1);
  CHECK(has(refusal(k), "an MMA with masks of lanes"));
  CHECK_FALSE(has(refusal(k), "parameters"));
}

}  // namespace lower_given
